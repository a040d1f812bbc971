"""The exports a project made: only files that this installation recorded as written, whatever the database says."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from miml_core import installation
from miml_core.exchange import FORMATS
from miml_core.project.schema import jobs as table
from miml_core.project.store import Store


@dataclass(frozen=True)
class ExportMade:
    """A finished export."""

    job_id: int
    title: str
    """Of its format."""
    target: Path
    """The file or the folder that was asked for."""
    finished_at: float
    files: tuple[Path, ...]
    """Those that this installation wrote, for this project at this place; none when another one did."""
    size: int
    """Of all files together when they were written, in bytes."""

    def is_there(self) -> bool:
        """Return whether its file, or the folder of its files, is still there; looks at nothing else."""
        if not self.files:
            return False
        try:
            return (self.files[0] if len(self.files) == 1 else self._folder).exists()
        except OSError:
            return False

    @property
    def file_name(self) -> str:
        """The name of the download."""
        return self.files[0].name if len(self.files) == 1 else f"{self.target.name}.zip"

    def content(self) -> bytes:
        """Return the content of the download: the one file, or a zip archive of those that are still there."""
        if len(self.files) == 1:
            return _read(self.files[0]) or b""
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in self.files:
                content = _read(file)
                if content is not None:
                    archive.writestr(file.relative_to(self._folder).as_posix(), content)
        return stream.getvalue()

    @property
    def _folder(self) -> Path:
        return Path(os.path.commonpath([file.parent for file in self.files]))


def latest(store: Store, limit: int) -> list[ExportMade]:
    """Return the latest exports first; rows of the database that no export of ours could have stored are left out."""
    query = select(table).where(table.c.kind == "export", table.c.state == "done").order_by(table.c.id.desc())
    with store.read() as connection:
        rows = connection.execute(query.limit(limit)).all()
    made = []
    for row in rows:
        try:
            params, result = json.loads(row.params), json.loads(row.result)
            title, target = FORMATS[params["format"]].title, Path(params["path"])
            listed = [Path(file) for file in result["files"]]
        except (ValueError, TypeError, KeyError):
            continue
        sizes = installation.recorded_sizes(store.folder, listed)
        files = tuple(dict.fromkeys(file for file in listed if file in sizes))
        made.append(ExportMade(row.id, title, target, row.finished_at, files, sum(sizes.values())))
    return made


def _read(file: Path) -> bytes | None:
    """The content of a file, but nothing through a link that stands in its place now."""
    try:
        return file.read_bytes() if stat.S_ISREG(file.lstat().st_mode) else None
    except OSError:
        return None
