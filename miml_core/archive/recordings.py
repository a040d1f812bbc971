"""The files of an archive: which there are, and what their headers state.

Reading headers and fingerprints of a million files takes a while, so that they are kept in the archive, by path, size
and time of the file. What is kept there is a cache: without it everything is read again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from miml_core.atomic_files import atomic_writer
from miml_core.errors import BagtagError, printable
from miml_core.media.recording_time import recorder_clock, utc_offset_minutes

UNKNOWN = "unknown"
"""The day, or the site, of a file without one."""

_CACHE = ".files.parquet"
_LONGEST_SITE = 200
"""Characters, with those escaped that a folder's name cannot have."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of an archive, before it is opened."""

    file: str
    """Its name in the archive: name of the given folder, and the path below it, with forward slashes."""
    path: str
    size: int
    changed: int
    """Time of its last change, in nanoseconds."""


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """A file of an archive, with what its header states."""

    file: str
    path: str
    size: int
    changed: int
    fingerprint: str = ""
    duration: float = 0.0
    """Seconds; 0 for a picture."""
    recorded_at: str = ""
    """Time of the recorder's clock (ISO 8601, without zone); empty if unknown."""
    utc_offset: int | None = None
    """Minutes that the recorder's clock is ahead of UTC, if the recording states that."""
    recorder_site: str = ""
    """Site by the notes of the recorder; of a picture its place by EXIF, to about 100 m."""
    problem: str = ""
    """Why the file cannot be used."""
    again: bool = False
    """Whether the problem may be gone the next time (a folder that was not reachable)."""

    def day_at(self, seconds: float) -> str:
        """Return the date at a time of the recording."""
        if not self.recorded_at:
            return UNKNOWN
        return (datetime.fromisoformat(self.recorded_at) + timedelta(seconds=seconds)).date().isoformat()


def find_recordings(folders: Sequence[Path], kind: str) -> list[FoundFile]:
    """Return the files below folders, in a stable order.

    Raises
    ------
    BagtagError
        A folder does not exist, cannot be read or has no files of the kind, or two of them have the same name.
    """
    from miml_core.project.media.files import find_files

    roots = named_folders(folders)
    found: list[FoundFile] = []
    for name, root in roots.items():
        before = len(found)
        for path in find_files([root], kind, on_error=_refuse_folder):
            with suppress(FileNotFoundError):  # removed meanwhile
                facts = path.stat()
                below = path.relative_to(root).as_posix()
                found.append(FoundFile(f"{name}/{below}", str(path), facts.st_size, facts.st_mtime_ns))
        if len(found) == before:
            what = "pictures" if kind == "picture" else "recordings"
            raise BagtagError(f"{str(root)!r} has no {what}; give the folder that has them.")
    return found


def named_folders(folders: Sequence[Path]) -> dict[str, Path]:
    """Return the folders by the names under which their files are listed."""
    roots: dict[str, Path] = {}
    for folder in folders:
        folder = Path(os.path.realpath(folder))
        if not folder.is_dir():
            raise BagtagError(f"There is no folder {str(folder)!r}; give the folders of the recordings.")
        if folder.name in roots and roots[folder.name] != folder:
            raise BagtagError(
                f"{str(folder)!r} and {str(roots[folder.name])!r} have the same name, by which their files could not "
                "be distinguished; give the folder that contains both, or rename one."
            )
        roots[folder.name] = folder
    return roots


def read_headers(found: Sequence[FoundFile], kind: str) -> list[RecordingFile]:
    """Read the headers and fingerprints of files; a file that cannot be read has a `problem`."""
    return [_read_header(one, kind) for one in found]


def _read_header(found: FoundFile, kind: str) -> RecordingFile:
    facts: dict[str, Any] = asdict(found)
    if printable(found.file) != found.file:
        facts["file"] = facts["path"] = printable(found.file)
        return RecordingFile(**facts, problem="Its name is not valid text (UTF-8); rename the file.")
    try:
        facts |= _sound_header(Path(found.path)) if kind == "sound" else _picture_header(Path(found.path))
    except Exception as error:
        return RecordingFile(**facts, problem=reason_of(found.path, error), again=is_temporary(error))
    return RecordingFile(**facts)


def _sound_header(path: Path) -> dict[str, Any]:
    from miml_core.media.audio import audio_info
    from miml_core.media.recorder_notes import recorder_notes
    from miml_core.media.recorder_site import recorder_site

    facts = {"fingerprint": _fingerprint(path)}
    info = audio_info(path)
    return {
        **facts,
        "duration": info.duration,
        "recorder_site": recorder_site(recorder_notes(path)),
        **_clock(info.recorded_at, info.recorded_from),
    }


def _picture_header(path: Path) -> dict[str, Any]:
    from miml_core.media.image import image_info
    from miml_core.media.recorder_site import site_of_place

    facts = {"fingerprint": _fingerprint(path)}
    info = image_info(path)
    return {**facts, "recorder_site": site_of_place(info.place), **_clock(info.taken_at, info.taken_from)}


def _fingerprint(path: Path) -> str:
    from miml_core.media.regular_files import check_regular_file
    from miml_core.project.media.fingerprint import fingerprint

    check_regular_file(path)
    return fingerprint(path)[1]


def _clock(moment: datetime, source: str) -> dict[str, Any]:
    """Return the time as the recorder's clock showed it."""
    if recorder_clock(moment, source) is None:
        return {}
    return {"recorded_at": moment.replace(tzinfo=None).isoformat(), "utc_offset": utc_offset_minutes(moment)}


def reason_of(path: str, error: Exception) -> str:
    """Return a sentence for a file that could not be used."""
    if isinstance(error, BagtagError):
        return str(error)
    return f"{Path(path).name} could not be processed ({type(error).__name__}: {error})."


def is_temporary(error: Exception) -> bool:
    """Return whether a file may be readable the next time: anything but a fault of its content."""
    return not isinstance(error, BagtagError) or isinstance(error.__cause__, OSError)


class SitePattern:
    """Determine the site of a file.

    Parameters
    ----------
    pattern : str, optional
        Regular expression that is searched in the name of a file; its group "site", or its first group, is the site.
        By default the site is the first folder below the given one; for files right in the given folder it is what the
        recorder wrote into the file (GUANO, the number of an AudioMoth, the place of a picture), or else the name of
        the given folder.

    Examples
    --------
    >>> recording = RecordingFile("survey/marsh/20240501_043000.wav", "/data/...", 1, 1)
    >>> SitePattern().of(recording), SitePattern(r"/(?P<site>m)").of(recording), SitePattern("(hill)").of(recording)
    ('marsh', 'm', 'unknown')
    """

    def __init__(self, pattern: str | None = None) -> None:
        self._pattern = None
        if pattern is not None:
            try:
                self._pattern = re.compile(pattern)
            except re.error as error:
                raise BagtagError(
                    f"The site pattern {pattern!r} is not a valid regular expression: {error}. Correct it, or leave "
                    "it out."
                ) from error
            if not self._pattern.groups:
                raise BagtagError(f"The site pattern {pattern!r} needs a group, such as (?P<site>[^_]+).")

    def of(self, recording: RecordingFile) -> str:
        """Return the site of a file, cut to what file systems allow as the name of a folder."""
        site = self._whole(recording)
        while len(quote(site)) > _LONGEST_SITE:
            site = site[:-1]
        return site

    def _whole(self, recording: RecordingFile) -> str:
        if self._pattern is not None:
            match = self._pattern.search(recording.file)
            named = "site" in self._pattern.groupindex
            return (match["site" if named else 1] if match else None) or UNKNOWN
        folder, *below = recording.file.split("/")
        return below[0] if len(below) > 1 else recording.recorder_site or folder


class HeaderCache:
    """The headers that were read earlier, in the folder of the archive."""

    def __init__(self, archive: Path) -> None:
        self._path = archive / _CACHE

    def split(self, found: Iterable[FoundFile]) -> tuple[list[RecordingFile], list[FoundFile]]:
        """Return the headers of files that have not changed since they were read, and the other files."""
        kept = {(one.path, one.size, one.changed): one for one in self._read() if not one.again}
        known, unknown = [], []
        for one in found:
            earlier = kept.get((one.path, one.size, one.changed))
            if earlier is not None and earlier.file == one.file:
                known.append(earlier)
            else:
                unknown.append(one)
        return known, unknown

    def write(self, headers: Sequence[RecordingFile]) -> None:
        """Keep headers instead of the earlier ones."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {field.name: [getattr(one, field.name) for one in headers] for field in fields(RecordingFile)}
        with suppress(OSError, pa.ArrowException), atomic_writer(self._path, durable=False) as file:
            pq.write_table(pa.table(columns, schema=_cache_schema()), file)

    def _read(self) -> Iterator[RecordingFile]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._path.is_file():
            return
        try:
            table = pq.read_table(self._path, schema=_cache_schema())
        except (OSError, pa.ArrowException):
            return
        for batch in table.to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                yield RecordingFile(**row)


def _cache_schema() -> Any:
    import pyarrow as pa

    types = {"size": pa.int64(), "changed": pa.int64(), "duration": pa.float64(), "again": pa.bool_()}
    types["utc_offset"] = pa.int16()
    return pa.schema([(field.name, types.get(field.name, pa.string())) for field in fields(RecordingFile)])


def _refuse_folder(error: OSError) -> None:
    raise BagtagError(f"The folder {error.filename!r} cannot be read: {error.strerror}. Check it, and start again.")
