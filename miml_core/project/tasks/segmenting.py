"""Find the segments of many bags: processes look, this one stores bag by bag, so that nothing done is done twice."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select, text

from miml_core.errors import BagtagError
from miml_core.project import jobs, media, resegment, settings
from miml_core.project.errors import Gone
from miml_core.project.job_context import JobContext
from miml_core.project.schema import bags as bags_table
from miml_core.project.tasks import describing

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings

    Arguments = tuple[Path, float, float, str, InstanceSettings]

_STORED_AT_ONCE = 20
_UNSTORED_SECONDS = 1.0
_TRANSACTION_SECONDS = 0.02
_NICE = 10
_POLL_SECONDS = 0.3
_ALONE_SECONDS = 2.0
_WORTH_SECONDS = 8.0
"""Starting processes takes seconds: it begins alone, and only what would take longer than this is shared out."""


def run(context: JobContext) -> dict[str, Any]:
    import miml_core.instances  # noqa: F401  # loading it inside the transaction would keep annotators waiting

    params = context.params
    scope, again = params.get("scope", "stale"), bool(params.get("again"))
    with context.store.write() as connection:
        used = settings.renew_keys(connection)
        kind = settings.kind(connection)
        chosen = resegment.scope_bags(connection, params.get("bags"), scope=scope, again=again or scope == "all")
        if again or scope == "all":
            _mark_to_do(connection, chosen)
            rest = {**params, "scope": "stale" if scope == "all" else scope, "again": False}
            jobs.change_params(connection, context.job_id, rest)  # run again, it goes on with what is left
    chosen_rows = _still_to_do(context, chosen, used.segment_key)
    total = len(chosen)
    context.report(total - len(chosen_rows), total, "finding segments")
    done, n_bags, n_segments = total - len(chosen_rows), 0, 0
    files: dict[int, media.BagFile] = {}
    batch = _Batch(context, used, files)
    try:
        for bag, found in _search(context, chosen_rows, kind, used, files):
            done += 1
            if isinstance(found, str):
                context.fail(bag.name, found, bag.id)
            else:
                batch.add(bag.id, found)
                n_bags += 1
                n_segments += len(found.regions)
            context.report(done, total, f"finding segments: {bag.name}")
    finally:
        batch.store()
    describing.describe_all(context)
    return {"message": f"{n_segments} segments in {n_bags} bags", "bags": n_bags, "segments": n_segments}


def find_instances(connection: Connection, folder: Path, bag: Row[Any], used: InstanceSettings) -> Instances:
    """The segments of one bag, not stored."""
    path = media.path_of_bag(connection, folder, bag.id)
    return _instances(path, bag.start, bag.end, settings.kind(connection), used.within(folder))


def _instances(path: Path, start: float, end: float, kind: str, used: InstanceSettings) -> Instances:
    from miml_core import instances

    if kind == "picture":
        return instances.picture_instances(path, used)
    return instances.sound_instances(path, start, end, used)


def _mark_to_do(connection: Connection, chosen: list[int]) -> None:
    """Bags that are to be done although they are up to date: a job that was interrupted knows where to go on."""
    connection.execute(
        text("UPDATE bags SET segment_key = NULL WHERE id IN (SELECT value FROM json_each(:bags))"),
        {"bags": json.dumps(chosen)},
    )


def _still_to_do(context: JobContext, chosen: list[int], key: str) -> list[Row[Any]]:
    wanted = set(chosen)
    with context.store.read() as connection:
        rows = connection.execute(select(bags_table).order_by(bags_table.c.id)).all()
    return [row for row in rows if row.id in wanted and row.segment_key != key]


def _search(
    context: JobContext,
    rows: list[Row[Any]],
    kind: str,
    used: InstanceSettings,
    files: dict[int, media.BagFile],
) -> Iterator[tuple[Row[Any], Instances | str]]:
    """Each bag with its segments, or with the reason why there are none, in whatever order they are ready."""
    processes = int(context.params.get("processes") or os.cpu_count() or 1)
    tasks = _tasks(context, rows, kind, used, files)
    began = time.monotonic()
    for done, (row, arguments) in enumerate(tasks):
        context.check()
        yield row, arguments if isinstance(arguments, str) else _work(*arguments)
        if done == 0:
            began = time.monotonic()  # the first bag also pays for imports
            continue
        spent = time.monotonic() - began
        if processes > 1 and spent > _ALONE_SECONDS and spent / done * (len(rows) - done - 1) > _WORTH_SECONDS:
            break
    else:
        return
    yield from _search_in_processes(context, tasks, processes)


def _search_in_processes(
    context: JobContext, tasks: Iterator[tuple[Row[Any], Arguments | str]], processes: int
) -> Iterator[tuple[Row[Any], Instances | str]]:
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_one_thread) as pool:
        waiting: dict[Future[Instances | str], Row[Any]] = {}
        try:
            for row, arguments in tasks:
                if isinstance(arguments, str):
                    yield row, arguments
                    continue
                waiting[pool.submit(_work, *arguments)] = row
                while len(waiting) >= 4 * processes:
                    yield from _ready(context, waiting)
            while waiting:
                yield from _ready(context, waiting)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _one_thread() -> None:
    """Processes already use every core: none may start threads of its own, and the server comes first."""
    from threadpoolctl import threadpool_limits

    from miml_core.threads import lower_priority

    lower_priority(_NICE)
    os.environ["BAGTAG_THREADS"] = "1"
    threadpool_limits(1)


def _ready(
    context: JobContext, waiting: dict[Future[Instances | str], Row[Any]]
) -> Iterator[tuple[Row[Any], Instances | str]]:
    context.check()
    done, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()


def _tasks(
    context: JobContext,
    rows: list[Row[Any]],
    kind: str,
    used: InstanceSettings,
    files: dict[int, media.BagFile],
) -> Iterator[tuple[Row[Any], Arguments | str]]:
    """What is to be done for each bag; `files` gets the file that is read for it."""
    for row in rows:
        try:
            with context.store.read() as connection:
                files[row.id] = media.file_of_bag(connection, context.store.folder, row.id)
        except BagtagError as error:
            yield row, str(error)
            continue
        yield row, (files[row.id].path, row.start, row.end, kind, used.within(context.store.folder))


def _work(path: Path, start: float, end: float, kind: str, used: InstanceSettings) -> Instances | str:
    """Runs in a process of its own; a file that cannot be used answers its reason."""
    try:
        return _instances(path, start, end, kind, used)
    except BagtagError as error:
        return str(error)
    except Exception as error:
        return f"{path.name} made the segmenter fail ({type(error).__name__}: {error})."


class _Batch:
    """Bags found but not stored yet: some at a time, since every commit waits for the disk, but never for long."""

    def __init__(self, context: JobContext, used: InstanceSettings, files: dict[int, media.BagFile]) -> None:
        self._context, self._used, self._files = context, used, files
        self._found: list[tuple[int, Instances]] = []
        self._since = time.monotonic()

    def add(self, bag_id: int, found: Instances) -> None:
        self._found.append((bag_id, found))
        if len(self._found) == _STORED_AT_ONCE or time.monotonic() - self._since > _UNSTORED_SECONDS:
            self.store()

    def store(self) -> None:
        """Store what was found, in transactions of a few bags each: annotators wait while one is open."""
        refused: list[tuple[int, media.BagFile, str]] = []
        while self._found:
            n_stored, until = 0, time.monotonic() + _TRANSACTION_SECONDS
            with self._context.store.write() as connection:
                while n_stored < len(self._found) and (n_stored == 0 or time.monotonic() < until):
                    bag_id, found = self._found[n_stored]
                    n_stored += 1
                    file = self._files.pop(bag_id)
                    try:
                        media.check_same_file(connection, self._context.store.folder, bag_id, file)
                    except Gone:
                        raise
                    except BagtagError as error:
                        refused.append((bag_id, file, str(error)))
                        continue
                    resegment.store_in(connection, bag_id, found, self._used)
            del self._found[:n_stored]
        for bag_id, file, reason in refused:
            self._context.fail(file.path.name, reason, bag_id)
        self._since = time.monotonic()
