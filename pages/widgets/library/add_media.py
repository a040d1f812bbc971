"""The dialog that adds recordings or pictures, from a folder or dropped, and the files it adds."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any, Protocol

import streamlit as st

from miml_core import BagtagError
from miml_core.atomic_files import atomic_writer
from miml_core.media.audio import SOUND_SUFFIXES
from miml_core.media.image import PICTURE_SUFFIXES
from miml_core.project import Project
from miml_core.project.db.own_folders import is_real_file, own_folder
from pages.widgets.app.dialogs import close_dialog
from pages.widgets.errors import action_button, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.reachable import NotReachable, call_with_timeout
from pages.widgets.text import count

_FOLDER = "A folder"
NOUNS = {"sound": ("sound file", "recordings"), "picture": ("picture", "pictures")}
_SECONDS_TO_LOOK = 0.5
_FORBIDDEN = set('<>:"/\\|?*')


@st.dialog("Add files", width="medium", on_dismiss=close_dialog)
def add_media_dialog(project: Project) -> None:
    """Add files from a folder (they stay where they are) or dropped ones (copied into the project)."""
    way = st.segmented_control(
        "From",
        [_FOLDER, "Drop files"],
        default=_FOLDER,
        required=True,
        key="add.way",
        label_visibility="collapsed",
    )
    with show_errors():
        found = _folder(project) if way == _FOLDER else bool(_drop(project))
        bag_length_field(project.kind, key="add")
        st.toggle("Detect segments after adding", value=True, key="add.segment")
        action_button(
            "Add",
            _add,
            project,
            key="add.start",
            type="primary",
            icon=":material/add:",
            disabled=not found,
        )


def _add(project: Project) -> None:
    """Add what the dialog holds now: folders stay where they are, dropped files are copied into the project."""
    if st.session_state["add.way"] == _FOLDER:
        paths = [chosen_folder("add.folder", project.folder)]
    else:
        paths = copy_dropped_files(st.session_state["add.drop"], project.folder)
    start_import(project, paths, entered_bag_length("add"), segment=st.session_state["add.segment"])
    close_dialog()
    st.rerun()  # without the dialog


def bag_length_field(kind: str, *, key: str) -> None:
    """Ask how long the pieces are that recordings are cut into; pictures are not cut."""
    if kind == "sound":
        st.number_input(
            "Bag length (seconds)",
            min_value=0.5,
            max_value=86400.0,
            value=10.0,
            step=1.0,
            format="%g",
            placeholder="whole files",
            key=f"{key}.seconds",
            help="A bag is what gets one set of tags. Ten seconds suit birds: short enough to hear all of it, long "
            "enough that tagging goes fast. Longer recordings are cut; leave it empty to keep files whole.",
        )


def entered_bag_length(key: str) -> dict[str, Any]:
    """Return what `bag_length_field` holds, as parameters of the import."""
    seconds = st.session_state.get(f"{key}.seconds")
    return {} if seconds is None else {"bag_length": float(seconds)}


def start_import(project: Project, paths: list[Path], cutting: dict[str, Any], *, segment: bool) -> None:
    """Queue the import, and the detection of segments after it."""
    project.jobs.start("import", {"paths": [str(path) for path in paths], "recursive": True, **cutting})
    if segment:
        project.jobs.start("segment", {})


def show_media_count(folder: Path, kind: str) -> int:
    """Show how many files of a kind are in a folder; return the number."""
    counts, complete = count_media(folder)
    noun, _ = NOUNS[kind]
    found = counts[kind]
    if found:
        st.caption(f"{'At least ' if not complete else ''}{count(found, noun)} in this folder and those below.")
    elif complete:
        st.caption(f":orange[There is no {noun} in this folder or below it.]")
    else:
        st.caption("This is a large folder; its files are counted while they are added.")
    return found if complete else max(found, 1)


def _folder(project: Project) -> bool:
    folder = folder_chooser("Folder", key="add.folder", project_folder=project.folder)
    return folder is not None and show_media_count(folder, project.kind) > 0


def _drop(project: Project) -> list[Any]:
    _, nouns = NOUNS[project.kind]
    return st.file_uploader(
        f"Drop {nouns} here",
        type=[suffix.lstrip(".") for suffix in suffixes(project.kind)],
        accept_multiple_files=True,
        key="add.drop",
        help="They are copied into the project's folder.",
    )


class Dropped(Protocol):
    """A file as the browser sent it."""

    name: str

    def getbuffer(self) -> memoryview: ...


def suffixes(kind: str) -> tuple[str, ...]:
    """Return how names of files of this kind end."""
    return SOUND_SUFFIXES if kind == "sound" else PICTURE_SUFFIXES


def count_media(folder: Path) -> tuple[dict[str, int], bool]:
    """Return how many sound and picture files are below a folder, and whether all were counted in time."""
    counts = {"sound": 0, "picture": 0}
    try:
        return call_with_timeout(folder, lambda: _count_media(folder, counts), below=True)
    except NotReachable:  # a folder below it does not respond
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


def copy_dropped_files(files: Sequence[Dropped], project: Path) -> list[Path]:
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
        try:
            with atomic_writer(target) as out:
                _copy(content, out)
        except OSError as error:
            raise BagtagError(
                f"{name!r} could not be copied into the project: {error.strerror or error}. "
                "Check its disk, and drop the file again."
            ) from error
    return target


def safe_name(name: str) -> str:
    """Return the last part of a name, without what file systems refuse; any language is fine."""
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
