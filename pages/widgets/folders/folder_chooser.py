"""Choose a folder of this computer: type its path, or browse to it."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from pages.widgets.folders.paths import allowed_roots, existing_folder, subfolders
from pages.widgets.text import plain

_UP = ".."


def folder_chooser(
    label: str, *, key: str, start: Path | None = None, project_folder: Path | None = None
) -> Path | None:
    """Return the chosen folder, or None (and show why) while the path is not one that may be used."""
    roots = allowed_roots(project_folder)
    if not roots:
        raise BagtagError("There is no folder that Bagtag may use; start it with BAGTAG_ROOTS set to one.")
    typing, browsing = st.columns([3, 2], vertical_alignment="bottom")
    refused = st.container()  # what is below keeps its place
    with typing:
        typed = st.text_input(label, str(start or roots[0]), key=key, placeholder="A folder of this computer")
    try:
        folder = existing_folder(typed or "", roots)
        steps = _steps(folder, roots)
    except BagtagError as error:
        refused.caption(f":red[{plain(str(error))}]")
        return None
    with browsing:
        st.selectbox(
            "Browse folders",
            steps,
            index=None,
            key=f"{key}.browse",
            placeholder="Browse",
            label_visibility="collapsed",
            format_func=lambda step: "Up one folder" if step == _UP else step,
            on_change=_browse,
            args=(key, folder, roots),
        )
    return folder


def chosen_folder(key: str, project_folder: Path | None = None) -> Path:
    """Return what a folder chooser holds now, for a button's callback; refused as it is on the page."""
    return existing_folder(st.session_state.get(key) or "", allowed_roots(project_folder))


def _steps(folder: Path, roots: list[Path]) -> list[str]:
    """Return where one can go: up (or to another root), and into the folders of this one."""
    up = [_UP] if any(folder.parent.is_relative_to(root) for root in roots) else []
    others = [str(root) for root in roots if root != folder and not folder.is_relative_to(root)]
    return up + subfolders(folder, roots) + others


def _browse(key: str, folder: Path, roots: list[Path]) -> None:
    step = st.session_state[f"{key}.browse"]
    if step is not None:
        st.session_state[key] = str((folder / step).resolve())
        st.session_state[f"{key}.browse"] = None
