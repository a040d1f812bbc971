"""Export to a file or a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS
from miml_core.project import exporting
from miml_core.project.job_context import JobContext
from miml_core.project.schema import bags


def run(context: JobContext) -> dict[str, Any]:
    params = context.params
    if params["format"] not in FORMATS:
        raise BagtagError(f"There is no format called {params['format']!r}; there are {', '.join(FORMATS)}.")
    with context.store.read() as connection:
        total = int(connection.execute(select(func.total(bags.c.n_segments))).scalar() or 0)
        rows = []
        for number, row in enumerate(
            exporting.each(
                connection,
                params.get("what", "predicted"),
                min_probability=params.get("min_probability", 0.0),
                bag_ids=params.get("bags"),
                outlines=FORMATS[params["format"]].needs_outlines,
            ),
            start=1,
        ):
            rows.append(row)
            context.report(number, total, "collecting segments")
    context.report(len(rows), total, "writing")
    made = FORMATS[params["format"]].write(rows, Path(params["path"]))
    message = f"wrote {len(rows)} segments to {params['path']}"
    return {"message": message, "files": [str(path) for path in made], "rows": len(rows)}
