"""Species lists: tables of classes with scientific names, colours, shortcuts and notes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path

from miml_core.atomic_files import write_file
from miml_core.errors import BagtagError
from miml_core.exchange.cells import neutralise
from miml_core.exchange.tables import read_table, table_bytes

_COLUMNS = {
    "name": ("name", "class", "species", "label", "tag", "common name", "english name"),
    "scientific_name": ("scientific name", "latin name", "latin"),
    "colour": ("colour", "color"),
    "shortcut": ("shortcut", "key"),
    "note": ("note", "notes", "comment"),
}
_COLOUR = re.compile("#[0-9a-fA-F]{6}")


@dataclass(frozen=True)
class SpeciesRow:
    """One class of a species list."""

    name: str
    scientific_name: str = ""
    colour: str = ""
    """``#rrggbb``, or empty for a default colour."""
    shortcut: str = ""
    """One character, or empty."""
    note: str = ""


def read_species(path: Path | str) -> list[SpeciesRow]:
    """Read a species list; columns that `SpeciesRow` has no field for are ignored.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_species([SpeciesRow("Wren", "Troglodytes troglodytes")], f"{folder}/species.csv")
    ...     [row.name for row in read_species(path)]
    ['Wren']
    """
    _, lines = read_table(Path(path), _COLUMNS, needed="name")
    rows: dict[str, SpeciesRow] = {}
    for where, cells in lines:
        row = SpeciesRow(**{name: cells.get(name, "").strip() for name in _COLUMNS})
        if not row.name:
            raise BagtagError(f"{where} has no name.")
        if row.name in rows:
            raise BagtagError(f"{where}: {row.name!r} is in the list twice.")
        if row.colour and not _COLOUR.fullmatch(row.colour):
            raise BagtagError(f"{where}: the colour {row.colour!r} must have the form #3366cc.")
        if len(row.shortcut) > 1:
            raise BagtagError(f"{where}: the shortcut {row.shortcut!r} must be one key.")
        if row.shortcut and any(other.shortcut.lower() == row.shortcut.lower() for other in rows.values()):
            raise BagtagError(f"{where}: the shortcut {row.shortcut!r} is used twice.")
        rows[row.name] = row
    return list(rows.values())


def write_species(rows: Iterable[SpeciesRow], target: Path | str) -> Path:
    """Write a species list, of which `read_species` returns the same rows."""
    cells = ([neutralise(cell) for cell in astuple(row)] for row in rows)
    return write_file(Path(target), table_bytes(_COLUMNS, cells))
