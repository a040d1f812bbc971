"""Read and write small tables of spreadsheets: named columns, and any of the usual separators."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.exchange.cells import decode_text, restore

Lines = Iterator[tuple[str, dict[str, str]]]


def table_bytes(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> bytes:
    """Return a comma-separated table by RFC 4180, in UTF-8.

    Excel needs a byte order mark to read anything but ASCII, and R's `read.csv` misreads it, so that it is written only
    if needed.
    """
    table = io.StringIO(newline="")
    csv.writer(table).writerows([columns, *lines])
    text = table.getvalue()
    mark = "" if text.isascii() else "\ufeff"
    return (mark + text).encode("utf-8", errors="surrogateescape")


def read_table(path: Path, known: Mapping[str, tuple[str, ...]], needed: str) -> tuple[list[str], Lines]:
    """Return the columns of a table, and its lines as (where, cells).

    Parameters
    ----------
    path : Path
    known : mapping
        Column names with the headings that they may have; other headings are not changed.
    needed : str
        A column without which the file is refused.
    """
    try:
        text = decode_text(path.read_bytes(), str(path))
    except OSError as error:
        raise BagtagError(
            f"{str(path)!r} could not be read: {error.strerror or error}. Check the path and its permissions."
        ) from error
    heading = text.split("\n", 1)[0]
    separator = max(",;\t", key=heading.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    columns = [_our_name(restore(cell.strip()), known) for cell in next(reader, [])]
    if needed not in columns:
        raise BagtagError(f"{str(path)!r} has no column {needed!r} in its first line.")
    twice = next((column for column in columns if column and columns.count(column) > 1), None)
    if twice:
        raise BagtagError(f"{str(path)!r} has two columns {twice!r}.")
    return columns, _lines(reader, columns, path)


def _our_name(heading: str, known: Mapping[str, tuple[str, ...]]) -> str:
    plain = heading.casefold().replace("_", " ")
    return next((name for name, headings in known.items() if plain in headings), heading)


def _lines(reader: Iterator[list[str]], columns: list[str], path: Path) -> Lines:
    line_number = 1
    try:
        for cells in reader:
            line_number = reader.line_num  # type: ignore[attr-defined]
            if not any(cell.strip() for cell in cells):
                continue
            where = f"{str(path)!r}, line {line_number}"
            if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
                raise BagtagError(f"{where} has {len(cells)} cells, but the first line names {len(columns)} columns.")
            padded = cells + [""] * (len(columns) - len(cells))
            yield where, {column: restore(cell) for column, cell in zip(columns, padded) if column}
    except csv.Error as error:
        raise BagtagError(f"{str(path)!r}, after line {line_number}: {error}.") from error
