"""Tables of any program with one label per line, whose columns are named by hand or recognised by their headings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from miml_core.errors import BagtagError
from miml_core.exchange.cells import decode_text, parse_number, restore
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.names import recording_of
from miml_core.exchange.rows import Kind, SegmentRow

HEADINGS: dict[str, tuple[str, ...]] = {
    "file": (
        *("file", "filename", "file name", "filepath", "file path", "path", "recording", "begin file", "begin path"),
        *("in file", "audio", "audio file", "notated path", "image", "picture", "image name"),
    ),
    "folder": ("folder",),
    "start_s": (
        *("start s", "start", "start (s)", "start time", "start time (s)", "begin time (s)", "begin", "onset"),
        *("onset s", "offset", "offset (s)", "tmin", "time start"),
    ),
    "end_s": ("end s", "end", "end (s)", "end time", "end time (s)", "stop", "offset s", "tmax", "time end"),
    "duration_s": ("duration s", "duration", "duration (s)", "length", "length (s)"),
    "low_hz": ("low hz", "low freq (hz)", "low", "fmin", "min frequency", "low frequency", "minfreq"),
    "high_hz": ("high hz", "high freq (hz)", "high", "fmax", "max frequency", "high frequency", "maxfreq"),
    "left_px": ("left px", "xmin", "left", "x1"),
    "top_px": ("top px", "ymin", "top", "y1"),
    "right_px": ("right px", "xmax", "right", "x2"),
    "bottom_px": ("bottom px", "ymax", "bottom", "y2"),
    "label": ("label", "class", "species", "tag", "annotation", "common name", "name", "category", "scientific name"),
    "scientific_name": ("scientific name", "latin name"),
    "score": ("score", "confidence", "probability", "likelihood"),
    "annotator": ("annotator", "who", "user", "author", "labelled by", "observer"),
}
"""Field -> headings by which it is recognised, in lower case with spaces for underscores."""
FIELDS = tuple(HEADINGS)
_NUMBERS = tuple(name for name in FIELDS if name.endswith(("_s", "_hz", "_px", "score")))
_BOX = ("left_px", "top_px", "right_px", "bottom_px")


class ColumnTable(LabelReader):
    """A table with a header line; any of the usual separators.

    Parameters
    ----------
    columns : mapping, optional
        Field of `FIELDS` -> heading in the table, for those that are not recognised; an empty heading means that the
        table has no such column.

    Examples
    --------
    >>> table = LabelTable()
    >>> reader = ColumnTable({"label": "bird"})
    >>> reader.read_file("calls.csv", b"file;start;end;bird\\ndawn.wav;1,5;2;Wren\\n", table)
    >>> [(row.file, row.start_s, row.end_s, row.label) for row in table.rows]
    [('dawn.wav', 1.5, 2.0, 'Wren')]
    """

    name = "table"
    title = "Table with columns chosen by hand"
    kinds: ClassVar[tuple[Kind, ...]] = ("sound", "picture")
    extensions: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt")

    def __init__(self, columns: Mapping[str, str] | None = None) -> None:
        unknown = sorted(set(columns or ()) - set(FIELDS))
        if unknown:
            raise BagtagError(f"There is no field {unknown[0]!r} of a label; there are {', '.join(FIELDS)}.")
        self.columns = dict(columns or {})

    def recognises(self, name: str, head: str) -> bool:
        found = recognise_columns(header_of(head))
        return "label" in found and ({"start_s", "left_px", "file"} & set(found) != set())

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        lines = table_lines(name, content, table)
        header = next(lines, ("", []))[1]
        self.check(name, header)
        recognised = recognise_columns(header) | self.columns
        places = {field: header.index(heading) for field, heading in recognised.items() if heading}
        if "label" not in places:
            raise BagtagError(f"{name!r} has no column of labels; choose it by hand.")
        for where, cells in lines:
            table.add(where, self.row, name, where, {field: cells[place] for field, place in places.items()})

    def check(self, name: str, header: list[str]) -> None:
        """Raise `BagtagError` for a table that does not have the chosen columns."""
        absent = [heading for heading in self.columns.values() if heading and heading not in header]
        if absent:
            raise BagtagError(f"{name!r} has no column {absent[0]!r} in its first line.")

    def row(self, name: str, where: str, cells: dict[str, str]) -> SegmentRow:
        """Return the label of one line."""
        numbers = {field: parse_number(cells.get(field), where) for field in _NUMBERS}
        start, end = numbers["start_s"], numbers["end_s"]
        if end is None and start is not None and numbers["duration_s"] is not None:
            end = start + numbers["duration_s"]
        file = cells.get("file", "").strip() or recording_of(name, extension_of(name))
        folder = cells.get("folder", "").strip().replace("\\", "/").strip("/")
        box: Any = tuple(numbers[field] for field in _BOX)
        is_picture = None not in box
        text = restore(cells["label"]).strip()
        score = numbers["score"]
        return SegmentRow(
            file=f"{folder}/{file}" if folder else file,
            kind="picture" if is_picture else "sound",
            start_s=start,
            end_s=end,
            low_hz=numbers["low_hz"],
            high_hz=numbers["high_hz"],
            box=box if is_picture else None,
            label=text,
            scientific_name=restore(cells.get("scientific_name", "")).strip(),
            probability=score,
            who=restore(cells.get("annotator", "")).strip(),
            said_by="" if not text else "person" if score is None else "model",
            status="unlabelled" if not text else "confirmed" if score is None else "predicted",
        )


def recognise_columns(header: list[str]) -> dict[str, str]:
    """Return {field: heading} of the columns whose headings are known.

    >>> recognise_columns(["File", "Start (s)", "End (s)", "Common name", "Confidence"])
    {'file': 'File', 'start_s': 'Start (s)', 'end_s': 'End (s)', 'label': 'Common name', 'score': 'Confidence'}
    """
    plain = {" ".join(heading.casefold().replace("_", " ").split()): heading for heading in reversed(header)}
    found = {
        field: plain[known]
        for field, headings in HEADINGS.items()
        if (known := next((each for each in headings if each in plain), None)) is not None
    }
    if {"start_s", "end_s"} <= set(found) and found["start_s"] == found["end_s"]:
        del found["end_s"]
    return found


def header_of(head: str) -> list[str]:
    """Return the headings of a table from its beginning."""
    first = head.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r")
    try:
        return [cell.strip() for cell in next(csv.reader([first], delimiter=separator_of(first)), [])]
    except csv.Error:
        return []


def separator_of(first: str) -> str:
    """Return the separator of a table by its first line."""
    return max(",;\t", key=first.count)


def table_lines(name: str, content: bytes, table: LabelTable) -> Iterator[tuple[str, list[str]]]:
    """Yield (where, cells) of the lines of a table, the header first; all as long as the header."""
    text = decode_text(content, name)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(text.split("\n", 1)[0]), strict=True)
    width = None
    try:
        for cells in reader:
            if not any(map(str.strip, cells)):
                continue
            where = f"{name!r}, line {reader.line_num}"
            if width is None:
                width = len(cells)
                yield where, [restore(cell.strip()) for cell in cells]
            elif len(cells) > width and any(map(str.strip, cells[width:])):
                table.fail(where, f"{len(cells)} cells, but the first line names {width} columns")
            else:
                yield where, cells + [""] * (width - len(cells))
    except csv.Error as error:
        table.fail(f"{name!r}, line {reader.line_num}", str(error))


def extension_of(name: str) -> str:
    """Return the last extension of a name, with its dot."""
    return name[name.rindex(".") :] if "." in name.rsplit("/", 1)[-1] else ""
