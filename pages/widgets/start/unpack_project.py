"""Make a project of a packed one, in a thread of the server: it goes on when the tab is closed."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.project.packing.unpack import UnpackedProject, check_new_folder, unpack
from pages.widgets.app.session import go_to, open_project
from pages.widgets.errors import action_button, attempt, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import home_folder
from pages.widgets.folders.reachable import look_in_time
from pages.widgets.start.background_work import BackgroundWork
from pages.widgets.start.recent_projects import remember
from pages.widgets.text import count, plain, time_left

_log = logging.getLogger("bagtag.pages")
_WORK = "start.unpacking"
_FOLDER, _FILE = "start.unpack.folder", "start.unpack.file"
_MOST_FILES = 200


@dataclass
class Unpacking(BackgroundWork):
    """How far a project is unpacked; stopped, it leaves nothing behind."""

    source: Path
    folder: Path
    made: UnpackedProject | None = None

    def report(self, done: int, of: int, what: str) -> None:
        """Note the progress; raises if a person stopped it."""
        self.share = done / of if of else 0.0
        if self.stop:
            raise _Stopped

    def run(self) -> None:
        """Unpack; what went wrong is kept for the page."""
        try:
            self.made = unpack(self.source, self.folder, report=self.report)
            remember(self.folder)
        except _Stopped:
            return
        except BagtagError as error:
            self.problem = str(error)
        except Exception:
            _log.exception("A project could not be unpacked")
            self.problem = "The project could not be unpacked; the details are in the terminal of Bagtag."
        finally:
            self.over = True


class _Stopped(Exception):
    """Stop: the person does not want to wait."""


def unpack_form(start: Path | None) -> None:
    """Draw the choice of a packed file, or how far it is unpacked."""
    if _WORK in st.session_state:
        _watch_unpacking()
        return
    folder = folder_chooser("Folder of the packed file", key=_FOLDER, start=start)
    if folder is None:
        return
    names = look_in_time(folder, lambda: sorted(path.name for path in folder.glob("*.zip"))[:_MOST_FILES])
    placeholder = "Choose a .zip file" if names else "There is none in this folder"
    name = st.selectbox("Packed project", names, index=None, key=_FILE, placeholder=placeholder)
    action_button("Unpack", _begin, key="start.unpack", disabled=name not in names)


def _begin() -> None:
    source = chosen_folder(_FOLDER) / st.session_state[_FILE]
    home = home_folder()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BagtagError(f"The folder {str(home)!r} cannot be made: {error.strerror or error}.") from error
    work = Unpacking(source, _free_folder(home, source.stem))
    check_new_folder(work.folder)
    st.session_state[_WORK] = work
    threading.Thread(target=work.run, name="unpack", daemon=True).start()


def _free_folder(home: Path, stem: str) -> Path:
    """Return a new folder of this name in Bagtag's own folder, with a number if there is one already."""
    stem = stem.strip(". ")[:80] or "project"
    number = 1
    while (folder := home / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


@st.fragment(run_every=0.7)
def _watch_unpacking() -> None:
    """Show how far the project is unpacked, then the button that opens it."""
    work: Unpacking | None = st.session_state.get(_WORK)
    with show_errors():
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
