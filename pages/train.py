"""Train: choose a model, see what it will learn from, watch it, compare runs, see how far to trust the predictions."""

import streamlit as st

from pages.widgets.app.session import the_project
from pages.widgets.errors import show_errors
from pages.widgets.guidance import hint
from pages.widgets.training.reliability import trust_in_predictions
from pages.widgets.training.runs import training_runs
from pages.widgets.training.train_form import learning_from, train_form

project = the_project()

with show_errors():
    hint(
        project,
        "train",
        "The model infers from the tags of each bag which segment carries which tag. "
        "Segments that you corrected have the greatest weight.",
    )
    form, result = st.columns([2, 3], gap="large")
    with form, show_errors():
        st.subheader("Train a model")
        learning_from(project)
        train_form(project)
    with result, show_errors():
        st.subheader("Runs")
        training_runs(project)
    trust_in_predictions(project)
