"""An archive as a source of detections, read once and kept.

An archive of 20 000 hours is 40 000 small Parquet files: opening them takes half a minute, far longer than counting. So
the few numbers that are counted are kept as Arrow files, which are mapped into memory, in the state folder of this
installation: nothing is written to the archive, and nothing in it is trusted. Results that were added since are read in
addition; if any result was removed or replaced, all are read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.archive.reading import choose_model
from miml_core.archive.results import Result, results_of
from miml_core.atomic_files import atomic_writer
from miml_core.file_lock import Locked, hold_lock
from miml_core.insights.archive_results import Names, ResultFacts, model_classes, read_results
from miml_core.insights.detections import Detections, detections_schema, effort_schema
from miml_core.installation import state_folder

if TYPE_CHECKING:
    import pyarrow as pa

    from miml_core.progress import Progress

_FORMAT = 1
"""Increased when the kept files get another content."""
_INDEX = "index.json"
_MOST_ARCHIVES = 8
_MOST_CHUNKS = 16

Key = tuple[str, str, str, int, int]
"""Site, day and name of a result, and size and time of its file of clips: a result that is made again may change."""


@dataclass
class _Chunk:
    """Results that were read at the same time."""

    name: str
    keys: list[Key]
    facts: ResultFacts

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> _Chunk:
        facts = stored["facts"]
        clocks = {None if offset is None else int(offset): float(amount) for offset, amount in facts["clocks"]}
        keys: list[Key] = [(str(a), str(b), str(c), int(d), int(e)) for a, b, c, d, e in stored["keys"]]
        return cls(str(stored["name"]), keys, ResultFacts(**{**facts, "clocks": clocks}))

    def to_json(self) -> dict[str, Any]:
        facts = {**asdict(self.facts), "clocks": list(self.facts.clocks.items())}
        return {"name": self.name, "keys": self.keys, "facts": facts}


@dataclass
class _Index:
    """What is kept of an archive."""

    classes: Names = field(default_factory=Names)
    sites: Names = field(default_factory=Names)
    chunks: list[_Chunk] = field(default_factory=list)

    def results(self) -> list[Key]:
        """Return the results in the order of their numbers."""
        return [key for chunk in self.chunks for key in chunk.keys]


def read_archive(archive: Path, model_id: str | None = None, progress: Progress | None = None) -> Detections:
    """Return the detections of a model in an archive; what was read before is not read again."""
    import pyarrow as pa

    model_id = choose_model(archive, model_id)
    keys = _keys(archive, model_id)
    folder = _kept_folder(archive, model_id)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with hold_lock(folder / ".lock"):
            index = _read_index(folder, set(keys))
            _read_more(archive, keys, index, folder, progress)
        os.utime(folder)
        _remove_others(folder)
        return _detections(archive, model_id, index, *_kept_tables(folder, index))
    except (Locked, OSError):  # somebody else is reading it, or the state folder cannot be written
        return _read_unkept(archive, model_id, keys, progress)
    except pa.ArrowException:  # a kept file is damaged
        (folder / _INDEX).unlink(missing_ok=True)
        return _read_unkept(archive, model_id, keys, progress)


def unread_results(archive: Path, model_id: str | None = None) -> int:
    """Return how many results `read_archive` would have to read now, each of which takes about a millisecond."""
    model_id = choose_model(archive, model_id)
    keys = set(_keys(archive, model_id))
    return len(keys - set(_read_index(_kept_folder(archive, model_id), keys).results()))


def _keys(archive: Path, model_id: str) -> list[Key]:
    """Return the complete results of an archive."""
    found: list[Key] = []
    for result in results_of(archive, model_id):
        with suppress(OSError):
            facts = result.path(archive, "clips").lstat()
            found.append((result.site, result.day, result.name, facts.st_size, facts.st_mtime_ns))
    return found


def _kept_folder(archive: Path, model_id: str) -> Path:
    place = f"{_FORMAT}\0{model_id}\0".encode() + os.fsencode(os.path.realpath(archive))
    return state_folder() / "insights" / hashlib.sha256(place).hexdigest()[:32]


def _read_index(folder: Path, wanted: set[Key]) -> _Index:
    """Return what is kept, if it has nothing but wanted results; an empty index otherwise."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        stored = json.loads((folder / _INDEX).read_text(encoding="utf-8"))
        index = _Index(
            Names({name: number for number, name in enumerate(stored["classes"])}),
            Names({name: number for number, name in enumerate(stored["sites"])}),
            [_Chunk.from_json(chunk) for chunk in stored["chunks"]],
        )
        files = [folder / name for chunk in index.chunks for name in _files(chunk)]
        if set(index.results()) <= wanted and len(index.chunks) < _MOST_CHUNKS and all(one.is_file() for one in files):
            return index
    return _Index()


def _files(chunk: _Chunk) -> tuple[str, str]:
    return f"{chunk.name}.arrow", f"{chunk.name}-effort.arrow"


def _read_more(archive: Path, keys: list[Key], index: _Index, folder: Path, progress: Progress | None) -> None:
    """Read the results that are not kept, and keep them."""
    import pyarrow as pa

    known = index.results()
    missing = sorted(set(keys) - set(known))
    if not missing:
        return
    results = [Result(*key[:3]) for key in missing]
    if not known:
        for name in model_classes(archive, results):
            index.classes.number(name)
    chunk = _Chunk(uuid.uuid4().hex, missing, ResultFacts())
    detections, effort_file = (folder / name for name in _files(chunk))
    with atomic_writer(detections, durable=False) as file, pa.ipc.new_file(file, detections_schema()) as writer:
        chunk.facts, effort = read_results(
            archive,
            results,
            index.classes,
            index.sites,
            writer.write_table,
            first_result=len(known),
            first_clip=sum(one.facts.n_clips for one in index.chunks),
            progress=progress,
        )
    with atomic_writer(effort_file, durable=False) as file, pa.ipc.new_file(file, effort_schema()) as writer:
        writer.write_table(effort)
    index.chunks.append(chunk)
    stored = {
        "classes": list(index.classes),
        "sites": list(index.sites),
        "chunks": [one.to_json() for one in index.chunks],
    }
    with atomic_writer(folder / _INDEX, durable=False) as file:
        file.write(json.dumps(stored).encode())
    used = {_INDEX, ".lock", *(name for one in index.chunks for name in _files(one))}
    for path in folder.iterdir():
        if path.name not in used:
            with suppress(OSError):
                path.unlink()


def _kept_tables(folder: Path, index: _Index) -> tuple[pa.Table, pa.Table]:
    """Return the kept tables, mapped into memory."""
    import pyarrow as pa

    parts: tuple[list[Any], list[Any]] = ([detections_schema().empty_table()], [effort_schema().empty_table()])
    for chunk in index.chunks:
        for tables, name in zip(parts, _files(chunk)):
            tables.append(pa.ipc.open_file(pa.memory_map(str(folder / name))).read_all())
    return pa.concat_tables(parts[0]), pa.concat_tables(parts[1])


def _read_unkept(archive: Path, model_id: str, keys: Sequence[Key], progress: Progress | None) -> Detections:
    import pyarrow as pa

    index, tables = _Index(), [detections_schema().empty_table()]
    results = [Result(*key[:3]) for key in keys]
    for name in model_classes(archive, results):
        index.classes.number(name)
    facts, effort = read_results(archive, results, index.classes, index.sites, tables.append, progress=progress)
    index.chunks.append(_Chunk("", list(keys), facts))
    return _detections(archive, model_id, index, pa.concat_tables(tables), effort)


def _detections(archive: Path, model_id: str, index: _Index, table: pa.Table, effort: pa.Table) -> Detections:
    clocks: dict[int | None, float] = {}
    for chunk in index.chunks:
        for offset, amount in chunk.facts.clocks.items():
            clocks[offset] = clocks.get(offset, 0.0) + amount
    n_files = sum(chunk.facts.n_files for chunk in index.chunks)
    return Detections(
        name=archive.absolute().name,
        kind="sound" if not n_files or any(chunk.facts.is_sound for chunk in index.chunks) else "picture",
        classes=tuple(index.classes),
        sites=tuple(index.sites),
        table=table,
        effort_table=effort,
        n_files=n_files,
        n_files_without_time=sum(chunk.facts.n_files_without_time for chunk in index.chunks),
        clocks=clocks,
        archive=archive,
        model_id=model_id,
        results=tuple(Result(*key[:3]) for key in index.results()),
    )


def _remove_others(folder: Path) -> None:
    """Keep the archives that were looked at last."""
    with suppress(OSError):
        kept = sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for other in kept[_MOST_ARCHIVES:]:
            shutil.rmtree(other, ignore_errors=True)
