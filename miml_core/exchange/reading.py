"""Read labels from files of any known format, recognised by their content."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS
from miml_core.exchange.base import stored_files
from miml_core.exchange.birdnet_results import BirdnetResults
from miml_core.exchange.cells import decode_text
from miml_core.exchange.column_tables import ColumnTable, header_of
from miml_core.exchange.crowsetta_files import CrowsettaFiles
from miml_core.exchange.cvat import CvatImages
from miml_core.exchange.indexed_maps import read_indexed_maps
from miml_core.exchange.kaleidoscope import Kaleidoscope
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.parquet import is_parquet, read_parquet
from miml_core.exchange.provenance import is_side_file

_HEAD_BYTES = 65536
_MOST_BYTES = 512 * 1024**2
LABEL_MAPS = "label-maps"
INDEXED_MAPS = "indexed-maps"

READERS: dict[str, LabelReader] = {
    reader.name: reader
    for reader in (
        *(FORMATS["csv"], FORMATS["raven"], BirdnetResults(), Kaleidoscope(), CrowsettaFiles(), FORMATS["audacity"]),
        *(FORMATS["aoef"], FORMATS["label-studio"], FORMATS["coco"], CvatImages(), ColumnTable(), FORMATS["parquet"]),
    )
}
"""Readers of single files by name, in the order in which they are asked whether they recognise a file."""
READABLE: dict[str, str] = {name: reader.title for name, reader in READERS.items()} | {
    LABEL_MAPS: "Label-map PNGs of Bagtag (folder)",
    INDEXED_MAPS: "Label-map PNGs with classes.json (folder)",
}
"""Names and titles of all formats that can be read."""


def read_labels(
    paths: Iterable[Path | str], *, format: str | None = None, columns: Mapping[str, str] | None = None
) -> LabelTable:
    """Read files, folders and zip archives of labels; every file in the format that its content shows.

    Parameters
    ----------
    paths : iterable of path
    format : str, optional
        A name of `READABLE` for all files, in place of recognising it.
    columns : mapping, optional
        Columns of tables, as in `column_tables.ColumnTable`; the files are then read as such tables.

    Returns
    -------
    LabelTable
        With `problems` for files and lines that cannot be read; an error of one file does not stop the others.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dawn.txt"
    ...     _ = path.write_text("1.5\\t2.0\\tWren\\n")
    ...     table = read_labels([path])
    >>> [(row.file, row.start_s, row.label) for row in table.rows], table.files
    ([('dawn', 1.5, 'Wren')], {'dawn.txt': 'audacity'})
    """
    if format is not None and format not in READABLE:
        raise BagtagError(f"There is no format called {format!r}; there are {', '.join(READABLE)}.")
    chosen = ColumnTable(columns) if columns else None
    table = LabelTable()
    for path in map(Path, paths):
        _read_path(path, format, chosen, table)
    return table


def recognise(name: str, content: bytes) -> LabelReader:
    """Return the reader of a file by its name and content.

    >>> recognise("a.csv", b"Start (s),End (s),Scientific name,Common name,Confidence").name
    'birdnet'
    """
    if is_parquet(content):
        return FORMATS["parquet"]
    head = decode_text(content[:_HEAD_BYTES], name)
    for reader in READERS.values():
        if reader.recognises(name, head):
            return reader
    header = [heading for heading in header_of(head) if heading]
    if {"Selection", "View"} <= set(header):
        raise BagtagError(
            f"{name!r} looks like a selection table of Raven, but has no columns 'Begin Time (s)' and 'End Time (s)'; "
            "show them in Raven's table and save it again."
        )
    shown = f" Its first line has {', '.join(map(repr, header[:12]))}." if 1 < len(header) < 200 else ""
    raise BagtagError(
        f"The format of {name!r} is not recognised; choose it by hand, or choose the columns if it is a table.{shown}"
    )


def _read_path(path: Path, format: str | None, chosen: LabelReader | None, table: LabelTable) -> None:
    try:
        if format == LABEL_MAPS or (format is None and _holds(path, _are_own_maps)):
            rows = FORMATS[LABEL_MAPS].read(path)
            table.rows += rows
            table.places += [f"{str(path.name)!r}, {row.file!r}" for row in rows]
            table.files[path.name] = LABEL_MAPS
        elif format == INDEXED_MAPS or (format is None and _holds(path, _are_maps)):
            read_indexed_maps(stored_files(path, (".png", ".json")), table)
            table.files[path.name] = INDEXED_MAPS
        else:
            _read_files(path, chosen or (None if format is None else READERS[format]), table)
    except OSError as error:
        raise BagtagError(
            f"{str(path)!r} could not be read: {error.strerror or error}. Check the path and its permissions."
        ) from error
    except zipfile.BadZipFile as error:
        raise BagtagError(f"{str(path)!r} is a damaged zip archive: {error}. Copy it again.") from error


def _read_files(path: Path, chosen: LabelReader | None, table: LabelTable) -> None:
    endings = tuple({ending.lower() for reader in READERS.values() for ending in reader.extensions})
    found = False
    for name, content in stored_files(path, endings):
        found = True
        try:
            if len(content) > _MOST_BYTES:
                raise BagtagError(f"{name!r} is larger than 512 MB; split it.")
            if isinstance(chosen, ColumnTable) and is_parquet(content):
                read_parquet(name, content, table, chosen)
                table.files[name] = FORMATS["parquet"].name
                continue
            reader = chosen or recognise(name, content)
            reader.read_file(name, content, table)
            table.files[name] = reader.name
        except BagtagError as error:
            table.fail(repr(name), error)
    if not found:
        raise BagtagError(f"There are no label files in {str(path)!r}; choose the files that the other program wrote.")


def _holds(path: Path, are_meant: Callable[[Sequence[str]], bool]) -> bool:
    if path.is_dir():
        return are_meant([file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()])
    if path.suffix.lower() == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            return are_meant(archive.namelist())
    return False


def _are_own_maps(names: Sequence[str]) -> bool:
    return "classes.json" in names and any(name.startswith("segments/") for name in names)


def _are_maps(names: Sequence[str]) -> bool:
    return any(name.lower().endswith(".png") for name in names) and all(
        PurePosixPath(name).name == "classes.json"
        or is_side_file(name)
        or not name.lower().endswith((".txt", ".csv", ".json", ".xml"))
        for name in names
    )
