"""The side file of an export: what was exported from which project, by which model and which people."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from miml_core.json_text import to_json

ENDING = ".provenance.json"
_IN_FOLDER = f"bagtag{ENDING}"


def side_file_of(target: Path, *, is_file: bool) -> Path:
    """Return the path of the side file: beside a file, inside a folder.

    >>> side_file_of(Path("out/calls.csv"), is_file=True).name, side_file_of(Path("out"), is_file=False).name
    ('calls.csv.provenance.json', 'bagtag.provenance.json')
    """
    return target.with_name(target.name + ENDING) if is_file else target / _IN_FOLDER


def is_side_file(name: str) -> bool:
    """Return whether a file with this name is the side file of an export, which has no labels."""
    return PurePosixPath(name).name.lower().endswith(ENDING)


def side_file_bytes(facts: dict[str, Any]) -> bytes:
    """Return the content of a side file.

    >>> side_file_bytes({"rows": 3})
    b'{\\n "rows": 3\\n}\\n'
    """
    return (to_json(facts, indent=1) + "\n").encode("utf-8", errors="replace")
