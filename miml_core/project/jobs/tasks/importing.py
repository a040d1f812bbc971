"""Import files and folders: read headers, cut into bags, store some files at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miml_core.errors import BagtagError, printable
from miml_core.exchange.marking import is_marked
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.jobs.context import JobContext
from miml_core.project.media import access as media_access
from miml_core.project.media import files as media_files
from miml_core.project.media import state as media_state

_FILES_AT_ONCE = 50
_MOST_NOTES = 1000
"""Notes in the job's result; the log has all of them."""


def run(context: JobContext) -> dict[str, Any]:
    """Import the files of the parameter `paths`."""
    params = context.params
    with context.store.read() as connection:
        kind = settings.kind(connection)
    media_files.check_windows(params.get("bag_length"), params.get("overlap", 0.0))
    context.report(0, 0, "looking for files")
    given = [media_access.full_path(Path(path)) for path in params["paths"]]
    for path in given:
        if not _exists(path):
            raise BagtagError(f"There is no file or folder {printable(path)!r}; check the path.")
    media_access.allow_for_import(context.store.folder, given)
    unread: list[OSError] = []
    found = list(media_files.find_files(given, kind, recursive=params.get("recursive", True), on_error=unread.append))
    for error in unread:
        reason = f"The folder cannot be read: {error.strerror or error}. Check its permissions."
        context.fail(printable(error.filename or ""), reason)
    files = [path for path in found if not is_marked(path)]
    n_exports = len(found) - len(files)
    were = counted(n_exports, "file was", "files were")
    left_out = f"; {were} left out because an export of Bagtag wrote them" if n_exports else ""
    if not files:
        places = ", ".join(repr(printable(path)) for path in given)
        raise BagtagError(f"There are no {kind} files in {places}{left_out}.")
    added, known = 0, 0
    notes: list[dict[str, str]] = []
    batch: list[tuple[Path, media_files.FileFacts]] = []
    for number, path in enumerate(files, start=1):
        try:
            facts = media_files.read_file(
                context.store.folder,
                path,
                kind,
                bag_length=params.get("bag_length"),
                overlap=params.get("overlap", 0.0),
                remainder=params.get("remainder", "keep"),
            )
            batch.append((path, facts))
        except BagtagError as error:
            context.fail(printable(path), str(error))
        if len(batch) == _FILES_AT_ONCE or number == len(files):
            new, old = _store(context, batch, notes)
            added, known, batch = added + new, known + old, []
        context.report(number, len(files), f"reading {printable(path.name)}")
    media_state.save(context.store)
    message = f"{counted(added, 'bag')} from {counted(len(files), 'file')}" + left_out
    if known:
        message += f"; {counted(known, 'file was', 'files were')} already in the project"
    if notes:
        message += f"; {len(notes)} {'has' if len(notes) == 1 else 'have'} a note (see the job's log)"
    counts = {"bags": added, "files": len(files), "known": known, "exports": n_exports}
    return {"message": message, **counts, "notes": notes[:_MOST_NOTES]}


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise BagtagError(
            f"{printable(path)!r} cannot be read: {error.strerror or error}. Check the path and its permissions."
        ) from error


def _store(
    context: JobContext, batch: list[tuple[Path, media_files.FileFacts]], notes: list[dict[str, str]]
) -> tuple[int, int]:
    added, known = 0, 0
    refused: list[tuple[Path, str]] = []
    new_notes: list[dict[str, str]] = []
    with context.store.write() as connection:
        for path, facts in batch:
            try:
                made = media_files.store_file(connection, facts)
            except BagtagError as error:
                refused.append((path, str(error)))
                continue
            added += len(made)
            known += not made
            if facts.note and made:
                new_notes.append({"item": printable(path), "note": facts.note})
    for path, reason in refused:
        context.fail(printable(path), reason)
    for note in new_notes:
        context.log(note["note"])
    notes.extend(new_notes)
    return added, known
