"""Detect the segments of many bags: processes detect, this one stores, so that a restart continues."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select, text

from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.errors import Gone
from miml_core.project.instances import resegment, timelines
from miml_core.project.instances.detection import detect_in_file
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import computing_features, embedding_use
from miml_core.project.jobs.tasks.processes import run_in_processes
from miml_core.project.media import files as media_files

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings
    from miml_core.project.instances.timelines import TimelineCaches

    Arguments = tuple[Path, float, float, str, InstanceSettings, TimelineCaches | None]

_log = logging.getLogger("bagtag.segmenting")

_STORED_AT_ONCE = 20
_UNSTORED_SECONDS = 1.0
_TRANSACTION_SECONDS = 0.02


def run(context: JobContext) -> dict[str, Any]:
    """Detect and store the segments of the chosen bags, then describe what is missing."""
    import miml_core.instances  # noqa: F401  # loading it inside the transaction would keep annotators waiting

    params = context.params
    scope, again = params.get("scope", "stale"), bool(params.get("again"))
    with context.store.write() as connection:
        used = settings.renew_keys(connection)
        kind = settings.kind(connection)
        chosen = resegment.scope_bags(connection, params.get("bags"), scope=scope, again=again or scope == "all")
    if not embedding_use.check(context, chosen):
        return {"message": "no segments were detected", "bags": 0, "segments": 0}
    if again or scope == "all":
        with context.store.write() as connection:
            _mark_to_do(connection, chosen)
            rest = {**params, "scope": "stale" if scope == "all" else scope, "again": False}
            job_queue.change_params(connection, context.job_id, rest)  # a restart continues with the rest
    chosen_rows = _still_to_do(context, chosen, used.segment_key)
    total = len(chosen)
    context.report(total - len(chosen_rows), total, "detecting segments")
    done, n_bags, n_segments = total - len(chosen_rows), 0, 0
    files: dict[int, media_files.BagFile] = {}
    batch = _Batch(context, used, files)
    try:
        tasks = _tasks(context, chosen_rows, kind, used, files)
        for bag, found in run_in_processes(context, tasks, _detect, len(chosen_rows)):
            done += 1
            if isinstance(found, str):
                context.fail(bag.name, found, bag.id)
            else:
                batch.add(bag.id, found)
                n_bags += 1
                n_segments += len(found.regions)
            context.report(done, total, f"detecting segments: {bag.name}")
    finally:
        batch.store()
    computing_features.describe_all(context)
    notes = embedding_use.note_not_described(context, [row.id for row in chosen_rows])
    message = f"{counted(n_segments, 'segment')} in {counted(n_bags, 'bag')}" + embedding_use.mention(notes)
    return {"message": message, "bags": n_bags, "segments": n_segments, "notes": notes}


def _mark_to_do(connection: Connection, chosen: list[int]) -> None:
    """Mark bags as not up to date, so that an interrupted job can continue."""
    connection.execute(
        text("UPDATE bags SET segment_key = NULL WHERE id IN (SELECT value FROM json_each(:bags))"),
        {"bags": json.dumps(chosen)},
    )


def _still_to_do(context: JobContext, chosen: list[int], key: str) -> list[Row[Any]]:
    wanted = set(chosen)
    with context.store.read() as connection:
        rows = connection.execute(select(bags_table).order_by(bags_table.c.id)).all()
    return [row for row in rows if row.id in wanted and row.segment_key != key]


def _tasks(
    context: JobContext,
    rows: list[Row[Any]],
    kind: str,
    used: InstanceSettings,
    files: dict[int, media_files.BagFile],
) -> Iterator[tuple[Row[Any], Arguments | str]]:
    """Yield the arguments of `_detect` for each bag, or why it fails; adds the bag's file to `files`."""
    for row in rows:
        try:
            with context.store.read() as connection:
                files[row.id] = media_files.file_of_bag(connection, context.store.folder, row.id)
        except BagtagError as error:
            yield row, str(error)
            continue
        caches = timelines.caches_of(context.store.folder, files[row.id], used)
        yield row, (files[row.id].path, row.start, row.end, kind, used.within(context.store.folder), caches)


def _detect(
    path: Path, start: float, end: float, kind: str, used: InstanceSettings, caches: TimelineCaches | None
) -> Instances | str:
    """Detect the segments of one bag, in any process; for a file that cannot be used return the reason.

    An unexpected error does not end the job either; the job's log, which has the output of all its processes, has the
    traceback.
    """
    try:
        return detect_in_file(path, start, end, kind, used, caches)
    except BagtagError as error:
        return str(error)
    except Exception as error:
        _log.exception("%s could not be segmented (%s to %s s)", path.name, start, end)
        return f"{path.name} could not be segmented ({type(error).__name__}: {error})."


class _Batch:
    """Detected bags that are not stored yet: several per commit, which waits for the disk, but stored soon."""

    def __init__(self, context: JobContext, used: InstanceSettings, files: dict[int, media_files.BagFile]) -> None:
        self._context, self._used, self._files = context, used, files
        self._found: list[tuple[int, Instances]] = []
        self._since = time.monotonic()

    def add(self, bag_id: int, found: Instances) -> None:
        """Add a bag; store the batch if it is full or old."""
        self._found.append((bag_id, found))
        if len(self._found) == _STORED_AT_ONCE or time.monotonic() - self._since > _UNSTORED_SECONDS:
            self.store()

    def store(self) -> None:
        """Store the bags, in transactions of a few each, because annotators wait while one is open."""
        refused: list[tuple[int, media_files.BagFile, str]] = []
        while self._found:
            n_stored, until = 0, time.monotonic() + _TRANSACTION_SECONDS
            with self._context.store.write() as connection:
                while n_stored < len(self._found) and (n_stored == 0 or time.monotonic() < until):
                    bag_id, found = self._found[n_stored]
                    n_stored += 1
                    file = self._files.pop(bag_id)
                    try:
                        media_files.check_same_file(connection, self._context.store.folder, bag_id, file)
                    except Gone:
                        raise
                    except BagtagError as error:
                        refused.append((bag_id, file, str(error)))
                        continue
                    resegment.store_in_transaction(connection, bag_id, found, self._used)
            del self._found[:n_stored]
        for bag_id, file, reason in refused:
            self._context.fail(file.path.name, reason, bag_id)
        self._since = time.monotonic()
