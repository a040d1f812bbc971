"""Why a bag is tagged as it is: which segment speaks for which tag."""

from __future__ import annotations

import streamlit as st

from miml_core.project import Project, Segment, TagReason
from pages.widgets.text import plain

_SURE = 0.5


def why_this_segment(project: Project, segment: Segment) -> None:
    """A line for each tag that the segment explains better than the others of its bag."""
    names = {one.id: one.name for one in project.classes()}
    for reason in project.tag_reasons(segment.bag_id):
        if reason.segment_id == segment.id and reason.class_id in names:
            st.caption(f":material/sell: {_sentence(reason, plain(names[reason.class_id]), _bag_word(project))}")


def why_these_tags(project: Project, bag_id: int) -> None:
    """One line on all tags of a bag; nothing before there is a model."""
    reasons = project.tag_reasons(bag_id)
    if not reasons:
        return
    names = {one.id: one.name for one in project.classes()}
    numbers = {one.id: one.number for one in project.segments(bag_id, predictions=False, outlines=False)}
    parts = [
        f"{plain(names[reason.class_id])}: segment {numbers[reason.segment_id]}"
        for reason in reasons
        if reason.class_id in names and reason.segment_id in numbers
    ]
    st.caption(f":material/sell: Where the model finds the tags: {' · '.join(parts)}.")


def _sentence(reason: TagReason, name: str, bag: str) -> str:
    why = "This is why" if reason.probability >= _SURE else "Of all segments this is the likeliest reason why"
    kind = f" (sub-concept {reason.concept} of {reason.n_concepts})" if reason.n_concepts > 1 else ""
    return f"{why} the {bag} is tagged {name}{kind}."


def _bag_word(project: Project) -> str:
    return "clip" if project.kind == "sound" else "picture"
