"""The archives of a project, whose disks may not respond."""

from __future__ import annotations

from pathlib import Path

from miml_core.project import Project
from miml_core.project.jobs.archive_targets import known_archives
from pages.widgets.folders.reachable import look_in_time


def archives_of(project: Project) -> list[Path]:
    """Return the archives that the user chose for the project; raises `NotReachable` if a disk does not respond."""
    return look_in_time(project.folder / "archives", lambda: known_archives(project.folder))
