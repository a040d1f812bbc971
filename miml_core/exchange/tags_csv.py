"""Tables of tags: file, window and tags of each bag.

There are two layouts. In the first, a column `tags` lists the present classes, separated by semicolons. In the second,
every class has a column: 1 or yes for present, 0 or no for absent, an empty cell or ? for not known.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from miml_core.atomic_files import write_file
from miml_core.errors import BagtagError
from miml_core.exchange.cells import neutralise, number_text, parse_number
from miml_core.exchange.tables import read_table, table_bytes

_COLUMNS = {
    "file": ("file", "file name", "filename", "path", "recording", "picture", "image"),
    "start_s": ("start", "start s", "start (s)", "offset", "begin"),
    "end_s": ("end", "end s", "end (s)"),
    "tags": ("tags", "labels", "present", "species"),
    "absent": ("absent", "not present"),
    "finished": ("finished", "complete"),
}
_YES = ("1", "1.0", "yes", "true", "y", "x")
_NO = ("0", "0.0", "-1", "no", "false", "n")
_UNKNOWN = ("", "?", "na", "nan")
_NOTHING = ("none", "nothing", "-")


@dataclass(frozen=True)
class TagRow:
    """The tags of one bag."""

    file: str
    start_s: float | None = None
    """Start of the bag in the recording; None for the whole file."""
    end_s: float | None = None
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    """Classes that the table lists as absent."""
    finished: bool = False
    """Whether all classes that are not present are absent."""
    where: str = field(default="", compare=False)
    """File and line, for messages."""


def read_tags(path: Path | str) -> list[TagRow]:
    """Read a table of tags, in either layout.

    A line of the first layout with tags is finished unless a column `finished` has another value; an empty cell means
    that nobody has tagged the bag, the word "none" that there is nothing in it. A line of the second layout is finished
    if none of its cells is unknown.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tags.csv"
    ...     _ = path.write_text("file,tags\\ndawn.wav,Wren; Robin\\n")
    ...     [(row.file, row.present, row.finished) for row in read_tags(path)]
    [('dawn.wav', ('Wren', 'Robin'), True)]
    """
    columns, lines = read_table(Path(path), _COLUMNS, needed="file")
    classes = [column for column in columns if column and column not in _COLUMNS]
    if "tags" not in columns and not classes:
        raise BagtagError(f"{str(path)!r} has neither a column 'tags' nor columns named after classes.")
    read_line = _read_list if "tags" in columns else _read_class_columns
    return [read_line(cells, classes, where) for where, cells in lines]


def write_tags(rows: Iterable[TagRow], target: Path | str) -> Path:
    """Write a table of tags in the first layout, of which `read_tags` returns the same rows."""
    return write_file(Path(target), table_bytes(_COLUMNS, (_cells(row) for row in rows)))


def _cells(row: TagRow) -> list[str]:
    times = (number_text(row.start_s, 6), number_text(row.end_s, 6))
    lists = (neutralise(_join(names)) for names in (row.present, row.absent))
    return [neutralise(row.file), *times, *lists, "yes" if row.finished else "no"]


def _read_list(cells: dict[str, str], classes: list[str], where: str) -> TagRow:
    listed = cells["tags"].strip()
    nothing = listed.casefold() in _NOTHING
    present = () if nothing else _split(listed)
    finished = _yes_or_no(cells.get("finished", ""), f"{where}, column 'finished'")
    if finished is None:
        finished = bool(present) or nothing
    return _row(cells, where, present, _split(cells.get("absent", "")), finished)


def _read_class_columns(cells: dict[str, str], classes: list[str], where: str) -> TagRow:
    values = {name: _yes_or_no(cells[name], f"{where}, column {name!r}") for name in classes}
    present = tuple(name for name in classes if values[name] is True)
    finished = _yes_or_no(cells.get("finished", ""), f"{where}, column 'finished'")
    if finished is None:
        finished = None not in values.values()
    absent = tuple(name for name in classes if values[name] is False)
    return _row(cells, where, present, absent, finished)


def _row(
    cells: dict[str, str], where: str, present: tuple[str, ...], absent: tuple[str, ...], finished: bool
) -> TagRow:
    file = cells["file"]
    if not file.strip():
        raise BagtagError(f"{where} does not name a file.")
    both = set(present) & set(absent)
    if both:
        raise BagtagError(f"{where}: {min(both)!r} is both present and absent.")
    start, end = (parse_number(cells.get(column), where) for column in ("start_s", "end_s"))
    if start is not None and (start < 0 or (end is not None and end <= start)):
        raise BagtagError(f"{where}: the bag from {start} s to {end} s does not exist.")
    return TagRow(file, start, end, present, absent, finished, where)


def _yes_or_no(cell: str, where: str) -> bool | None:
    plain = cell.strip().casefold()
    if plain in _UNKNOWN:
        return None
    if plain not in _YES + _NO:
        raise BagtagError(f"{where}: {cell!r} is neither 1 (present) nor 0 (absent).")
    return plain in _YES


def _split(cell: str) -> tuple[str, ...]:
    """Return the names between semicolons or on separate lines; a name with a semicolon is quoted."""
    names = [name.strip() for name in next(csv.reader([";".join(cell.splitlines())], delimiter=";"), [])]
    return tuple(dict.fromkeys(name for name in names if name))


def _join(names: Iterable[str]) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=";", lineterminator="").writerow(names)
    return line.getvalue() + (";" if line.getvalue().casefold() in _NOTHING else "")
