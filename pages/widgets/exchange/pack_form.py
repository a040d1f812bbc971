"""Pack the whole project to one file."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import streamlit as st

from miml_core.exchange.names import name_beside
from miml_core.project import Project
from pages.widgets.errors import action_button
from pages.widgets.folders.folder_chooser import chosen_folder
from pages.widgets.folders.paths import allowed_path, allowed_roots
from pages.widgets.text import count

_MEDIA = "export.pack_media"


def choose_packing(project: Project) -> None:
    """Draw what is packed."""
    st.markdown(
        "Tags, labels, segments, history, runs and settings in one zip file: to move the project to another computer, "
        "or to give it to another annotator. You can go on working meanwhile."
    )
    media = project.media.list()
    noun = "recording" if project.kind == "sound" else "picture"
    size = sum(medium.size for medium in media)
    st.checkbox(f"With the {count(len(media), noun)} ({_size_text(size)})", key=_MEDIA, disabled=not media)
    st.caption(
        f"Without the {noun}s the file is small; whoever unpacks it needs the same {noun}s, in any folder. "
        "Unpack it with `bagtag unpack FILE.zip FOLDER`."
    )


def pack_button(project: Project, *, disabled: bool, folder_key: str) -> None:
    """Start to pack the project."""
    action_button(
        "Pack this project",
        _start,
        project,
        folder_key,
        key="export.pack",
        type="primary",
        icon=":material/archive:",
        disabled=disabled,
    )


def _start(project: Project, folder_key: str) -> None:
    folder = chosen_folder(folder_key, project.folder)
    stem = Path(name_beside(project.name.replace("/", "-"), "")).name[:80] or "project"
    target = folder / f"{stem}-{datetime.now():%Y-%m-%d-%H%M%S}.zip"
    params = {
        "path": str(allowed_path(target, allowed_roots(project.folder))),
        "media": bool(st.session_state.get(_MEDIA)),
    }
    project.jobs.start("pack", params)


def _size_text(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{max(size / 1e6, 0.1):.1f} MB"
