"""Read the Parquet files of an archive as two tables of numbers.

A folder may come from somebody else. Only regular files inside of it are read, at the places and with the columns of
`miml_core/archive/results.py`; anything else is refused by name.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miml_core.archive.results import Result, schema
from miml_core.errors import BagtagError
from miml_core.insights.detections import NO_CLASS, detections_schema
from miml_core.insights.effort import MS_PER_HOUR, EffortSum
from miml_core.media.regular_files import check_regular_file

if TYPE_CHECKING:
    import pyarrow as pa

    from miml_core.progress import Progress

ROW_BITS = 32
"""The `segment` of a detection is the number of its result, shifted by so many bits, and its row there."""

_ROWS_AT_ONCE = 200_000
_COLUMNS = {
    "segments": ["file", "clip_start", "class", "probability", "time"],
    "clips": ["start", "end", "time", "utc_offset"],
}


class Names(dict[str, int]):
    """Names and their numbers, in the order in which they were met."""

    def number(self, name: str) -> int:
        """Return the number of a name, a new one if it was not met yet."""
        return self.setdefault(name, len(self))


@dataclass
class ResultFacts:
    """Counts of what results have, besides their detections and effort."""

    n_clips: int = 0
    """With detections."""
    n_files: int = 0
    n_files_without_time: int = 0
    clocks: dict[int | None, float] = field(default_factory=dict)
    is_sound: bool = False


def read_results(
    archive: Path,
    results: Sequence[Result],
    classes: Names,
    sites: Names,
    write: Callable[[Any], object],
    *,
    first_result: int = 0,
    first_clip: int = 0,
    progress: Progress | None = None,
) -> tuple[ResultFacts, pa.Table]:
    """Read results, batch by batch.

    Parameters
    ----------
    archive : Path
    results : sequence of Result
    classes, sites : Names
        Get the names that are met.
    write : callable
        Called with tables of detections.
    first_result, first_clip : int
        Numbers of the first ones.
    progress : Progress, optional

    Returns
    -------
    facts : ResultFacts
    effort : pyarrow.Table

    Raises
    ------
    BagtagError
        A file is none of `bagtag apply`.
    """
    inside = Path(os.path.realpath(archive))
    facts, effort = ResultFacts(n_clips=first_clip), EffortSum()
    waiting: dict[str, list[Any]] = {"segments": [], "clips": []}
    rows = 0
    for place, result in enumerate(results):
        site = sites.number(result.site)
        for name, tables in waiting.items():
            with suppress(FileNotFoundError):  # removed meanwhile by a command that writes to the archive
                tables.append(_read_file(inside, result, name, site, first_result + place))
                rows += len(tables[-1])
        if rows >= _ROWS_AT_ONCE or place == len(results) - 1:
            _add_clips(waiting["clips"], facts, effort)
            _add_segments(waiting["segments"], classes, facts, write)
            waiting, rows = {"segments": [], "clips": []}, 0
        if progress is not None:
            progress(place + 1, len(results), {})
    facts.n_clips -= first_clip
    return facts, effort.table()


def model_classes(archive: Path, results: Sequence[Result]) -> list[str]:
    """Return the classes of the model, in its order, as the first result states them; some may have no detections."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for result in results[:1]:
        path = result.path(archive, "clips")
        with suppress(OSError, ValueError, KeyError, TypeError, pa.ArrowException):
            check_regular_file(path)
            stated = json.loads((pq.read_schema(path).metadata or {})[b"bagtag"])["classes"]
            return [name for name in stated if isinstance(name, str)]
    return []


def read_checked(inside: Path, path: Path, name: str, columns: list[str] | None = None) -> pa.Table:
    """Return the columns of a file of an archive, if it is a regular file inside of it with the columns of its table.

    Parameters
    ----------
    inside : Path
        The archive's folder, links resolved.
    path : Path
        Below it.
    name : str
        Of the table.
    columns : list of str, optional
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if Path(os.path.realpath(path)) != path:
        raise BagtagError(f"{str(path)!r} is a link; an archive has only files of its own. Copy the file there.")
    check_regular_file(path)
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema(name), check_metadata=False):
                raise pa.ArrowInvalid("its columns are different")
            return file.read(columns=columns, use_threads=False)
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise BagtagError(
            f"{str(path.relative_to(inside))!r} is not a result of `bagtag apply` ({error}). Remove it, and apply the "
            "model again."
        ) from error


def _read_file(inside: Path, result: Result, name: str, site: int, place: int) -> pa.Table:
    """Return the columns of a file that are counted, with the numbers of its site and rows."""
    import pyarrow as pa

    table = read_checked(inside, result.path(inside, name), name, _COLUMNS[name])
    table = table.append_column("site", pa.array(np.full(len(table), site, np.int32)))
    if name == "segments":
        rows = (place << ROW_BITS) + np.arange(len(table), dtype=np.int64)
        table = table.append_column("segment", pa.array(rows))
    return table


def _add_clips(tables: list[Any], facts: ResultFacts, effort: EffortSum) -> None:
    import pyarrow as pa

    if not tables:
        return
    clips = pa.concat_tables(tables)
    start, end = (clips[name].fill_null(0.0).to_numpy() for name in ("start", "end"))
    time_ms, known = _moments(clips["time"])
    seconds = np.maximum(end - start, 0.0)
    effort.add(clips["site"].to_numpy(), time_ms, known, seconds)
    is_first = start == 0.0
    facts.n_files += int(is_first.sum())
    facts.n_files_without_time += int((is_first & ~known).sum())
    facts.is_sound |= bool((seconds > 0).any())
    offsets = clips["utc_offset"].cast(pa.float64()).fill_null(np.nan).to_numpy()[known]
    amounts = np.where(seconds > 0, seconds, 1.0)[known]
    for value in np.unique(offsets):  # NaN once, and last
        of_value = np.isnan(offsets) if np.isnan(value) else offsets == value
        offset = None if np.isnan(value) else int(value)
        facts.clocks[offset] = facts.clocks.get(offset, 0.0) + float(amounts[of_value].sum())


def _add_segments(tables: list[Any], classes: Names, facts: ResultFacts, write: Callable[[Any], object]) -> None:
    import pyarrow as pa

    if not sum(map(len, tables)):
        return
    segments = pa.concat_tables(tables)
    time_ms, known = _moments(segments["time"])
    clip = _clip_numbers(segments) + facts.n_clips
    facts.n_clips = int(clip[-1]) + 1
    columns = {
        "label": _labels(segments["class"], classes),
        "probability": segments["probability"].combine_chunks().fill_null(0.0),
        "checked": np.zeros(len(segments), dtype=bool),
        "site": segments["site"].combine_chunks(),
        "hour": pa.array((time_ms // MS_PER_HOUR).astype(np.int32), mask=~known),
        "clip": clip.astype(np.int32),
        "segment": segments["segment"].combine_chunks(),
    }
    write(pa.table(columns, schema=detections_schema()))


def _labels(names: pa.ChunkedArray, classes: Names) -> NDArray[np.int16]:
    """Return the numbers of class names; null is none of the classes."""
    encoded = names.combine_chunks().dictionary_encode()
    numbers = np.array([classes.number(name) for name in encoded.dictionary.to_pylist()] + [NO_CLASS])
    if len(classes) > np.iinfo(np.int16).max:
        raise BagtagError("The archive has more classes than a model can have; it was not written by `bagtag apply`.")
    places = encoded.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)
    return numbers[places].astype(np.int16)


def _clip_numbers(segments: pa.Table) -> NDArray[np.int64]:
    """Return the number of each segment's clip, from 0 on; segments of a clip follow each other."""
    file = segments["file"].combine_chunks().dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
    result = segments["segment"].to_numpy() >> ROW_BITS
    start = segments["clip_start"].fill_null(0.0).to_numpy()
    is_other = (file[1:] != file[:-1]) | (result[1:] != result[:-1]) | (start[1:] != start[:-1])
    return np.cumsum(np.r_[0, is_other])


def _moments(times: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return milliseconds since 1970, and which of them are known."""
    import pyarrow as pa

    known = times.is_valid().to_numpy().astype(bool)
    return times.cast(pa.int64()).fill_null(0).to_numpy(), known
