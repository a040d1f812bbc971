"""The model that is applied, and its file to apply it elsewhere."""

from __future__ import annotations

from functools import partial

import streamlit as st

from miml_core import BagtagError
from miml_core.archive.bundle import SUFFIX
from miml_core.archive.exporting import bundle_bytes, run_to_export
from miml_core.exchange.names import is_safe_name
from miml_core.project import Project
from pages.widgets.text import count, plain, when
from pages.widgets.training import model_descriptions


def model_file(project: Project) -> bool:
    """Describe the model of the current run and offer its file; return whether it can be applied."""
    try:
        run = run_to_export(project)
    except BagtagError as error:
        st.warning(plain(str(error)), icon=":material/warning:")
        return False
    with st.container(horizontal=True, vertical_alignment="center", key="survey-model"):
        st.markdown(
            f"**Run {run.id}**: {plain(model_descriptions.title(run.model))}, "
            f"{count(len(run.classes), 'class', 'classes')}, trained {when(run.started_at)}.",
            width="stretch",
        )
        st.download_button(
            "Model file",
            partial(bundle_bytes, project, run.id),
            file_name=_name(project, run.id),
            mime="application/octet-stream",
            icon=":material/download:",
            key="survey.model",
            on_click="ignore",
            help="Everything that is needed to apply the model elsewhere: `bagtag apply FILE FOLDER --out ARCHIVE`.",
        )
    return True


def _name(project: Project, run_id: int) -> str:
    name = f"{project.name}-run-{run_id}{SUFFIX}"
    return name if is_safe_name(name) else f"model-run-{run_id}{SUFFIX}"
