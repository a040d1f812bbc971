"""Import files and folders: read headers, cut into bags, store, a few files at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miml_core.errors import BagtagError
from miml_core.exchange.marking import is_marked
from miml_core.project import media, settings
from miml_core.project.job_context import JobContext

_FILES_AT_ONCE = 50


def run(context: JobContext) -> dict[str, Any]:
    params = context.params
    with context.store.read() as connection:
        kind = settings.kind(connection)
    media.check_windows(params.get("bag_length"), params.get("overlap", 0.0))
    context.report(0, 0, "looking for files")
    given = [Path(path) for path in params["paths"]]
    for path in given:
        if not path.exists():
            raise BagtagError(f"There is no file or folder {str(path)!r}.")
    found = list(media.find_files(given, kind, recursive=params.get("recursive", True)))
    files = [path for path in found if not is_marked(path)]
    n_exports = len(found) - len(files)
    left_out = f"; {n_exports} pictures were left out because an export of Bagtag wrote them" if n_exports else ""
    if not files:
        raise BagtagError(f"There are no {kind} files in {', '.join(repr(str(path)) for path in given)}{left_out}.")
    added, known = 0, 0
    batch: list[tuple[Path, media.FileFacts]] = []
    for number, path in enumerate(files, start=1):
        try:
            facts = media.read_file(
                context.store.folder,
                path,
                kind,
                bag_length=params.get("bag_length"),
                overlap=params.get("overlap", 0.0),
                remainder=params.get("remainder", "keep"),
            )
            batch.append((path, facts))
        except BagtagError as error:
            context.fail(str(path), str(error))
        if len(batch) == _FILES_AT_ONCE or number == len(files):
            new, old = _store(context, batch)
            added, known, batch = added + new, known + old, []
        context.report(number, len(files), f"reading {path.name}")
    message = f"{added} bags from {len(files)} files" + (f", {known} files were already there" if known else "")
    counts = {"bags": added, "files": len(files), "known": known, "exports": n_exports}
    return {"message": message + left_out, **counts}


def _store(context: JobContext, batch: list[tuple[Path, media.FileFacts]]) -> tuple[int, int]:
    added, known = 0, 0
    refused: list[tuple[Path, str]] = []
    with context.store.write() as connection:
        for path, facts in batch:
            try:
                made = media.store_file(connection, facts)
            except BagtagError as error:
                refused.append((path, str(error)))
                continue
            added += len(made)
            known += not made
    for path, reason in refused:
        context.fail(str(path), reason)
    return added, known
