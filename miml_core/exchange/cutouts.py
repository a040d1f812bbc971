"""Cut-outs: each segment as a file of its own, in a folder per class, with a table of what they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, ClassVar

from miml_core.atomic_files import Content
from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.cells import neutralise, number_text
from miml_core.exchange.cut_media import PictureCutter, clip_span, cut_sound
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.masks import box_of, row_rings
from miml_core.exchange.names import normalised_name, safe_part
from miml_core.exchange.rows import Kind, SegmentRow, by_file
from miml_core.exchange.segments_csv import SegmentsCSV, segment_table
from miml_core.progress import Progress

if TYPE_CHECKING:
    from miml_core.media.audio import Channel

MOST_PADDING = 1000.0
"""Largest padding: seconds of a sound, pixels of a picture."""
PICTURE_PADDING = 8.0
"""Pixels around a segment of a picture, unless another number is chosen."""
RATES = (1000, 1_000_000)
"""Lowest and highest sample rate."""

_TABLE = "segments.csv"
_SOUND_PADDING = 0.5
_CUT_SOUND = ("cut_out", "cut_start_s", "cut_end_s")
_CUT_PICTURE = ("cut_out", "cut_left_px", "cut_top_px", "cut_right_px", "cut_bottom_px")


class CutOuts(Format):
    """`CLASS/CLIP.wav` or `CLASS/CLIP.png` of each segment, and `segments.csv`.

    Parameters
    ----------
    find : callable
        Returns the path of the media file that a row names; raises `BagtagError` if it cannot be used. By default the
        name is the path.
    padding : float, optional
        Seconds of a recording, or pixels of a picture, around each segment.
    rate : int, optional
        Samples per second of the clips, by default those of the recording.
    channel : int or "mix"
    on_failure : callable, optional
        Called with (file, reason) once for each reason why segments of a file cannot be cut out; by default the first
        reason is an error.
    progress : callable, optional
        See `miml_core.progress`; it may raise to cancel, but cannot stop early.

    Examples
    --------
    >>> import tempfile
    >>> import numpy, soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", numpy.zeros(80000), 8000)
    ...     row = SegmentRow(f"{folder}/dawn.wav", segment=7, start_s=4.0, end_s=4.5, label="Wren", status="confirmed")
    ...     files = CutOuts(padding=0.25).write([row], f"{folder}/out")
    ...     [file.relative_to(f"{folder}/out").as_posix() for file in files], soundfile.info(files[0]).duration
    (['Wren/dawn_4.000s_7.wav', 'segments.csv'], 1.0)
    """

    name: ClassVar[str] = "cut-outs"
    title: ClassVar[str] = "Cut-outs per class (WAV or PNG)"
    kinds: ClassVar[tuple[Kind, ...]] = ("sound", "picture")
    extensions = (".csv",)
    also_writes = (".wav", ".png")
    many_files = True
    only_checked = True
    keeps: ClassVar[str] = (
        "A folder per class with a file per segment. The table with them has everything but outlines and can be "
        "imported again."
    )
    least_seconds: ClassVar[float] = 0.0
    default_padding: ClassVar[float] = _SOUND_PADDING
    default_rate: ClassVar[int | None] = None

    def __init__(
        self,
        find: Callable[[str], Path] = Path,
        *,
        padding: float | None = None,
        rate: int | None = None,
        channel: Channel = "mix",
        on_failure: Callable[[str, str], None] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._find = find
        self._padding = padding
        self._rate = rate
        self._channel = channel
        self._on_failure = on_failure
        self._progress = progress
        self._failed: set[tuple[str, str]] = set()
        self.written: list[SegmentRow] = []
        """Segments that the last writing cut out."""
        self.left_out: Counter[str] = Counter()
        """How many segments the last writing left out on purpose, by the reason."""

    @property
    def padding(self) -> float:
        """Seconds around a segment of a recording."""
        return self.default_padding if self._padding is None else self._padding

    def is_one_file(self, target: Path) -> bool:
        return target.suffix.lower() == ".zip"

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, Content]]:
        done: list[SegmentRow] = []
        self._failed, self.written, self.left_out = set(), done, Counter()
        folders, names, pictures = self._folders(rows), _Names(), PictureCutter()
        places: list[dict[str, str]] = []
        for file, segments in by_file(rows):
            try:
                path = self._find(file)
            except BagtagError as error:
                self._fail(file, str(error))
                continue
            for row in self._chosen(segments):
                if self._progress is not None:
                    self._progress(len(done), len(rows), {})
                try:
                    ending, content, place = self._cut(path, row, pictures)
                except BagtagError as error:
                    self._fail(file, str(error))
                    continue
                name = names.unique(folders[self._folder(row) or ""], _clip_name(row), ending)
                yield name, content
                done.append(row)
                places.append({"cut_out": neutralise(name), **place})
        if not done:
            reason = next((reason for _, reason in sorted(self._failed)), "Label some segments first.")
            raise BagtagError(f"None of the segments can be cut out. {reason}")
        columns = _CUT_PICTURE if done[0].kind == "picture" else _CUT_SOUND
        yield _TABLE, segment_table(done, {name: [place[name] for place in places] for name in columns})

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        SegmentsCSV().read_file(name, content, table)

    def _folder(self, row: SegmentRow) -> str | None:
        """Return the name of the folder before it is made safe; None if the segment has none and is left out."""
        if row.label:
            return row.label
        return "(background)" if row.status == "background" else "(no label)"

    def _safe(self, folder: str) -> str:
        return safe_part(folder)

    def _chosen(self, rows: list[SegmentRow]) -> list[SegmentRow]:
        """Return the segments of one file that are cut out; count the others in `left_out`."""
        return rows

    def _folders(self, rows: Sequence[SegmentRow]) -> dict[str, str]:
        wanted = sorted({folder for row in rows if (folder := self._folder(row)) is not None})
        names = _Names()
        return {folder: names.unique("", self._safe(folder), "") for folder in wanted}

    def _cut(self, path: Path, row: SegmentRow, pictures: PictureCutter) -> tuple[str, Content, dict[str, str]]:
        if row.kind == "picture":
            return ".png", *self._cut_picture(path, row, pictures)
        return ".wav", *self._cut_sound(path, row)

    def _cut_sound(self, path: Path, row: SegmentRow) -> tuple[Content, dict[str, str]]:
        if row.start_s is None or row.end_s is None:
            raise BagtagError("There are labels without a time; give them one, or leave them out.")
        rate = self._rate or self.default_rate
        if rate is not None and (row.low_hz or 0.0) >= rate / 2:
            raise BagtagError(f"There are segments above {rate / 2:g} Hz; choose a higher sample rate.")
        duration = row.duration_s if row.duration_s is not None else _duration(path)
        span = clip_span(row.start_s, row.end_s, duration, padding=self.padding, least=self.least_seconds)
        content = cut_sound(path, span, rate=rate, channel=self._channel)
        return content, {"cut_start_s": number_text(span[0], 6), "cut_end_s": number_text(span[1], 6)}

    def _cut_picture(self, path: Path, row: SegmentRow, pictures: PictureCutter) -> tuple[bytes, dict[str, str]]:
        left, top, right, bottom = row.box or box_of(row_rings(row))
        around = PICTURE_PADDING if self._padding is None else self._padding
        width, height = row.width or math.inf, row.height or math.inf
        box = (
            max(0, math.floor(left - around)),
            max(0, math.floor(top - around)),
            int(min(width, math.ceil(right + around))),
            int(min(height, math.ceil(bottom + around))),
        )
        if box[0] >= box[2] or box[1] >= box[3]:
            raise BagtagError("There are segments outside the picture; draw them again.")
        edges = {name: str(edge) for name, edge in zip(_CUT_PICTURE[1:], box)}
        return pictures.cut(path, box), edges

    def _fail(self, file: str, reason: str) -> None:
        if (file, reason) in self._failed:
            return
        if self._on_failure is None:
            raise BagtagError(f"{file!r}: {reason}")
        self._failed.add((file, reason))
        self._on_failure(file, reason)


class _Names:
    """File names that differ on every system, also where letter case is ignored."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def unique(self, folder: str, stem: str, ending: str) -> str:
        number = 1
        while True:
            name = f"{folder}/" * bool(folder) + stem + f"-{number}" * (number > 1) + ending
            key = normalised_name(name)
            if key not in self._taken:
                self._taken.add(key)
                return name
            number += 1


def _clip_name(row: SegmentRow) -> str:
    stem = safe_part(PurePosixPath(row.file.replace("\\", "/")).stem or "clip", most_bytes=100)
    at = "" if row.start_s is None else f"_{row.start_s:.3f}s"
    return f"{stem}{at}" + ("" if row.segment is None else f"_{row.segment}")


def _duration(path: Path) -> float:
    from miml_core.media.audio import audio_info

    return audio_info(path).duration
