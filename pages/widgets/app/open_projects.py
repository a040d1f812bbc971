"""The projects this server has open, by names that are no paths.

Routes and page addresses name a project by its key; only folders that a person opened here have one.
"""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

from miml_core.project import Project
from miml_core.project.jobs import repredict

_projects: dict[str, Project] = {}
_opening: dict[str, threading.Lock] = {}
_lock = threading.Lock()


def key_of(folder: Path) -> str:
    """Return a short name of a project folder, the same after a restart."""
    return hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]


def open_once(folder: Path, *, again: bool = False) -> Project:
    """Return the project in a folder, opened at its first use and shared from then on.

    With `again`, for a person who opens it, a project whose files were replaced or moved since is opened as it is now.
    Until then its reads and writes raise what happened; a page never goes on with another project by itself. One that
    takes long to open (a slow disk, a dead mount) keeps nobody from opening another.
    """
    key = key_of(folder)
    with _lock:
        opening = _opening.setdefault(key, threading.Lock())
    with opening:
        known = _projects.get(key)
        if known is not None and again and not known.store.is_in_place():
            known.close()
            known = None
        if known is None:
            known = Project.open(folder)
            known.store.predicts_in_background = True
            repredict.note_revision(known.store, known.revision)
            _projects[key] = known
        return known


def project_by_key(key: str) -> Project | None:
    """Return an open project; None when nobody opened one of that key here."""
    return _projects.get(key)
