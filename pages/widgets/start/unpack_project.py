"""Unpack a packed project in the background, and open it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.project.packing.unpack import UnpackedProject, check_new_folder, unpack
from pages.widgets.app.recent_projects import remember
from pages.widgets.app.session import go_to, open_project
from pages.widgets.background_work import BackgroundWork
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import free_folder, home_folder
from pages.widgets.folders.reachable import call_with_timeout
from pages.widgets.follow import follow_work
from pages.widgets.text import count, plain, time_left

_WORK = "start.unpacking"
_FOLDER, _FILE = "start.unpack.folder", "start.unpack.file"
_MOST_FILES = 200


@dataclass
class Unpacking(BackgroundWork):
    """The progress of unpacking a project; stopped, it leaves nothing behind."""

    source: Path
    folder: Path
    made: UnpackedProject | None = None

    def run(self) -> None:
        """Unpack the project."""
        self.made = unpack(self.source, self.folder, progress=self.report)
        remember(self.folder)


def unpack_form(start: Path | None) -> None:
    """Draw the choice of a packed file, or the progress of unpacking it."""
    if _WORK in st.session_state:
        _watch_unpacking()
        return
    folder = folder_chooser("Folder of the packed file", key=_FOLDER, start=start)
    if folder is None:
        return
    names = call_with_timeout(folder, lambda: sorted(path.name for path in folder.glob("*.zip"))[:_MOST_FILES])
    placeholder = "Choose a .zip file" if names else "There is none in this folder"
    name = st.selectbox("Packed project", names, index=None, key=_FILE, placeholder=placeholder)
    action_button("Unpack", _begin, key="start.unpack", disabled=name not in names)


def _begin() -> None:
    source = chosen_folder(_FOLDER) / st.session_state[_FILE]
    home = home_folder()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BagtagError(
            f"The folder {str(home)!r} cannot be created: {error.strerror or error}. Make the folder above it "
            "writable, and try again."
        ) from error
    work = Unpacking(source, free_folder(home, source.stem.strip(". ")[:80] or "project"))
    check_new_folder(work.folder)
    st.session_state[_WORK] = work
    work.start(work.run, failure="The project could not be unpacked")


@st.fragment
def _watch_unpacking() -> None:
    """Show the progress, then the button that opens the project."""
    work: Unpacking | None = st.session_state.get(_WORK)
    with show_errors():
        if work is not None:
            follow_work(work, "unpack")
        if work is None or (work.over and work.made is None and work.problem is None):
            st.caption("Stopped; nothing was unpacked.")
            st.button("Back", key="start.unpack.back", on_click=_forget)
        elif work.problem is not None:
            st.error(plain(work.problem), icon=":material/error:")
            st.button("Back", key="start.unpack.back", on_click=_forget)
        elif work.made is not None:
            missing = len(work.made.missing)
            note = f" {count(missing, 'file')} to be found on the Library page." if missing else ""
            st.success(f"Unpacked to {plain(str(work.folder))}.{note}", icon=":material/check_circle:")
            st.button("Open it", key="start.unpack.open", type="primary", on_click=attempt, args=(_open,))
        else:
            st.progress(work.share, text=f"Unpacking · {time_left(work.seconds_left) or 'one moment'}")
            st.button("Stop", key="start.unpack.stop", icon=":material/stop_circle:", on_click=work.end)


def _forget() -> None:
    st.session_state.pop(_WORK, None)


def _open() -> None:
    work = st.session_state.pop(_WORK, None)
    if work is not None:
        open_project(work.folder)
        go_to("library")
        st.rerun()  # the button is part of a fragment, and another page is a run of the whole app
