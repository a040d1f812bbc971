"""Export to a file or a folder."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS, Format, SegmentRow
from miml_core.project.db.schema import bags
from miml_core.project.db.schema import jobs as jobs_table
from miml_core.project.instances import resegment
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.export_targets import TargetCheck, resolve_target
from miml_core.project.media import files as media_files
from miml_core.project.queries import export_rows, prediction_blocks

_POLL_SECONDS = 0.2


def run(context: JobContext) -> dict[str, Any]:
    """Write the chosen segments in a format."""
    chosen, bag_ids = _format(context.params), _bag_ids(context.params)
    target = resolve_target(_path(context.params))
    _wait_for_segments(context)
    with context.store.read() as connection:
        rows = _collect(context, connection, chosen, bag_ids)
        missing = _count_missing(connection, context.params, bag_ids)
        current = prediction_blocks.current_run(connection)
        source = "" if current is None else export_rows.provenance(connection, current.feature_key)
        stored_paths = [medium.path for medium in media_files.all_media(connection)]
    media_paths = [media_files.real_path(context.store.folder, path) for path in stored_paths]
    check = TargetCheck(context.store.folder, chosen, media_paths)

    def check_and_report(path: Path) -> None:
        context.report(len(rows), len(rows), f"writing {path.name}")
        check(path)

    files = chosen.write(rows, target, check=check_and_report)
    installation.record_exports(context.store.folder, files)
    message = f"wrote {len(rows)} segments to {context.params['path']}"
    if missing:
        noun = "bag" if missing == 1 else "bags"
        message += f"; segments of {missing} {noun} are missing or out of date: detect them and export again"
    if source:
        message += f"; predictions are based on {source}"
    counts = {"rows": len(rows), "missing": missing}
    return {"message": message, "files": [str(path) for path in files], **counts, "based_on": source}


def _format(params: dict[str, Any]) -> Format:
    name = params.get("format")
    if not isinstance(name, str) or name not in FORMATS:
        raise BagtagError(f"There is no format called {name!r}; there are {', '.join(FORMATS)}.")
    return FORMATS[name]


def _path(params: dict[str, Any]) -> Path:
    path = params.get("path")
    if not isinstance(path, str) or not Path(path).is_absolute():
        raise BagtagError(f"An export needs the full path of a file or folder, not {path!r}.")
    return Path(path)


def _bag_ids(params: dict[str, Any]) -> list[int] | None:
    wanted = params.get("bags")
    if wanted is not None and not (isinstance(wanted, list) and all(isinstance(each, int) for each in wanted)):
        raise BagtagError(f"The bags of an export are a list of numbers, not {wanted!r}.")
    return wanted


def _collect(
    context: JobContext, connection: Connection, chosen: Format, bag_ids: list[int] | None
) -> list[SegmentRow]:
    params = context.params
    total = int(connection.execute(select(func.total(bags.c.n_segments))).scalar() or 0)
    rows: list[SegmentRow] = []
    for row in export_rows.each(
        connection,
        params.get("what", "predicted"),
        min_probability=_probability(params.get("min_probability", 0.0)),
        bag_ids=bag_ids,
        outlines=chosen.needs_outlines,
        only=_filter(params),
    ):
        rows.append(row)
        context.report(len(rows), total, "collecting segments")
    return rows


def _filter(params: dict[str, Any]) -> export_rows.RowFilter:
    days = {name: params.get(name, "") for name in ("since", "until", "site")}
    return export_rows.RowFilter(classes=frozenset(params.get("classes", [])), **days)


def _probability(value: Any) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BagtagError(f"The lowest probability of an export is a number from 0 to 1, not {value!r}.")
    return float(value)


def _count_missing(connection: Connection, params: dict[str, Any], bag_ids: list[int] | None) -> int:
    """Count the bags whose segments are not detected, or with earlier settings; 0 if only labels are exported."""
    if params.get("what") in ("confirmed", "accepted"):
        return 0
    return len(resegment.scope_bags(connection, bag_ids, scope="stale", again=False))


def _wait_for_segments(context: JobContext) -> None:
    """Wait while segments are detected or described: an export between two bags would mix old and new ones."""
    while _is_detecting(context):
        context.report(0, 0, "waiting until segments are detected")
        time.sleep(_POLL_SECONDS)
        job_queue.update_jobs(context.store)  # or it would wait for a worker that died


def _is_detecting(context: JobContext) -> bool:
    """Return whether a job of the files lane runs, or one that the user started before this export is queued."""
    with context.store.read() as connection:
        active = connection.execute(
            select(jobs_table).where(
                jobs_table.c.lane == job_queue.LANES["segment"], jobs_table.c.state.in_(["queued", "running"])
            )
        ).all()
    return any(
        job.state == "running"
        or (
            job.id < context.job_id
            and installation.is_own_job(context.store.folder, job.id, job.kind, json.loads(job.params))
        )
        for job in active
    )
