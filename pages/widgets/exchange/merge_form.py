"""Merge another annotator's copy of the project: choose it, look at what will happen, then one edit."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.edits.merge_records import MergePlan
from pages.widgets.errors import action_button
from pages.widgets.folders.folder_chooser import folder_chooser
from pages.widgets.folders.reachable import call_with_timeout
from pages.widgets.text import count, plain, sentence_case

_SOURCES = {"upload": "A packed file", "folder": "A folder of this computer"}
_ROUND, _PLANNED = "import.merge_round", "import.merge_plan"
_MOST_FILES = 200


def choose_copy(project: Project) -> MergePlan | None:
    """Draw the choice of the copy; return what merging it will do."""
    source = st.radio(
        "The other annotator's copy", list(_SOURCES), format_func=_SOURCES.__getitem__, key="import.merge_from"
    )
    if source == "upload":
        number = st.session_state.setdefault(_ROUND, 0)  # another number empties the field after a merge
        file = st.file_uploader("Packed project", type=["zip"], key=f"import.merge_file.{number}")
        return None if file is None else _planned(project, ("upload", file.file_id), file)
    chosen = folder_chooser(
        "Folder of the copy, or of packed files",
        key="import.merge_folder",
        start=project.folder.resolve().parent,
        project_folder=project.folder,
    )
    return None if chosen is None else _plan_of_folder(project, chosen)


def _plan_of_folder(project: Project, folder: Path) -> MergePlan | None:
    if folder == project.folder.resolve():
        st.caption("This is the project itself.")
        return None
    if Project.is_project(folder):
        files = [folder / name for name in ("project.db", "project.db-wal")]
        changed = [path.stat().st_mtime_ns for path in files if path.exists()]
        return _planned(project, ("folder", str(folder), changed), folder)
    names = call_with_timeout(folder, lambda: sorted(path.name for path in folder.glob("*.zip"))[:_MOST_FILES])
    if not names:
        st.caption("There is neither a project nor a packed file in this folder.")
        return None
    name = st.selectbox("Packed project", names, index=None, key="import.merge_name", placeholder="Choose a file")
    if name is None or name not in names:
        return None
    return _planned(project, ("file", str(folder / name), (folder / name).stat().st_mtime_ns), folder / name)


def _planned(project: Project, chosen: tuple[Any, ...], copy: Any) -> MergePlan | None:
    """Return the plan, made again only if the copy or the project has changed."""
    wanted = (chosen, project.revision)
    kept = st.session_state.get(_PLANNED)
    if kept is None or kept[0] != wanted:
        st.session_state.pop(_PLANNED, None)
        with st.spinner("Comparing both projects …"):
            kept = (wanted, _make_plan(project, copy))
        st.session_state[_PLANNED] = kept
    return kept[1]


def _make_plan(project: Project, copy: Any) -> MergePlan:
    if isinstance(copy, Path):
        return project.edits.preview_merge(copy)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.zip"
        with path.open("xb") as file:
            file.write(copy.getbuffer())
        return project.edits.preview_merge(path)


def merge_button(project: Project, plan: MergePlan) -> None:
    """Draw the button that does what the preview shows."""
    counts = plan.counts()
    n_new = counts["new_tags"] + counts["new_labels"] + counts["new_segments"] + counts["deleted_segments"]
    n_conflicts = counts["tag_conflicts"] + counts["label_conflicts"]
    action_button(
        f"Merge: {count(n_new, 'new answer')}, {count(n_conflicts, 'conflict')}",
        _merge,
        project,
        key="import.merge_start",
        type="primary",
        icon=":material/merge:",
        disabled=not plan.n_bags,
    )


def _merge(project: Project) -> None:
    if _PLANNED not in st.session_state:
        raise BagtagError("Choose the copy again: the project has changed since.")
    result = project.edits.merge_copy(st.session_state[_PLANNED][1])
    st.session_state[_ROUND] = st.session_state.get(_ROUND, 0) + 1
    st.session_state.pop(_PLANNED, None)
    st.toast(plain(sentence_case(result.sentence)), icon=":material/check_circle:")
