"""Projects this computer knows: those opened before, and those in Bagtag's own folder."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from miml_core.atomic_files import atomic_writer
from miml_core.demo.unfinished import is_unfinished
from pages.widgets.folders.paths import home_folder
from pages.widgets.folders.reachable import NotReachable, call_all_with_timeout, call_with_timeout

_MOST = 12
_MOST_LISTED = 200
"""How many folders of Bagtag's own folder are looked at."""
_LONGEST_PATH = 4096
_NO_SUCH_PLACE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP)


@dataclass(frozen=True)
class KnownProject:
    """A project that was opened before, or lies in Bagtag's own folder."""

    folder: Path
    """Links resolved, if it is reachable."""
    is_reachable: bool


def remember(folder: Path) -> None:
    """Put a project at the head of the list; a list that cannot be kept is no reason to stop."""
    folder = folder.resolve()
    paths = [str(folder), *(path for path in _remembered() if path != str(folder))][:_MOST]
    file = _file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_writer(file) as out:
            out.write(json.dumps(paths, indent=1).encode())
    except OSError:
        return


def known_projects() -> list[Path]:
    """Return the folders of the known projects that can be opened now, the latest first."""
    return [known.folder for known in list_known() if known.is_reachable]


def list_known() -> list[KnownProject]:
    """Return the known projects, the latest first: those that are gone are left out, those that do not respond are not.

    Of Bagtag's own folder only what is surely a project is listed.
    """
    home = home_folder()
    try:
        remembered, listed = call_with_timeout(home, lambda: (_remembered(), _list_folder(home)))
    except Exception:
        return []
    candidates = dict.fromkeys([*map(Path, remembered), *listed])
    results = call_all_with_timeout({folder: partial(_resolve_project, folder) for folder in candidates})
    found: dict[Path, bool] = {}
    for folder, result in results.items():
        if isinstance(result, Path):
            found[result] = True
        elif isinstance(result, OSError | NotReachable) and not _is_gone(result) and str(folder) in remembered:
            found.setdefault(folder, False)
    return [KnownProject(folder, is_reachable) for folder, is_reachable in found.items()][:_MOST]


def find_demos(kind: str) -> list[Path]:
    """Return the finished demos of a kind in Bagtag's own folder."""
    home = home_folder()
    try:
        listed = call_with_timeout(home, lambda: _list_folder(home))
    except Exception:
        return []
    return _projects_among(folder for folder in listed if folder.name.startswith(f"demo-{kind}"))


def _projects_among(folders: Iterable[Path]) -> list[Path]:
    results = call_all_with_timeout({folder: partial(_resolve_project, folder) for folder in folders})
    return [result for result in results.values() if isinstance(result, Path)]


def _resolve_project(folder: Path) -> Path | None:
    """Return the folder with links resolved; None when it is no project, or a demo that was not made to its end."""
    if not stat.S_ISREG((folder / "project.db").stat().st_mode) or is_unfinished(folder):
        return None
    return folder.resolve()


def _is_gone(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in _NO_SUCH_PLACE


def _list_folder(home: Path) -> list[Path]:
    try:
        names = sorted(entry.name for entry in os.scandir(home) if not entry.name.startswith("."))
    except OSError:
        return []
    return [home / name for name in names[:_MOST_LISTED]]


def _remembered() -> list[str]:
    """Return the paths of the list, without what is no path: the file may be damaged."""
    try:
        paths = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    return [path for path in paths if _is_path(path)][:_MOST] if isinstance(paths, list) else []


def _is_path(path: object) -> bool:
    return isinstance(path, str) and 0 < len(path) <= _LONGEST_PATH and "\0" not in path and Path(path).is_absolute()


def _file() -> Path:
    return home_folder() / "recent.json"
