"""Detect and describe the segments of one bag, without storing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row

from miml_core.project.db import settings
from miml_core.project.instances.timelines import TimelineCaches, caches_of
from miml_core.project.media import files as media_files

if TYPE_CHECKING:
    from miml_core.instances import Instances, InstanceSettings


def detect_instances(connection: Connection, folder: Path, bag: Row[Any], used: InstanceSettings) -> Instances:
    """Return the segments of a bag and their features."""
    file = media_files.file_of_bag(connection, folder, bag.id)
    caches = caches_of(folder, file, used)
    return detect_in_file(file.path, bag.start, bag.end, settings.kind(connection), used.within(folder), caches)


def detect_in_file(
    path: Path, start: float, end: float, kind: str, used: InstanceSettings, caches: TimelineCaches | None = None
) -> Instances:
    """Return the segments of a window of a sound file, or of a picture, and their features."""
    from miml_core import instances

    if kind == "picture":
        return instances.picture_instances(path, used)
    return instances.sound_instances(path, start, end, used, caches)
