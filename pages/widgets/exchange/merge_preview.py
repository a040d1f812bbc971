"""What a merge will do, how far two annotators agree, and what they answered differently."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.edits.merge_records import MergePlan
from miml_core.project.errors import NeedsConfirmation
from pages.widgets.app.session import go_to
from pages.widgets.confirmation import ask, dismiss_question, pending_question
from pages.widgets.errors import attempt
from pages.widgets.table_selection import ROWS_OR_A_CELL, selected_ids, selection_arguments
from pages.widgets.text import class_names, count, plain, when
from pages.widgets.undo_offer import offer_undo_of_latest

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
        st.warning("No recording or picture is in both projects, so there is nothing to merge.")
        return
    n_conflicts = counts["tag_conflicts"] + counts["label_conflicts"]
    tiles = [
        ("New tags", counts["new_tags"], "Tags of classes that nobody had decided here."),
        (
            "New labels",
            counts["new_labels"] + counts["new_segments"],
            "Segments that only the other annotator labelled or drew.",
        ),
        ("Agreed", counts["agreed_tags"] + counts["agreed_labels"], "Tags and labels that both gave."),
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
        parts.append(
            f"{count(counts['deleted_segments'], 'segment')} that the other annotator deleted will be deleted here."
        )
    if counts["kept_segments"]:
        parts.append(
            f"{count(counts['kept_segments'], 'segment')} that the other annotator deleted will stay, because of a "
            "label here."
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
                "Agreed": st.column_config.NumberColumn(width=70),
                "Compared": st.column_config.NumberColumn(
                    width=84, help="What both annotators answered independently."
                ),
            },
            placeholder="–",
            alt=f"Agreement of {title.lower()}",
        )
    every = [each for found in shown.values() for each in (found["overall"], *found["classes"].values())]
    if any(each.get("kappa") is None for each in every):
        st.caption("– : not defined, because both annotators always gave the same answer.")


def _row(name: str, found: dict[str, Any]) -> dict[str, Any]:
    interval = "" if found.get("kappa") is None else f"{found['low']:.2f} to {found['high']:.2f}"
    return {
        "Class": name,
        "Kappa": found.get("kappa"),
        "95 % interval": interval,
        "Agreed": found.get("agreed"),
        "Compared": found.get("n"),
    }


def merges_list(project: Project) -> None:
    """Show the copies that were merged so far, with their agreement."""
    for number, merge in enumerate(project.review.merges()):
        who = plain(", ".join(merge.people) or merge.source)
        with st.expander(f"Merged {when(merge.at)}: {who}", expanded=number == 0, key=f"merge-{merge.id}"):
            agreement_tables(merge.agreement)
            if number == 0:
                offer_undo_of_latest(project, "merge_copy", "Undo this merge", key="import.merge_undo")


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
                "Segment or tag": f"tag {names.get(each.class_id or 0, '?')}" if is_tag else f"segment {each.number}",
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
        **selection_arguments(_SELECTED, [each.id for each in found]),
    )
    chosen = tuple(selected_ids(_SELECTED))
    question = pending_question(_TAKE, project, chosen)
    with st.container(horizontal=True, key="conflict-buttons"):
        _button("Keep the answers here", "import.keep", _keep, project, disabled=not chosen)
        _button("Use the copy's answers", "import.take", _take, project, disabled=not chosen or question is not None)
        if n_segments:
            st.button("Review the segments", key="import.review", icon=":material/fact_check:", on_click=_review)
    if question is not None:
        st.warning(plain(question))
        # Not in the place of the first button, so that a double click does not confirm. The key names the conflicts.
        _button("Use them anyway", f"import.take.{hash(chosen)}", _take_anyway, project, chosen)


def _answer(value: int | None, is_tag: bool, names: dict[int, str]) -> str:
    if is_tag:
        return _ANSWERS.get(value or 0, "not known")
    return "no label" if value is None else names.get(value, "removed class")


def _button(label: str, key: str, act: Callable[..., None], *args: Any, disabled: bool = False) -> None:
    st.button(label, key=key, on_click=attempt, args=(act, *args), disabled=disabled)


def _keep(project: Project) -> None:
    project.edits.resolve_conflicts(selected_ids(_SELECTED))


def _take(project: Project) -> None:
    """Take the answers of the copy; ask first if a removed tag would clear labels of segments."""
    ids = tuple(selected_ids(_SELECTED))
    try:
        project.edits.resolve_conflicts(ids, take_theirs=True)
    except NeedsConfirmation as question:
        ask(_TAKE, project, ids, str(question))
    else:
        dismiss_question(_TAKE)


def _take_anyway(project: Project, ids: tuple[int, ...]) -> None:
    """Take the answers to the conflicts that the question was about."""
    if pending_question(_TAKE, project, ids) is None:  # Streamlit may run the callback of one click twice
        return
    dismiss_question(_TAKE)
    if tuple(selected_ids(_SELECTED)) != ids:
        raise BagtagError("The selection has changed, so nothing was done. Select the conflicts again.")
    project.edits.resolve_conflicts(ids, take_theirs=True, confirm=True)


def _review() -> None:
    st.session_state["review.order"] = "conflicts"
    go_to("review")
