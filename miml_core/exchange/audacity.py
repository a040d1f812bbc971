"""Audacity label tracks: one text file per recording, with frequencies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.cells import decode_text, from_one_line, on_one_line, parse_number
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.names import name_beside, recording_of
from miml_core.exchange.rows import SegmentRow, by_file

_ENDING = ".txt"
_BACKGROUND = "(background)"
_LABEL_LINE = re.compile(r"\ufeff?\s*-?\d+[.,]?\d*(e-?\d+)?\t-?\d+[.,]?\d*(e-?\d+)?(\t|\r?\n|$)", re.IGNORECASE)


class AudacityLabels(Format):
    """A label has start, end and text; a second line that begins with a backslash has the frequencies."""

    name = "audacity"
    title = "Audacity labels"
    kinds = ("sound",)
    extensions = (".txt",)
    many_files = True
    keeps = (
        "Times and frequencies to a millionth, and the label. Audacity stores nothing else, so labels are read "
        "as confirmed by a person."
    )

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        for file, segments in by_file(rows):
            text = "".join(_lines(row) for row in sorted(segments, key=lambda row: row.start_s or 0.0))
            yield name_beside(file, _ENDING), text.encode("utf-8", errors="surrogateescape")

    def recognises(self, name: str, head: str) -> bool:
        return _LABEL_LINE.match(head) is not None

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        _parse(name, content, table)


def _lines(row: SegmentRow) -> str:
    label = _BACKGROUND if row.status == "background" else on_one_line(row.label)
    first = f"{row.start_s or 0.0:.6f}\t{row.end_s or 0.0:.6f}\t{label}\n"
    if row.low_hz is None or row.high_hz is None:
        return first
    return first + f"\\\t{row.low_hz:.6f}\t{row.high_hz:.6f}\n"


def _parse(name: str, content: bytes, table: LabelTable) -> None:
    file = recording_of(name, _ENDING)
    labels: list[tuple[str, list[float], str]] = []
    bands: dict[int, list[float]] = {}
    for number, line in enumerate(decode_text(content, name).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t", 2)
        where = f"{name!r}, line {number}"
        if cells == [""]:
            continue
        try:
            if cells[0] != "\\":
                labels.append((where, _two_numbers(cells[:2], where), cells[2] if len(cells) == 3 else ""))
            elif labels:
                bands[len(labels) - 1] = _two_numbers(cells[1:], where)
            else:
                raise BagtagError(f"{where} has frequencies before any label.")
        except BagtagError as error:
            table.fail(where, error)
    for index, (where, times, text) in enumerate(labels):
        table.add(where, _row, file, times, text, bands.get(index))


def _two_numbers(cells: Sequence[str], where: str) -> list[float]:
    numbers = [parse_number(cell, where) for cell in cells]
    if len(numbers) != 2 or None in numbers:
        raise BagtagError(f"{where} is not a line of an Audacity label track: it should begin with two numbers.")
    return [number for number in numbers if number is not None]


def _row(file: str, times: list[float], text: str, band: list[float] | None) -> SegmentRow:
    is_background = text == _BACKGROUND
    label = "" if is_background else from_one_line(text)
    # Audacity writes -1 for an edge that is not set.
    low, high = (None, None) if band is None or min(band) < 0 else band
    return SegmentRow(
        file=file,
        start_s=times[0],
        end_s=times[1],
        low_hz=low,
        high_hz=high,
        label=label,
        status="background" if is_background else "confirmed" if label else "unlabelled",
        said_by="person" if label or is_background else "",
    )
