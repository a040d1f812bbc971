"""Projects this computer knows: those opened before, and those in Bagtag's own folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

from miml_core.project import Project
from pages.widgets.places import home_folder

_MOST = 12


def remember(folder: Path) -> None:
    """Put a project at the head of the list; a list that cannot be kept is no reason to stop."""
    folder = folder.resolve()
    paths = [str(folder), *(path for path in _remembered() if path != str(folder))][:_MOST]
    file = _file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(paths, ensure_ascii=False, indent=1), encoding="utf-8")
        part.replace(file)
    except OSError:
        return


def known_projects() -> list[Path]:
    """The latest first; those that are gone are left out."""
    folders = [Path(path) for path in _remembered()]
    home = home_folder()
    if home.is_dir():
        folders += sorted(home.iterdir())
    found = dict.fromkeys(folder.resolve() for folder in folders if Project.is_project(folder))
    return list(found)[:_MOST]


def _remembered() -> list[str]:
    try:
        paths = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


def _file() -> Path:
    return home_folder() / "recent.json"
