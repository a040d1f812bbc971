"""Files to be added to a project: what a folder holds, and files dropped onto the page."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Protocol

from miml_core import BagtagError
from miml_core.media.audio import SOUND_SUFFIXES
from miml_core.media.image import PICTURE_SUFFIXES
from miml_core.project.own_folders import is_real_file, open_new_file, own_folder
from pages.widgets.reachable import NotReachable, look_in_time

_SECONDS_TO_LOOK = 0.5
_FORBIDDEN = set('<>:"/\\|?*')


class Dropped(Protocol):
    """A file as the browser sent it."""

    name: str

    def getbuffer(self) -> memoryview: ...


def suffixes(kind: str) -> tuple[str, ...]:
    """How names of files of this kind end."""
    return SOUND_SUFFIXES if kind == "sound" else PICTURE_SUFFIXES


def count_media(folder: Path) -> tuple[dict[str, int], bool]:
    """How many sound and picture files lie below a folder, and whether all of it was looked at in the time there is."""
    counts = {"sound": 0, "picture": 0}
    try:
        return look_in_time(folder, lambda: _count_media(folder, counts))
    except NotReachable:  # a folder below it does not answer
        return dict(counts), False


def _count_media(folder: Path, counts: dict[str, int]) -> tuple[dict[str, int], bool]:
    until = time.monotonic() + _SECONDS_TO_LOOK
    for _, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            lower = name.lower()
            counts["sound"] += lower.endswith(SOUND_SUFFIXES)
            counts["picture"] += lower.endswith(PICTURE_SUFFIXES)
        if time.monotonic() > until:
            return counts, False
    return counts, True


def keep_dropped(files: Sequence[Dropped], project: Path) -> list[Path]:
    """Copy dropped files into the folder `media` of a project; a name that is taken by another file gets a number."""
    folder = own_folder(project, "media")
    return [_keep(file, folder) for file in files]


def _keep(file: Dropped, folder: Path) -> Path:
    content = file.getbuffer()
    name = safe_name(file.name)
    target = folder / name
    number = 1
    while os.path.lexists(target) and not _same(target, content):
        number += 1
        target = folder / f"{Path(name).stem} ({number}){Path(name).suffix}"
    if not os.path.lexists(target):
        part = target.with_name(f".{target.name}.part")
        try:
            with open_new_file(part) as out:
                _copy(content, out)
            part.replace(target)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise BagtagError(f"{name!r} could not be copied into the project: {error.strerror or error}.") from error
    return target


def safe_name(name: str) -> str:
    """The last part of a name, without what file systems refuse; any language is fine."""
    last = PureWindowsPath(PurePosixPath(name).name).name
    kept = "".join("-" if letter in _FORBIDDEN or ord(letter) < 32 else letter for letter in last).strip(" .")
    if not kept:
        raise BagtagError(f"A dropped file has no usable name ({name!r}); rename it and drop it again.")
    return kept[-150:]


def _same(path: Path, content: memoryview) -> bool:
    return is_real_file(path) and path.stat().st_size == len(content) and path.read_bytes() == content


def _copy(content: memoryview, out: IO[bytes]) -> None:
    from io import BytesIO

    shutil.copyfileobj(BytesIO(content), out)
