"""Files that are missing, have changed or may not be read yet, and what to do about them."""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from miml_core.project import BagPage, Project
from pages.widgets.errors import action_button, attempt
from pages.widgets.folders.folder_chooser import chosen_folder, folder_chooser
from pages.widgets.text import count, plain

_MOST_NAMED = 3
_LOOKED_AT = "library.looked_at"
_LOOK_EVERY = 10.0
_LOOK_SECONDS = 0.3
"""Time to see which files of a page are missing or changed; the rest is seen when the page is drawn again."""


def check_files_of_page(project: Project, page: BagPage) -> None:
    """Check which files of the bags on a page are missing or have changed, so that the counts include them.

    The page may be drawn every second; the same files are checked only now and then.
    """
    files = [bag.media_id for bag in page.bags if not bag.not_allowed]
    looked_at, when = st.session_state.get(_LOOKED_AT, (None, 0.0))
    if looked_at == files and time.monotonic() - when < _LOOK_EVERY:
        return
    project.media.refresh(files, seconds=_LOOK_SECONDS)
    st.session_state[_LOOKED_AT] = (files, time.monotonic())


def missing_files(project: Project) -> None:
    """Draw what is wrong with which files, and buttons that help; nothing while all files are there."""
    progress = project.progress()
    not_allowed, changed, missing = st.container(), st.container(), st.container()
    with not_allowed:
        _not_allowed(project)
    if media_ids := project.media.changed_ids():
        with changed:
            _changed(project, media_ids)
    if progress.n_missing:
        with missing:
            _missing(project, progress.n_missing)


def _not_allowed(project: Project) -> None:
    for number, blocked in enumerate(project.media.blocked_folders()):
        files = count(blocked.n_files, "file")
        lie = "lies" if blocked.n_files == 1 else "lie"
        with st.container(border=True, key=f"blocked-{number}"):
            where = f":orange[:material/lock:] **{files} of this project {lie} in {plain(blocked.folder)}**"
            if not blocked.may_be_allowed:
                st.markdown(f"{where}, a system folder. Such files are not opened.")
                continue
            st.markdown(
                f"{where}, which was not chosen on this computer. Bagtag has not looked at this folder. "
                "Allow it if you know where this project comes from."
            )
            action_button(
                f"Allow {plain(blocked.folder)}",
                project.media.allow_folder,
                blocked.folder,
                key=f"blocked.allow.{blocked.folder}",
                icon=":material/lock_open:",
            )


def _changed(project: Project, media_ids: list[int]) -> None:
    n_changed = len(media_ids)
    named = project.bags.list(show="changed file", limit=20).bags
    names = list(dict.fromkeys(plain(Path(bag.path).name) for bag in named))
    more = " …" if n_changed > _MOST_NAMED else ""
    with st.container(border=True, key="changed-files"):
        st.markdown(
            f":orange[:material/sync_problem:] **{count(n_changed, 'file')} changed after being added:** "
            f"{', '.join(names[:_MOST_NAMED])}{more}. Tags and segments are kept. Put the original back, or accept the "
            "file as it is now: its segments are then out of date until you detect them again on the Segment page."
        )
        with st.container(horizontal=True):
            _check_again(project, key="changed.look")
            action_button(
                "Accept as they are now" if n_changed > 1 else "Accept as it is now",
                _accept,
                project,
                media_ids,
                key="changed.accept",
                icon=":material/published_with_changes:",
            )


def _check_again(project: Project, *, key: str) -> None:
    refresh = project.media.refresh_missing
    st.button("Check again", key=key, icon=":material/refresh:", on_click=attempt, args=(refresh,))


def _missing(project: Project, missing: int) -> None:
    with st.container(border=True, key="missing-files"):
        are = "is" if missing == 1 else "are"
        st.markdown(
            f":orange[:material/link_off:] **{count(missing, 'file')} {are} missing.** "
            "Your tags and segments are safe. If the folder was moved or a disk is not connected, choose where to look."
        )
        folder = folder_chooser("Look in", key="missing.folder", project_folder=project.folder)
        with st.container(horizontal=True):
            _check_again(project, key="missing.look")
            action_button(
                "Search this folder",
                _relink,
                project,
                key="missing.relink",
                icon=":material/travel_explore:",
                disabled=folder is None,
            )


def _accept(project: Project, media_ids: list[int]) -> None:
    """Accept the files that stood beside the button; others may have changed since."""
    accepted = project.media.accept_changed(media_ids)
    st.toast(f"Accepted {count(len(accepted.paths), 'changed file')}.", icon=":material/check_circle:")
    for note in accepted.notes[:_MOST_NAMED]:
        st.toast(plain(note), icon=":material/info:", duration="long")


def _relink(project: Project) -> None:
    found = project.media.relink(chosen_folder("missing.folder", project.folder))
    st.toast(f"Found {count(len(found), 'file')} again.")
