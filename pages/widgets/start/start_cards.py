"""The three cards of the start page: the demo, a project, a new project from a folder."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.project import Kind
from pages.widgets.app.recent_projects import KnownProject, list_known
from pages.widgets.app.session import annotator, go_to, open_project
from pages.widgets.birdnet import birdnet_line
from pages.widgets.errors import action_button, show_errors
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.folders.paths import allowed_path, home_folder
from pages.widgets.folders.reachable import NotReachable, call_with_timeout
from pages.widgets.follow import follow_work
from pages.widgets.library.add_media import (
    bag_length_field,
    count_media,
    entered_bag_length,
    show_media_count,
    start_import,
)
from pages.widgets.start.demo import DemoWork, existing_demo, start_demo
from pages.widgets.start.unpack_project import unpack_form
from pages.widgets.text import plain, time_left

_DEMO = "start.demo"
_SCRIPT = Path(__file__).resolve().parents[3] / "assets" / "start" / "open_when_untouched.js"
_MOST_SHOWN = 5
_CHECK_DISK = "check that its disk or network drive is connected and that you may read it, then reload the page."
_KINDS: dict[Kind, str] = {"sound": "Recordings", "picture": "Pictures"}


def demo_card() -> None:
    """Draw the card that generates the demo and opens it at the review."""
    st.subheader(":material/play_circle: Open the demo")
    st.markdown("Generated on this computer: tagged, trained and ready to review in a minute. Hints explain each step.")
    if _DEMO in st.session_state:
        _watch_demo()
    else:
        _demo_buttons()


def _demo_buttons() -> None:
    _demo_button("sound", "Birds at dawn", ":material/music_note:", "primary")
    _demo_button("picture", "Pictures of surfaces", ":material/image:", "secondary")
    if any(existing_demo(kind) for kind in _KINDS):
        st.toggle("Generate a new demo", key="start.new_demo", help="Your earlier demo is kept as a separate project.")


def _demo_button(kind: Kind, label: str, icon: str, look: Literal["primary", "secondary"]) -> None:
    action_button(
        label,
        _begin_demo,
        kind,
        key=f"start.demo.{kind}",
        type=look,
        icon=icon,
        width="stretch",
    )


def _begin_demo(kind: Kind) -> None:
    work = start_demo(kind, new=st.session_state.get("start.new_demo", False))
    st.session_state[_DEMO] = work
    if work.over and work.problem is None:
        _open_demo()


@st.fragment
def _watch_demo() -> None:
    """Show how far the demo is. When it is ready, it opens if nothing else was begun on the page, else by a click."""
    work: DemoWork | None = st.session_state.get(_DEMO)
    with show_errors():
        if work is not None:
            follow_work(work, "demo")
        if work is None or (work.over and not work.problem and not Project.is_project(work.folder)):
            _forget_demo()
            _demo_buttons()
        elif work.problem:
            st.error(plain(work.problem))
            st.button("Back", key="start.demo.back", on_click=_forget_demo)
        elif work.over:
            st.success("The demo is ready.", icon=":material/check_circle:")
            action_button("Open it", _open_demo, key="start.demo.open", type="primary", width="stretch")
            _open_when_untouched()(key="start.demo.wait", data={"ready": True}, on_untouched_change=_open_demo)
        else:
            st.progress(work.share, text=f"Generating the demo · {time_left(work.seconds_left) or 'one moment'}")
            st.button(
                "Stop", key="start.demo.stop", icon=":material/stop_circle:", disabled=work.stop, on_click=work.end
            )
            _open_when_untouched()(key="start.demo.wait", data={"ready": False}, on_untouched_change=_open_demo)


@cache
def _open_when_untouched() -> Any:
    return st.components.v2.component("bagtag_open_when_untouched", js=_SCRIPT.read_text(encoding="utf-8"))


def _open_demo() -> None:
    """Open the demo that is ready at the review."""
    work = st.session_state.pop(_DEMO, None)
    if work is not None:
        open_project(work.folder)
        go_to("review")
        st.rerun()  # the button is part of a fragment, and another page is a run of the whole app


def _forget_demo() -> None:
    st.session_state.pop(_DEMO, None)


def open_project_card() -> None:
    """Draw the card that opens a recent project, or one in another folder."""
    st.subheader(":material/folder_open: Open a project")
    st.markdown("Continue where you stopped.")
    known = list_known()[:_MOST_SHOWN]
    for one in known:
        _known_project(one)
    with st.expander("Open another folder", icon=":material/search:", expanded=not known):
        folder = folder_chooser("Project folder", key="start.open.folder", start=_start())
        action_button(
            "Open",
            _open_chosen,
            "start.open.folder",
            key="start.open",
            disabled=folder is None,
        )
    with st.expander("Unpack a project", icon=":material/unarchive:"):
        unpack_form(_start())


def _open_chosen(key: str) -> None:
    _open(chosen_folder(key))


def _known_project(known: KnownProject) -> None:
    folder = known.folder
    path = str(folder).encode(errors="backslashreplace").decode()
    action_button(
        plain(folder.name if known.is_reachable else f"{folder.name} (not reachable)"),
        _open,
        folder,
        key=f"start.known.{path}",
        icon=":material/folder:" if known.is_reachable else ":material/folder_off:",
        help=plain(path if known.is_reachable else f"{path} does not respond or cannot be read: {_CHECK_DISK}"),
        disabled=not known.is_reachable,
        width="stretch",
    )


def new_project_card() -> None:
    """Draw the card that creates a project from a folder of recordings or pictures."""
    st.subheader(":material/create_new_folder: New project")
    st.markdown("Your recordings or pictures stay where they are and are never changed.")
    folder = folder_chooser("Folder", key="start.new.folder")
    if folder is None:
        return
    kind = st.segmented_control(
        "Contents",
        list(_KINDS),
        default=_likely_kind(folder),
        format_func=_KINDS.__getitem__,
        required=True,
        key=f"start.new.kind.{folder}",
    )
    found = show_media_count(folder, kind)
    with st.container():  # what is below keeps its place
        if kind == "sound":
            st.caption(birdnet_line("Species are recognised with"))
    with st.expander("Bag length, name, location", icon=":material/tune:"):
        bag_length_field(kind, key="start.new")
        name = st.text_input("Project name", folder.name, key=f"start.new.name.{folder}", max_chars=80)
        parent = folder_chooser("Location", key="start.new.parent", start=_start())
    action_button(
        "Create project",
        _make_project,
        folder,
        key="start.new.make",
        type="primary",
        icon=":material/add:",
        disabled=not (found and name and parent),
    )


def _make_project(folder: Path) -> None:
    """Create the project that the card holds now, for the folder that it names."""
    entered = st.session_state
    kind, name = entered[f"start.new.kind.{folder}"], entered[f"start.new.name.{folder}"]
    target = project_folder(chosen_folder("start.new.parent"), name)
    with Project.create(target, kind=kind, name=name.strip(), annotator=annotator()) as project:
        start_import(project, [folder], entered_bag_length("start.new") if kind == "sound" else {}, segment=True)
    _open(target)


def _open(folder: Path) -> None:
    """Open a project at its library: with a change of page the start page disappears at once."""
    open_project(folder)
    go_to("library")


def project_folder(parent: Path, name: str) -> Path:
    """Return the folder of a new project of that name."""
    safe = "".join("-" if letter in '<>:"/\\|?*' or ord(letter) < 32 else letter for letter in name).strip(" .")
    if not safe:
        raise BagtagError("Give the project a name.")
    target = allowed_path(parent / safe, [parent.resolve()])
    if target.exists() and any(target.iterdir()):
        raise BagtagError(f"There is already a folder {str(target)!r}; choose another name.")
    return target


def _likely_kind(folder: Path) -> Kind:
    counts, _ = count_media(folder)
    return "picture" if counts["picture"] > counts["sound"] else "sound"


def _start() -> Path | None:
    """Return Bagtag's own folder, created if it can be; None begins at the first folder that may be used.

    If it does not respond, it is returned all the same: the chooser says so, and no project lands elsewhere unnoticed.
    """
    home = home_folder()
    try:
        call_with_timeout(home, lambda: home.mkdir(parents=True, exist_ok=True))
    except OSError:
        return None
    except NotReachable:
        pass
    return home
