"""CSV tables: one row per segment, for spreadsheets, R and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.cells import decode_text, neutralise, number_text, parse_number, restore
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.rows import KNOWN_STATUSES, Kind, LabelSource, SegmentRow, Status
from miml_core.exchange.tables import table_bytes

_SOUND_NUMBERS = {"start_s": 6, "end_s": 6, "low_hz": 3, "high_hz": 3}
_BOX = ("left_px", "top_px", "right_px", "bottom_px")
_SIZE = ("width_px", "height_px")
_TEXTS = (
    *("file", "bag", "label", "scientific_name", "status", "said_by", "who", "checked_by", "run", "recorded_at"),
    "other_tags",
)
_ORDER = (
    *("file", "bag", "segment"),
    *(*_SOUND_NUMBERS, *_BOX, *_SIZE),
    *("label", "scientific_name", "probability", "status", "said_by", "who", "checked_by", "run", "recorded_at"),
    "other_tags",
)


class SegmentsCSV(Format):
    """Comma-separated values by RFC 4180; columns of the other kind of media are left out."""

    name = "csv"
    title = "CSV table"
    kinds = ("sound", "picture")
    extensions = (".csv",)
    many_files = False
    keeps = "Everything but outlines; times and probabilities to a millionth, frequencies and pixels to a thousandth."

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        yield "segments.csv", segment_table(rows)

    def recognises(self, name: str, head: str) -> bool:
        return {"file", "status", "said_by"} <= set(head.split("\n", 1)[0].strip("\ufeff\r").split(","))

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        _parse(name, content, table)


def segment_table(rows: Sequence[SegmentRow], further: Mapping[str, Sequence[str]] | None = None) -> bytes:
    """Return the table of some rows, with further columns at its end."""
    kinds = {row.kind for row in rows}
    unused = (set() if "sound" in kinds else set(_SOUND_NUMBERS)) | (set() if "picture" in kinds else {*_BOX, *_SIZE})
    unused |= set() if any(row.other_tags for row in rows) else {"other_tags"}
    columns = [column for column in _ORDER if column not in unused]
    added = further or {}
    lines = (
        [*(cells.get(column, "") for column in columns), *(added[name][place] for name in added)]
        for place, cells in enumerate(map(_cells, rows))
    )
    return table_bytes([*columns, *added], lines)


def _cells(row: SegmentRow) -> dict[str, str]:
    cells = {name: neutralise(str(getattr(row, name))) for name in _TEXTS}
    cells |= {name: number_text(getattr(row, name), decimals) for name, decimals in _SOUND_NUMBERS.items()}
    cells |= {name: number_text(value, 3) for name, value in zip(_BOX, row.box or ())}
    cells |= {name: number_text(value, 0) for name, value in zip(_SIZE, (row.width, row.height))}
    return cells | {"segment": number_text(row.segment, 0), "probability": number_text(row.probability, 6)}


def _parse(name: str, content: bytes, table: LabelTable) -> None:
    reader = csv.DictReader(io.StringIO(decode_text(content, name), newline=""), strict=True)
    try:
        header = reader.fieldnames or []
        if "file" not in header:
            raise BagtagError(f"{name!r} is not a table of segments: there is no column 'file' in its first line.")
        for cells in reader:
            where = f"{name!r}, line {reader.line_num}"
            table.add(where, _row, cells, header, where)
    except csv.Error as error:
        table.fail(f"{name!r}, line {reader.line_num}", f"{error}.")


def _row(cells: dict[str, Any], header: Sequence[str], where: str) -> SegmentRow:
    if None in cells or None in cells.values():
        raise BagtagError(f"{where} has another number of cells than the first line.")
    texts: dict[str, Any] = {name: restore(cells.get(name, "")) for name in _TEXTS}
    columns = (*_SOUND_NUMBERS, *_BOX, *_SIZE, "segment", "probability")
    numbers: dict[str, Any] = {name: parse_number(cells.get(name), where) for name in columns}
    box = tuple(numbers.pop(name) for name in _BOX)
    width, height, segment = (_whole(numbers.pop(name)) for name in (*_SIZE, "segment"))
    status = texts.pop("status") or ("confirmed" if texts["label"] else "unlabelled")
    said_by = texts.pop("said_by")
    if status not in get_args(Status) or said_by not in get_args(LabelSource):
        raise BagtagError(f"{where}: the status {status!r} by {said_by!r} is not known; {KNOWN_STATUSES}.")
    is_picture = None not in box or not set(header) & set(_SOUND_NUMBERS)
    kind: Kind = "picture" if is_picture else "sound"
    if not texts["file"]:
        raise BagtagError(f"{where} does not name its file.")
    return SegmentRow(
        **texts,
        **numbers,
        kind=kind,
        segment=segment,
        box=cast(tuple[float, float, float, float], box) if None not in box else None,
        width=width,
        height=height,
        status=cast(Status, status),
        said_by=cast(LabelSource, said_by),
    )


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
