"""Survey: apply the model to all recordings of a survey, and check the result by a random sample."""

import streamlit as st

from miml_core.archive.cluster import is_installed
from miml_core.extras import install_command
from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import empty_state, hint
from pages.widgets.survey.apply_form import apply_form
from pages.widgets.survey.apply_progress import latest_archive
from pages.widgets.survey.model_file import model_file
from pages.widgets.survey.sample_form import draw_sample
from pages.widgets.survey.sample_results import has_sample, sample_results

with show_errors():
    project = the_project()
    if project.runs.current() is None:
        empty_state(
            "There is no model to apply yet",
            "Tag some bags and train a model. Then it can be applied to thousands of hours, or pictures, and its "
            "results are checked by a random sample.",
            icon="travel_explore",
            page="train.py",
            link="Train a model",
        )
    elif not is_installed():
        empty_state(
            "Applying a model to an archive needs Dask",
            f"Install it with `{install_command('cluster')}`, then start Bagtag again.",
            icon="travel_explore",
        )
        if has_sample(project):
            st.subheader("Check a sample")
            sample_results(project)
    else:
        hint(
            project,
            "survey",
            "The model of the current run labels every file below the folders you choose. The results are written "
            "as tables; the files themselves are not changed. Then check a random sample to measure the precision.",
        )
        form, archive = st.columns([2, 3], gap="large")
        with form, show_errors():
            st.subheader("Apply the model")
            usable = model_file(project)
            apply_form(project, disabled=not usable)
        with archive, show_errors():
            st.subheader("Archive")
            latest_archive(project)
        st.subheader("Check a sample")
        with show_errors():
            if has_sample(project):
                sample_results(project)
            else:
                draw_sample(project)
