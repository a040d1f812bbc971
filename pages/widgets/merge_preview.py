"""What a merge will do, how far two annotators agree, and what they answered differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from miml_core.project import Project
from miml_core.project.edits.merge_records import MergePlan
from miml_core.project.errors import NeedsConfirmation
from pages.widgets.app.session import go_to
from pages.widgets.confirmation import ask, pending_question, settle
from pages.widgets.errors import attempt
from pages.widgets.merge_form import undo_merge_button
from pages.widgets.table_selection import ROWS_OR_A_CELL, keep_selection, selected_ids
from pages.widgets.text import class_names, count, plain, when

_HEIGHT = 300
_MOST_CONFLICTS = 500
_NAMES_SHOWN = 3
_SELECTED = "import.conflicts"
_TAKE = "import.take_theirs"
_ANSWERS = {1: "present", -1: "absent"}


def merge_summary(plan: MergePlan) -> None:
    """Draw the numbers of a merge."""
    counts = plan.counts()
    who = f" by {plain(', '.join(plan.people))}" if plan.people else ""
    st.markdown(f"**{plain(plan.source)}**{who}: {count(counts['bags'], 'bag')} in both projects.")
    if not counts["bags"]:
        st.warning("No recording or picture is in both projects, so that there is nothing to merge.")
        return
    n_conflicts = counts["tag_conflicts"] + counts["label_conflicts"]
    tiles = [
        ("New tags", counts["new_tags"], "Of classes that nobody had answered here."),
        ("New labels", counts["new_labels"] + counts["new_segments"], "Segments that only the other labelled or drew."),
        ("Alike", counts["agreed_tags"] + counts["agreed_labels"], "Tags and labels that both gave."),
        ("Conflicts", n_conflicts, "Your answer stays; both are listed for review."),
    ]
    with st.container(horizontal=True, key="merge-numbers"):
        for title, number, explained in tiles:
            st.metric(title, f"{number:,}", help=explained, width="content")
    parts = []
    if counts["new_classes"]:
        names = plain(", ".join(plan.new_classes))
        parts.append(f"{count(counts['new_classes'], 'new class', 'new classes')}: {names}.")
    if counts["finished_bags"]:
        parts.append(f"Tagging of {count(counts['finished_bags'], 'bag')} will be finished.")
    if counts["deleted_segments"]:
        parts.append(f"{count(counts['deleted_segments'], 'segment')} that the other deleted will be deleted here.")
    if counts["kept_segments"]:
        parts.append(
            f"{count(counts['kept_segments'], 'segment')} that the other deleted will stay, because of a label here."
        )
    if counts["unknown_bags"]:
        names = ", ".join(plain(path.rsplit("/", 1)[-1]) for path in plan.unknown_media[:_NAMES_SHOWN])
        of = f" ({names}{' …' if len(plan.unknown_media) > _NAMES_SHOWN else ''})" if names else ""
        parts.append(f"{count(counts['unknown_bags'], 'bag')} of the copy left out, not in this project{of}.")
    if counts["known_conflicts"]:
        parts.append(f"{count(counts['known_conflicts'], 'conflict')} listed by an earlier merge.")
    if parts:
        st.caption(" ".join(parts))


def agreement_tables(agreement: dict[str, Any]) -> None:
    """Draw Cohen's kappa of tags and labels, overall and per class."""
    tables = {title: agreement.get(what, {}) for title, what in (("Tags", "tags"), ("Labels", "labels"))}
    shown = {title: found for title, found in tables.items() if found.get("overall", {}).get("n")}
    if not shown:
        st.caption("Agreement: there is nothing that both annotators answered independently.")
        return
    st.markdown("**Agreement** (Cohen’s kappa: 1 is full agreement, 0 what chance would give)")
    for title, found in shown.items():
        rows = [_row(f"All {title.lower()}", found["overall"])]
        rows += [_row(name, each) for name, each in sorted(found["classes"].items())]
        st.dataframe(
            pd.DataFrame(rows),
            hide_index=True,
            height=min(35 * len(rows) + 38, _HEIGHT),
            column_config={
                "Class": st.column_config.TextColumn(title),
                "Kappa": st.column_config.NumberColumn(format="%.2f", width=70),
                "95 % interval": st.column_config.TextColumn(width=110),
                "Alike": st.column_config.NumberColumn(width=60),
                "Of": st.column_config.NumberColumn(width=60, help="What both annotators answered independently."),
            },
            placeholder="–",
            alt=f"Agreement of {title.lower()}",
        )
    every = [each for found in shown.values() for each in (found["overall"], *found["classes"].values())]
    if any(each.get("kappa") is None for each in every):
        st.caption("– : not defined, because both gave one and the same answer to all.")


def _row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    interval = "" if found.get("kappa") is None else f"{found['low']:.2f} to {found['high']:.2f}"
    return {
        "Class": name,
        "Kappa": found.get("kappa"),
        "95 % interval": interval,
        "Alike": found.get("agreed"),
        "Of": found.get("n"),
    }


def merges_list(project: Project) -> None:
    """Show the copies that were merged so far, with their agreement."""
    for number, merge in enumerate(project.review.merges()):
        who = plain(", ".join(merge.people) or merge.source)
        with st.expander(f"Merged {when(merge.at)}: {who}", expanded=number == 0, key=f"merge-{merge.id}"):
            agreement_tables(merge.agreement)
            if number == 0:
                undo_merge_button(project)


def conflict_list(project: Project) -> None:
    """Show what annotators answered differently, with buttons that decide."""
    found = project.review.conflicts(limit=_MOST_CONFLICTS)
    if not found:
        return
    n_bags, n_segments = project.review.count_conflicts()
    st.markdown(
        f"**Conflicts:** {count(n_segments, 'segment')} with two labels, {count(n_bags, 'bag')} with different tags. "
        "Select rows and decide, or listen again on Review and Tag."
    )
    names = class_names(project.classes.list())
    rows = []
    for each in found:
        is_tag = each.segment_id is None
        answers = [_answer(value, is_tag, names) for value in (each.ours, each.theirs)]
        rows.append(
            {
                "Bag": each.bag,
                "What": f"tag {names.get(each.class_id or 0, '?')}" if is_tag else f"segment {each.number}",
                "Here": f"{answers[0]} ({each.ours_by or 'somebody'})",
                "In the copy": f"{answers[1]} ({each.theirs_by or 'somebody'})",
            }
        )
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        height=min(35 * len(rows) + 38, _HEIGHT),
        on_select="rerun",
        selection_mode=ROWS_OR_A_CELL,
        alt="Conflicts of two annotators",
        **keep_selection(_SELECTED, [each.id for each in found]),
    )
    chosen = selected_ids(_SELECTED)
    with st.container(horizontal=True, key="conflict-buttons"):
        _button("Keep the answers here", "import.keep", _keep, project, disabled=not chosen)
        question = pending_question(_TAKE, project, tuple(chosen))
        title = "Take those of the copy" if question is None else "Take them anyway"
        _button(title, "import.take", _take, project, tuple(chosen), disabled=not chosen)
        if n_segments:
            st.button("Review the segments", key="import.review", icon=":material/fact_check:", on_click=_review)
    if question is not None:
        st.warning(plain(question))


def _answer(value: int | None, is_tag: bool, names: dict[int, str]) -> str:
    if is_tag:
        return _ANSWERS.get(value or 0, "not known")
    return "no label" if value is None else names.get(value, "removed class")


def _button(label: str, key: str, act: Callable[..., None], *args: Any, disabled: bool) -> None:
    st.button(label, key=key, on_click=attempt, args=(act, *args), disabled=disabled)


def _keep(project: Project) -> None:
    project.edits.resolve_conflicts(selected_ids(_SELECTED))


def _take(project: Project, ids: tuple[int, ...]) -> None:
    """Take the answers of the copy; labels of segments that a removed tag would clear are asked about first."""
    confirm = pending_question(_TAKE, project, ids) is not None and tuple(selected_ids(_SELECTED)) == ids
    try:
        project.edits.resolve_conflicts(selected_ids(_SELECTED), take_theirs=True, confirm=confirm)
    except NeedsConfirmation as question:
        ask(_TAKE, project, tuple(selected_ids(_SELECTED)), str(question))
    else:
        settle(_TAKE)


def _review() -> None:
    st.session_state["review.order"] = "conflicts"
    go_to("review")
