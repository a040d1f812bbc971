"""Accept all predictions above a threshold: how many there are, how many are expected to be wrong, then one edit."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.queries.checked_predictions import CheckedPredictions
from miml_core.review.threshold import FEWEST_CHECKED, ThresholdOutlook, outlook
from pages.widgets.confirmation import ask, dismiss_question, pending_question
from pages.widgets.errors import attempt
from pages.widgets.text import class_names, count, percent, plain, thousands
from pages.widgets.undo_offer import keep_for_undo, kept_for_undo, offer_undo

_THRESHOLD = "train.threshold"
_CLASS = "train.threshold.class"
_ASKED = "accept_above"
_DONE = "train.accepted"
_DEFAULT = 0.9


def chosen_threshold() -> float:
    """Return the probability that the slider stands at."""
    return round(float(st.session_state.get(_THRESHOLD, _DEFAULT)), 2)


def accept_above(project: Project, checked: CheckedPredictions, *, in_one_row: bool = False) -> None:
    """Draw the slider, what it would mean, and the button that asks before it accepts."""
    names = class_names(project.classes.list())
    of_class, above = st.columns(2, gap="large") if in_one_row else (st.container(), st.container())
    class_id = of_class.selectbox(
        "Predictions of",
        [None, *sorted(names, key=lambda one: names[one].casefold())],
        format_func=lambda one: "all classes" if one is None else names[one],
        key=_CLASS,
    )
    above.slider("with a probability of at least", 0.5, 1.0, _DEFAULT, 0.01, key=_THRESHOLD)
    current = project.runs.current()  # read before the numbers: if another run is chosen meanwhile, nothing is accepted
    run_id = None if current is None else current.id
    expected = _outlook(project, checked, class_id)
    st.markdown(f"**{_sentence(expected)}**")
    st.caption(_evidence(expected, len(checked)))
    _button(project, expected, class_id, run_id)
    _undo(project)


def _outlook(project: Project, checked: CheckedPredictions, class_id: int | None) -> ThresholdOutlook:
    """Return what to expect; of one class, if people checked enough predictions of just that class."""
    open_ = project.review.open_predictions(class_id)
    probability, right = checked.probability, checked.right
    of_class = checked.predicted == class_id
    if class_id is not None and of_class.sum() >= FEWEST_CHECKED:
        probability, right = probability[of_class], right[of_class]
    return outlook(chosen_threshold(), open_, probability, right)


def _sentence(expected: ThresholdOutlook) -> str:
    start = f"At {expected.threshold:.2f}: {count(expected.n, 'segment')}"
    if expected.share_right is None:
        return start
    return f"{start}, about {percent(expected.share_right)} correct, {_errors(expected)}"


def _errors(expected: ThresholdOutlook) -> str:
    n = round(expected.n_errors)
    return "fewer than one error" if n == 0 else f"about {count(n, 'error')}"


def _evidence(expected: ThresholdOutlook, n_checked: int) -> str:
    if not n_checked:
        return "By the model's own probabilities, as nothing has been checked yet."
    if n_checked < FEWEST_CHECKED:
        return (
            f"By the model's own probabilities: only {count(n_checked, 'segment')} checked so far. Check "
            f"{FEWEST_CHECKED} or more, best in the order *Random sample* of Review, to see how often they are correct."
        )
    found = expected.checked
    if not found.n:
        return "No checked segment has a probability this high; the estimate uses the model's probabilities."
    return (
        f"Of {count(found.n, 'checked segment')} with such a probability, {percent(found.value or 0.0)} were correct "
        f"(95 % interval {percent(found.low)} to {percent(found.high)})."
    )


def _button(project: Project, expected: ThresholdOutlook, class_id: int | None, run_id: int | None) -> None:
    subject = (expected.threshold, class_id, expected.n, run_id)
    question = pending_question(_ASKED, project, subject)
    with st.container(key="accept-above", gap="small"):
        if question is None:
            st.button(
                "Accept all of these …",
                key="train.accept",
                icon=":material/done_all:",
                disabled=not expected.n,
                help="They are marked as accepted by threshold, and never count as checked by eye.",
                on_click=_ask,
                args=(project, expected, subject),
            )
            return
        st.warning(question, icon=":material/done_all:")
        with st.container(horizontal=True, gap="small"):
            # The key names what is accepted: a click is always meant for the number beside the button.
            st.button(
                f"Accept {thousands(expected.n)}",
                key=f"train.accept.{hash(subject)}",
                type="primary",
                on_click=attempt,
                args=(_accept, project, expected, class_id, run_id),
            )
            st.button("Cancel", key="train.accept.cancel", type="tertiary", on_click=dismiss_question, args=(_ASKED,))


def _ask(project: Project, expected: ThresholdOutlook, subject: Hashable) -> None:
    st.session_state.pop(_DONE, None)
    question = (
        f"Accept {count(expected.n, 'prediction')} without looking at them? Expect {_errors(expected)}. "
        "They get their labels in exports, marked as accepted by threshold. You can undo this."
    )
    ask(_ASKED, project, subject, question)


def _accept(project: Project, expected: ThresholdOutlook, class_id: int | None, run_id: int | None) -> None:
    dismiss_question(_ASKED)
    above = project.review.count_above(expected.threshold)
    n = sum(above.values()) if class_id is None else above.get(class_id, 0)
    if n != expected.n:
        raise BagtagError(
            f"The predictions have changed: there are {n} of at least {expected.threshold:.2f} now, not {expected.n}. "
            "Nothing was accepted; look at the new numbers."
        )
    keep_for_undo(_DONE, project, project.edits.accept_above(expected.threshold, class_id, run_id=run_id))


def _undo(project: Project) -> None:
    """Offer to undo the acceptance until the next question."""
    if (result := kept_for_undo(_DONE, project)) is not None:
        offer_undo(_DONE, project, result, plain(f"You {result.sentence}."))
