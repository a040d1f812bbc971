"""Parquet: one typed table of all segments, for pandas, Polars, DuckDB and R."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any, cast

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.column_tables import ColumnTable, recognise_columns
from miml_core.exchange.labels import LabelTable, readable_as
from miml_core.exchange.optional_packages import import_optional
from miml_core.exchange.rows import SegmentRow

_BOX = ("left_px", "top_px", "right_px", "bottom_px")
_TEXTS = (
    *("file", "kind", "bag", "label", "scientific_name", "status", "said_by", "who", "checked_by", "run"),
    *("recorded_at", "other_tags"),
)
_NUMBERS = ("start_s", "end_s", "low_hz", "high_hz", "probability", "duration_s")
_WHOLE = ("segment", "width", "height", "rate", "channels")
_MAGIC = b"PAR1"
_MOST_ROWS = 10_000_000
_MOST_BYTES = 2 * 1024**3
_AT_ONCE = 4096


class ParquetTable(Format):
    """Numbers as they are, without rounding; an empty cell is null. Others' columns are known by name."""

    name = "parquet"
    title = "Parquet table"
    kinds = ("sound", "picture")
    extensions = (".parquet",)
    many_files = False
    keeps = "Everything but outlines."

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        pyarrow = import_optional("pyarrow", "Parquet tables")
        parquet = import_optional("pyarrow.parquet", "Parquet tables")
        columns: dict[str, Any] = {
            name: pyarrow.array([_text(getattr(row, name)) for row in rows], pyarrow.string()) for name in _TEXTS
        }
        for names, kind in ((_NUMBERS, pyarrow.float64()), (_WHOLE, pyarrow.int64())):
            columns |= {name: pyarrow.array([getattr(row, name) for row in rows], kind) for name in names}
        for place, name in enumerate(_BOX):
            edges = [None if row.box is None else float(row.box[place]) for row in rows]
            columns[name] = pyarrow.array(edges, pyarrow.float64())
        content = io.BytesIO()
        parquet.write_table(pyarrow.table(columns), content)
        yield "segments.parquet", content.getvalue()

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        read_parquet(name, content, table)


def read_parquet(name: str, content: bytes, table: LabelTable, chosen: ColumnTable | None = None) -> None:
    """Add the rows of a Parquet file to `table`: of our own, or of any columns, which `chosen` may name."""
    rows = _read_rows(name, content)
    if not rows:
        return
    header = list(rows[0])
    is_ours = chosen is None and "status" in header
    reader = chosen or ColumnTable()
    reader.check(name, header)
    columns = {field: heading for field, heading in (recognise_columns(header) | reader.columns).items() if heading}
    if not is_ours and "label" not in columns:
        raise BagtagError(
            f"{name!r} has no column of labels; choose it by hand (--column label=HEADING). Its columns are "
            f"{', '.join(map(repr, header[:20]))}."
        )
    for number, cells in enumerate(rows, start=1):
        where = f"{name!r}, row {number}"
        if is_ours:
            table.add(where, _row, cells, where)
        else:
            texts = {field: _cell(cells[heading]) for field, heading in columns.items()}
            table.add(where, reader.row, name, where, texts)


def _read_rows(name: str, content: bytes) -> list[dict[str, Any]]:
    """Return the rows; a small file may state any number of them, so that they are counted while they are read."""
    pyarrow = import_optional("pyarrow", "Parquet tables")
    parquet = import_optional("pyarrow.parquet", "Parquet tables")
    rows: list[dict[str, Any]] = []
    n_bytes = 0
    try:
        texts = [field.name for field in parquet.read_schema(io.BytesIO(content)) if field.type in _text_types(pyarrow)]
        with parquet.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
            n_rows = file.metadata.num_rows
            for batch in file.iter_batches(_AT_ONCE) if n_rows <= _MOST_ROWS else ():
                n_bytes += batch.nbytes
                if n_bytes > _MOST_BYTES:
                    break
                columns = [_values(pyarrow, column) for column in batch.columns]
                rows += [dict(zip(batch.schema.names, cells)) for cells in zip(*columns)]
    except (OSError, ValueError, OverflowError, pyarrow.ArrowException) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise BagtagError(f"{name!r} cannot be read as Parquet: {reason}.") from error
    if n_rows > _MOST_ROWS or n_bytes > _MOST_BYTES:
        raise BagtagError(f"{name!r} has more than {_MOST_ROWS:,} rows or 2 GB of values; split it.")
    return rows


def _text_types(pyarrow: Any) -> tuple[Any, ...]:
    return pyarrow.string(), pyarrow.large_string(), pyarrow.binary(), pyarrow.large_binary()


def _values(pyarrow: Any, column: Any) -> list[Any]:
    """Return the values of a column; a text that is stored once for many rows is one text in memory, too."""
    if not pyarrow.types.is_dictionary(column.type):
        return list(column.to_pylist())
    known = column.dictionary.to_pylist()
    return [None if place is None else known[place] for place in column.indices.to_pylist()]


def is_parquet(content: bytes) -> bool:
    """Return whether a file is Parquet, by its first bytes."""
    return content.startswith(_MAGIC)


def parquet_header(content: bytes) -> list[str]:
    """Return the names of the columns of a Parquet file; none if it cannot be read."""
    pyarrow = import_optional("pyarrow", "Parquet tables")
    parquet = import_optional("pyarrow.parquet", "Parquet tables")
    try:
        return list(parquet.read_schema(io.BytesIO(content)).names)
    except (OSError, ValueError, pyarrow.ArrowException):
        return []


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _text(value: str) -> str:
    return value.encode("utf-8", errors="replace").decode()


def _row(cells: dict[str, Any], where: str) -> SegmentRow:
    with readable_as("a row of a table of segments", where, quote=False):
        box = tuple(cells.get(name) for name in _BOX)
        given: dict[str, Any] = {name: cells.get(name) for name in (*_NUMBERS, *_WHOLE)}
        texts: dict[str, Any] = {name: cells[name] for name in _TEXTS if cells.get(name) is not None}
        return SegmentRow(**texts, **given, box=None if None in box else cast(Any, box))
