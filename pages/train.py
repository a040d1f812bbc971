"""Train: choose a model, see what it will learn from, watch it, compare runs."""

import streamlit as st

from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.learning_from import learning_from
from pages.widgets.runs_table import training_runs
from pages.widgets.session import the_project
from pages.widgets.train_form import train_form

project = the_project()

with told():
    hint(
        project,
        "train",
        "The model gets the tags of each bag and finds out by itself which segment carries which. "
        "Your corrections count more than anything.",
    )
    form, result = st.columns([2, 3], gap="large")
    with form, told():
        st.subheader("Learn")
        learning_from(project)
        train_form(project)
    with result, told():
        st.subheader("Runs")
        training_runs(project)
