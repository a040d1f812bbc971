"""Finished exports of a project; only files that this installation recorded as written, whatever the database has."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from miml_core import installation
from miml_core.exchange import FORMATS
from miml_core.exchange.provenance import is_side_file
from miml_core.project.db.schema import jobs as table
from miml_core.project.db.store import Store

_MOST_KNOWN = 50
_PACKED = "Packed project"
_known: dict[tuple[Path, int, float], ExportMade | None] = {}
"""Cached results: a page asks in every run, and a large export has thousands of files."""


@dataclass(frozen=True)
class ExportMade:
    """A finished export."""

    job_id: int
    title: str
    """The title of its format."""
    target: Path
    """The file or the folder that was chosen."""
    finished_at: float
    files: tuple[str, ...]
    """The files, if this installation wrote them for this project at this path; else none."""
    place: Path
    """The one file besides the side file, or the folder of the files."""
    size: int
    """Bytes of all files together when they were written."""
    missing: int
    """Bags whose segments were not detected, or detected with earlier settings."""

    def is_there(self) -> bool:
        """Return whether its file, or the folder of its files, still exists; nothing else is checked."""
        try:
            return bool(self.files) and self.place.exists()
        except OSError:
            return False

    @property
    def file_name(self) -> str:
        """The name of the download."""
        return self.place.name if len(_exported(self.files)) == 1 else f"{self.target.name}.zip"

    @property
    def side_file(self) -> Path | None:
        """The file with the provenance of a single file; that of a folder is downloaded with it."""
        about = [file for file in self.files if is_side_file(file)]
        return Path(about[0]) if about and len(_exported(self.files)) == 1 else None

    def side_content(self) -> bytes:
        """Return the content of the side file."""
        return b"" if self.side_file is None else _read(self.side_file) or b""

    def content(self) -> bytes:
        """Return the content of the download: the one file, or a zip archive of those that still exist."""
        if len(_exported(self.files)) == 1:
            return _read(self.place) or b""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in map(Path, self.files):
                content = _read(file)
                if content is not None:
                    name = file.relative_to(self.place).as_posix() if file.is_relative_to(self.place) else file.name
                    about = zipfile.ZipInfo(name)  # without the present time: the same files give the same archive
                    archive.writestr(about, content, zipfile.ZIP_DEFLATED)
        return stream.getvalue()


def latest(store: Store, limit: int) -> list[ExportMade]:
    """Return the latest exports first; rows that this Bagtag could not have stored are left out."""
    query = select(table.c.id, table.c.finished_at).where(table.c.kind.in_(["export", "pack"]), table.c.state == "done")
    with store.read() as connection:
        rows = connection.execute(query.order_by(table.c.id.desc()).limit(limit)).all()
        made = [_made(connection, store.folder, row.id, row.finished_at) for row in rows]
    return [one for one in made if one is not None]


def _made(connection: Connection, folder: Path, job_id: int, finished_at: float) -> ExportMade | None:
    key = (folder, job_id, finished_at)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        row = connection.execute(select(table.c.kind, table.c.params, table.c.result).where(table.c.id == job_id)).one()
        _known[key] = _parse(folder, job_id, finished_at, *row)
    return _known[key]


def _parse(
    folder: Path, job_id: int, finished_at: float, kind: str, params_text: str, result_text: str
) -> ExportMade | None:
    try:
        params, result = json.loads(params_text), json.loads(result_text)
        title = _PACKED if kind == "pack" else FORMATS[params["format"]].title
        target = Path(params["path"])
        missing = int(result.get("missing", 0))
        listed = [os.fsdecode(os.fsencode(file)) for file in result["files"]]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    sizes = installation.recorded_sizes(folder, listed)
    files = tuple(file for file in dict.fromkeys(listed) if file in sizes)
    exported = _exported(files)
    place = Path(os.path.commonpath(exported)) if exported else target
    return ExportMade(job_id, title, target, finished_at, files, place, sum(sizes.values()), missing)


def _exported(files: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(file for file in files if not is_side_file(file))


def _read(file: Path) -> bytes | None:
    """Return the content of a file; None for one that is missing or was replaced by a link."""
    try:
        return file.read_bytes() if stat.S_ISREG(file.lstat().st_mode) else None
    except OSError:
        return None
