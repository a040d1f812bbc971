"""The projects this server has open, by names that are no paths.

Routes and page addresses speak of a project by its key; only folders that a person opened here have one.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

from miml_core.project import Project

_projects: dict[str, Project] = {}
_lock = threading.Lock()


def key_of(folder: Path) -> str:
    """A short name of a project folder, the same after a restart."""
    return hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]


def open_once(folder: Path) -> Project:
    """The project in a folder, opened at its first use and shared from then on."""
    key = key_of(folder)
    with _lock:
        if key not in _projects:
            _projects[key] = Project.open(folder)
        return _projects[key]


def project_by_key(key: str) -> Project | None:
    """An open project; None when nobody opened one of that key here."""
    return _projects.get(key)
