"""What an import of labels will do: classes, files, and labels that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import streamlit as st

from miml_core.exchange.labels import LabelTable
from miml_core.exchange.problems import LineProblem
from miml_core.project import Project
from miml_core.project.edits.import_preview import ImportPreview
from miml_core.project.edits.label_plan import ImportOptions
from pages.widgets.text import count, plain

_MOST_ROWS = 1000
_NAMES_SHOWN = 12
_HEIGHT = 260


def preview(project: Project, table: LabelTable, options: ImportOptions, classes: Mapping[str, str]) -> ImportPreview:
    """Return what the import will do with the chosen classes."""
    return project.edits.preview_labels(table, replace(options, classes=classes))


def class_table(project: Project, table: LabelTable) -> dict[str, str]:
    """Draw which class each label becomes; return {label: class}, empty for labels that are left out."""
    uses = project.edits.preview_labels(table, ImportOptions(way="tags")).plan.labels
    if not uses:
        return {}
    st.markdown("**Classes**")
    known = {one.name for one in project.classes.list()}
    rows = [{"label": use.label, "n": use.n, "class": use.class_name} for use in uses]
    edited = st.data_editor(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(35 * len(rows) + 38, _HEIGHT),
        disabled=["label", "n"],
        column_config={
            "label": "Label in the files",
            "n": st.column_config.NumberColumn("Labels", width=70),
            "class": st.column_config.TextColumn("Class", help="Another name renames or merges; empty leaves it out."),
        },
        key="import.classes." + str(hash(tuple(use.label for use in uses))),
    )
    chosen = {str(row["label"]): str(row["class"] or "").strip() for row in edited.to_dict("records")}
    new = sorted({name for name in chosen.values() if name} - known)
    if new:
        more = " …" if len(new) > _NAMES_SHOWN else ""
        names = plain(", ".join(new[:_NAMES_SHOWN]))
        st.caption(f"{count(len(new), 'new class', 'new classes')}: {names}{more}")
    return chosen


def summary(shown: ImportPreview) -> None:
    """Draw the numbers of the import."""
    found = sum(use.path is not None for use in shown.plan.files)
    parts = [
        f"**{count(shown.plan.n_labels, 'label')}** read, in {count(len(shown.plan.files), 'file')}; "
        f"{count(found, 'file')} found in the project, {count(shown.n_bags, 'bag')} affected."
    ]
    shapes = shown.shapes
    if shown.plan.n_across:
        parts.append(f"{_labels_are(shown.plan.n_across)} cut at the border between two bags.")
    if shown.plan.n_cut:
        parts.append(f"{_labels_are(shown.plan.n_cut)} cut: a part is outside the recording or its bags.")
    if shapes.n_there:
        parts.append(f"{_labels_are(shapes.n_there)} already in the project.")
    if shapes.n_overlapping:
        replaced = count(len(shapes.replaced), "detected segment")
        parts.append(
            f"{count(shapes.n_overlapping, 'label')} on existing segments: {replaced} replaced, "
            f"{count(shapes.n_skipped, 'label')} left out."
        )
    if shown.plan.notes:
        n_notes = sum(map(len, shown.plan.notes.values()))
        parts.append(f"{count(n_notes, 'note')} added to the notes of {count(len(shown.plan.notes), 'bag')}.")
    st.markdown(" ".join(parts))


def _labels_are(n: int) -> str:
    return f"{count(n, 'label')} {'is' if n == 1 else 'are'}"


def problem_tables(shown: ImportPreview) -> None:
    """Draw the lines that cannot be read, and the labels that have no place in the project."""
    if shown.unreadable:
        lines = count(len(shown.unreadable), "line")
        st.error(f"{lines} cannot be read; nothing is imported until they are corrected or left out.")
        _problems(shown.unreadable, "Lines that cannot be read")
    if shown.left_out:
        st.warning(f"{count(len(shown.left_out), 'label')} cannot be imported.")
        _problems(shown.left_out, "Labels that cannot be imported")


def _problems(problems: list[LineProblem], alt: str) -> None:
    rows = [{"Line": each.where, "Reason": each.reason, "Value": each.subject} for each in problems[:_MOST_ROWS]]
    st.dataframe(pd.DataFrame(rows), hide_index=True, height=min(35 * len(rows) + 38, _HEIGHT), alt=alt)
    if len(problems) > _MOST_ROWS:
        st.caption(f"The first {_MOST_ROWS} of {len(problems)}.")


def file_table(shown: ImportPreview) -> None:
    """Draw which file of the project each name is; those that were not found first."""
    st.markdown("**Files**")
    ordered = sorted(shown.plan.files, key=lambda use: use.path is not None)[:_MOST_ROWS]
    rows = [
        {"In the labels": use.name, "Labels": use.n_labels, "In the project": use.path or "", "How": use.how}
        for use in ordered
    ]
    height = min(35 * len(rows) + 38, _HEIGHT)
    st.dataframe(pd.DataFrame(rows), hide_index=True, height=height, alt="Files of the labels")
