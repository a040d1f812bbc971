"""Train: choose a model, see what it will learn from, watch it, compare runs."""

import streamlit as st

from pages.widgets import charts
from pages.widgets.empty import empty
from pages.widgets.guard import told
from pages.widgets.hints import hint
from pages.widgets.learning_from import learning_from
from pages.widgets.live_training import live_training
from pages.widgets.runs_table import age_of, runs_table
from pages.widgets.session import the_project
from pages.widgets.train_form import train_form

project = the_project()

with told():
    runs = project.runs()
    current = next((run for run in runs if run.current), None)
    hint(
        project,
        "train",
        "The model gets the tags of each bag and finds out by itself which segment carries which. "
        "Your corrections count more than anything.",
    )
    if current is not None and (sentence := age_of(current)):
        st.warning(sentence, icon=":material/history:")
    form, result = st.columns([2, 3], gap="large")
    with form:
        st.subheader("Learn")
        ready = learning_from(project)
        train_form(project, ready=ready)
    with result:
        st.subheader("Runs")
        live_training(project)
        if runs:
            runs_table(project, runs)
        else:
            empty("No run yet", "Start a training; the first takes seconds.", icon="model_training")
        if current is not None and current.curves:
            fold = st.expander(f"How run {current.id} learnt", icon=":material/show_chart:", on_change="rerun")
            if fold.open:
                with fold:
                    charts.curves(current.curves, key=f"run.{current.id}")
