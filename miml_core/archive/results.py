"""The data set of an archive on disk: Parquet files by table, site and day, one per table and task.

    archive/
      segments/site=marsh/day=2024-05-01/MODEL-TASK.parquet
      clips/site=marsh/day=2024-05-01/MODEL-TASK.parquet
      failures/...                  only for tasks with files that could not be processed
      models/MODEL.bagtag           the bundle that was applied
      folders.json                  where the recordings were when the model was last applied

A task is done when its file of clips exists, which is written last. Files appear whole, under names made from what they
are of: doing a task twice writes the same files again. Nothing else records what is done: nothing can be out of step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from miml_core.archive.plan import Task
from miml_core.atomic_files import atomic_writer

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("segments", "clips", "failures")
_DONE = "clips"
_TEMPORARY = ".writing-*"


@dataclass(frozen=True, slots=True)
class Result:
    """The stored result of a task: the end of its files' paths."""

    site: str
    day: str
    name: str

    def path(self, archive: Path, table: str) -> Path:
        """Return the path of its file of one table."""
        return archive / table / f"site={_quoted(self.site)}" / f"day={_quoted(self.day)}" / f"{self.name}.parquet"


def schema(table: str) -> pa.Schema:
    """Return the columns of a table; `site` and `day` are those of the folders.

    For pictures `start`, `end`, `low` and `high` of a segment are its left, right, upper and lower edge in pixels.
    `class` is null where the model takes a segment for background. `tags` has one probability per class of the model,
    in its order. `time` is that of the recorder's clock at `start`.
    """
    import pyarrow as pa

    place = [("file", pa.string()), ("start", pa.float64()), ("end", pa.float64())]
    moment = [("time", pa.timestamp("ms"))]
    columns = {
        "segments": [
            *place,
            ("low", pa.float32()),
            ("high", pa.float32()),
            ("class", pa.string()),
            ("probability", pa.float32()),
            ("second", pa.string()),
            ("second_probability", pa.float32()),
            ("clip_start", pa.float64()),
            ("clip_end", pa.float64()),
            *moment,
        ],
        "clips": [
            *place,
            ("tags", pa.list_(pa.float32())),
            ("segments", pa.int32()),
            *moment,
            ("utc_offset", pa.int16()),
        ],
        "failures": [*place, ("reason", pa.string()), ("again", pa.bool_())],
    }
    return pa.schema([*columns[table], ("model", pa.string())])


def write_result(archive: Path, task: Task, tables: dict[str, pa.Table], classes: Sequence[str]) -> None:
    """Write the result of a task; the file of clips, which makes it count as done, comes last."""
    import pyarrow.parquet as pq

    result = Result(task.site, task.day, task.name)
    about = {
        "files": [[one.recording.file, one.recording.fingerprint] for one in task.stretches],
        "classes": list(classes),
    }
    for table in ("segments", "failures", _DONE):
        path = result.path(archive, table)
        if table == "failures" and not len(tables[table]):
            path.unlink(missing_ok=True)  # of an attempt that was interrupted
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        content = tables[table].replace_schema_metadata({"bagtag": json.dumps(about)} if table == _DONE else {})
        with atomic_writer(path) as file:
            pq.write_table(content, file, compression="zstd")


def is_done(archive: Path, task: Task) -> bool:
    """Return whether the result of a task is complete."""
    return Result(task.site, task.day, task.name).path(archive, _DONE).is_file()


def results_of(archive: Path, model_id: str) -> Iterator[Result]:
    """Yield the complete results of a model, in a stable order."""
    yield from _in_table(archive, _DONE, model_id)


def _in_table(archive: Path, table: str, model_id: str) -> Iterator[Result]:
    for path in sorted((archive / table).glob(f"site=*/day=*/{model_id}-*.parquet")):
        site, day = (unquote(part.partition("=")[2]) for part in path.parts[-3:-1])
        yield Result(site, day, path.stem)


def files_of(archive: Path, result: Result) -> list[str]:
    """Return the names of the files that a result is of."""
    import pyarrow.parquet as pq

    stored = pq.read_schema(result.path(archive, _DONE)).metadata or {}
    return [file for file, _ in json.loads(stored.get(b"bagtag", b'{"files": []}'))["files"]]


def remove_result(archive: Path, result: Result) -> None:
    """Remove a result; it does not count as done from the first moment on."""
    for table in (_DONE, "segments", "failures"):
        path = result.path(archive, table)
        path.unlink(missing_ok=True)
        with suppress(OSError):  # other results are in the folder
            path.parent.rmdir()
            path.parent.parent.rmdir()


def remove_unfinished(archive: Path, model_id: str, planned: Iterable[Result]) -> int:
    """Remove what interrupted tasks left behind: temporary files, and tables of tasks that are no longer planned."""
    removed = 0
    for table in TABLES:
        for path in (archive / table).glob(f"site=*/day=*/{_TEMPORARY}"):
            path.unlink(missing_ok=True)
            removed += 1
    wanted = {*planned, *results_of(archive, model_id)}
    for table in ("segments", "failures"):
        for result in _in_table(archive, table, model_id):
            if result not in wanted:
                remove_result(archive, result)
                removed += 1
    return removed


def results_to_retry(archive: Path, model_id: str) -> list[Result]:
    """Return the results with failures that may have passed."""
    import pyarrow.parquet as pq

    found = []
    for result in _in_table(archive, "failures", model_id):
        table = pq.read_table(result.path(archive, "failures"), columns=["again"], partitioning=None)
        if any(table["again"].to_pylist()):
            found.append(result)
    return found


def table_of(name: str, rows: list[dict[str, Any]], model_id: str) -> pa.Table:
    """Return rows as a table."""
    import pyarrow as pa

    return pa.Table.from_pylist([{**row, "model": model_id} for row in rows], schema=schema(name))


def _quoted(text: str) -> str:
    """Return text as the name of a folder."""
    return quote(text, safe=" ").replace(".", "%2E")
