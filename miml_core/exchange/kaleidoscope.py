"""Kaleidoscope CSV: of Kaleidoscope Pro (clusters, automatic and manual ids), and as BirdNET-Analyzer writes it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from miml_core.errors import BagtagError
from miml_core.exchange.cells import parse_number, restore
from miml_core.exchange.column_tables import header_of, table_lines
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.rows import SegmentRow

_BY_PERSON = "MANUAL ID"
_BY_PROGRAM = ("common_name", "TOP1MATCH", "AUTO ID")
_NO_LABEL = ("", "noid", "no id", "-")


class Kaleidoscope(LabelReader):
    """A manual id is a label by a person; without one, the match of the program is a prediction."""

    name = "kaleidoscope"
    title = "Kaleidoscope CSV"
    kinds = ("sound",)
    extensions = (".csv",)

    def recognises(self, name: str, head: str) -> bool:
        return {"INDIR", "IN FILE"} <= {heading.strip("* ").upper() for heading in header_of(head)}

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        lines = table_lines(name, content, table)
        header = [heading.strip("* ") for heading in next(lines, ("", []))[1]]
        if "IN FILE" not in header:
            raise BagtagError(f"{name!r} is not a table of Kaleidoscope: there is no column 'IN FILE'.")
        for where, cells in lines:
            table.add(where, _row, dict(zip(header, cells)), where)


def _row(cells: dict[str, str], where: str) -> SegmentRow:
    start, duration, score, low, high = (
        parse_number(cells.get(column), where) for column in ("OFFSET", "DURATION", "confidence", "Fmin", "Fmax")
    )
    folder = cells.get("FOLDER", "").replace("\\", "/").strip("/ ")
    file = cells["IN FILE"].strip().replace("\\", "/")
    timed = start is not None and duration is not None
    values: dict[str, Any] = {
        "file": f"{folder}/{file}" if folder else file,
        "start_s": start if timed else None,
        "end_s": start + duration if start is not None and duration is not None else None,
        # Without a time of the call, these are means of the pulses of a whole recording.
        "low_hz": low if timed and high else None,
        "high_hz": high if timed and high else None,
        "scientific_name": restore(cells.get("scientific_name", "")).strip(),
    }
    row = SegmentRow(**values)
    manual = restore(cells.get(_BY_PERSON, "")).strip()
    if manual.casefold() not in _NO_LABEL:
        return replace(row, label=manual, status="confirmed", said_by="person")
    automatic = next((restore(cells[column]).strip() for column in _BY_PROGRAM if cells.get(column)), "")
    if automatic.casefold() in _NO_LABEL:
        return row
    return replace(row, label=automatic, status="predicted", said_by="model", probability=score)
