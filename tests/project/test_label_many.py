"""Edits of many segments: a screen of the wall, and accepting by a threshold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from miml_core.bags import BACKGROUND, UNKNOWN
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.edits.stored_changes import dump_changes, load_changes
from miml_core.project.errors import BadEdit, NeedsConfirmation
from tests.project.conftest import add_bags, store_run

WREN, ROBIN, OWL = 1, 2, 3


def rising(n: int) -> np.ndarray:
    """Return probabilities of Wren, .55 to .95 in every five segments, Robin the rest."""
    wren = np.tile([0.55, 0.65, 0.75, 0.85, 0.95], n // 5)
    return np.column_stack([wren, 1 - wren, np.zeros(n), np.zeros(n)])


@pytest.fixture
def predicted(small: Project) -> Project:
    """Two bags of five segments, predicted as Wren with .55, .65, .75, .85 and .95."""
    store_run(small, rising, rising)
    return small


def labels(project: Project) -> dict[int, tuple[int | None, bool, str | None]]:
    return {s.id: (s.label, s.accepted, s.checked_by) for bag in (1, 2) for s in project.segments.list(bag)}


def database(project: Project) -> list[tuple[object, ...]]:
    """Return everything that an edit of labels may change, without revisions and times."""
    queries = (
        "SELECT segment_id, class_id, accepted, sampled, run_id, predicted, probability, checked_by FROM verdicts",
        "SELECT bag_id, class_id, value FROM tags ORDER BY bag_id, class_id",
        "SELECT segment_id, reviewed, contradiction FROM predictions ORDER BY segment_id",
        "SELECT id, n_tags, n_segments, n_reviewed, doubt FROM bags",
    )
    with project.store.read() as connection:
        return [tuple(row) for query in queries for row in connection.execute(text(query))]


# a screen of the wall


def test_a_screen_is_one_edit_and_keeps_what_the_run_predicted(predicted: Project) -> None:
    before = database(predicted)
    done = predicted.edits.label_many({1: WREN, 6: WREN}, {2: ROBIN, 3: BACKGROUND})
    assert done.sentence == "wall: accepted 2 segments, labelled 2"
    found = labels(predicted)
    assert found[1] == found[6] == (WREN, True, "eye")
    assert found[2] == (ROBIN, False, "eye") and found[3] == (BACKGROUND, False, "eye")
    assert predicted.bags.get(1).tags == {WREN: 1, ROBIN: 1} and predicted.bags.get(2).tags == {WREN: 1}
    assert (predicted.review.checked_accuracy().n, predicted.review.checked_accuracy().n_right) == (4, 2)
    predicted.edits.undo()
    assert database(predicted) == before
    predicted.edits.redo()
    assert labels(predicted) == found


def test_the_label_that_was_seen_is_accepted_even_if_the_model_has_changed_its_mind(predicted: Project) -> None:
    store_run(predicted, lambda n: rising(n)[:, [1, 0, 2, 3]], rising)
    predicted.edits.label_many({5: WREN}, {})
    assert labels(predicted)[5] == (WREN, True, "eye")
    assert predicted.review.checked_accuracy().n_right == 0, "the run predicts Robin by now"


def test_a_segment_that_is_gone_does_not_cost_the_others(predicted: Project) -> None:
    predicted.edits.delete(1)
    predicted.edits.label_many({1: WREN, 2: WREN}, {})
    assert labels(predicted)[2] == (WREN, True, "eye")
    with pytest.raises(BagtagError, match="None of these segments"):
        predicted.edits.label_many({1: WREN}, {})
    with pytest.raises(BagtagError, match="No segment was given"):
        predicted.edits.label_many({}, {})


@pytest.mark.parametrize("wrong", [{"accept": [[1]]}, {"accept": [["@1", 1]]}, {"accept": [[1, None]]}, {"accept": 3}])
def test_a_screen_of_another_shape_is_refused(predicted: Project, wrong: dict[str, object]) -> None:
    with pytest.raises(BadEdit):
        predicted.edits.apply_once("screen-1", 1, {"act": "label_many", "correct": [], **wrong})


def test_only_the_bags_with_a_correction_are_predicted_again(predicted: Project) -> None:
    predicted.edits.label_many({1: WREN, 6: WREN}, {})
    assert predicted.store.bags_to_predict == set()
    predicted.edits.undo()
    assert predicted.store.bags_to_predict == set()
    predicted.edits.label_many({1: WREN}, {6: ROBIN})
    assert predicted.store.bags_to_predict == {2}
    predicted.store.bags_to_predict.clear()
    predicted.edits.undo()
    assert predicted.store.bags_to_predict == {2}
    predicted.store.bags_to_predict.clear()
    predicted.edits.accept_above(0.5)
    predicted.edits.undo()
    assert predicted.store.bags_to_predict == set()


def test_a_screen_undoes_its_own_edit_whatever_came_since(predicted: Project) -> None:
    act = {"act": "label_many", "accept": [[1, WREN]], "correct": []}
    predicted.edits.apply_once("screen-1", 1, act)
    predicted.edits.set_label(7, OWL)
    predicted.edits.apply_once("screen-1", 2, {"act": "undo", "edit": 1})
    assert labels(predicted)[1][0] is None and labels(predicted)[7][0] == OWL


# accepting by threshold


def test_accepting_by_threshold_is_counted_before_and_undone_in_one_step(predicted: Project) -> None:
    before = database(predicted)
    assert predicted.review.count_above(0.7) == {WREN: 6} and predicted.review.count_above(0.99) == {}
    done = predicted.edits.accept_above(0.7)
    assert done.sentence == "accepted 6 predictions by threshold: probability 0.7 or more"
    assert [one for one, (label, *_) in labels(predicted).items() if label] == [3, 4, 5, 8, 9, 10]
    assert labels(predicted)[5] == (WREN, True, "threshold")
    assert predicted.review.count_above(0.7) == {}, "what is accepted is not accepted again"
    assert predicted.review.count_above(0.5) == {WREN: 4}
    predicted.edits.undo()
    assert database(predicted) == before
    predicted.edits.redo()
    assert labels(predicted)[5] == (WREN, True, "threshold")


def test_of_one_class_only(predicted: Project) -> None:
    predicted.edits.accept_above(0.7, class_id=ROBIN)
    assert not any(label for label, *_ in labels(predicted).values())
    with pytest.raises(BadEdit):
        predicted.edits.accept_above(1.2)


def test_of_the_run_that_was_seen_only(predicted: Project) -> None:
    current = predicted.runs.current()
    with pytest.raises(BagtagError, match=f"those of run {current.id} now, not of run {current.id + 1}"):
        predicted.edits.accept_above(0.7, run_id=current.id + 1)
    assert not any(label for label, *_ in labels(predicted).values())
    assert len(predicted.edits.accept_above(0.7, run_id=current.id).bags) == 2


def test_what_a_threshold_accepted_counts_nowhere_as_checked(predicted: Project) -> None:
    predicted.edits.accept_above(0.7)
    assert predicted.progress().n_reviewed == 0
    assert predicted.review.checked_accuracy().n == 0 and predicted.review.sample_accuracy(0).n == 0
    assert [one.n_segments for one in predicted.classes.list()] == [0, 0, 0]
    run = predicted.runs.current()
    assert run is not None and run.n_corrections_since == 0 and run.n_tags_since == 0
    assert predicted.bags.get(1).tags == {}, "a tag would train the model"
    predicted.edits.tag(1, WREN)
    bags, _ = predicted.bags.bagset()
    assert set(bags.labels.tolist()) == {UNKNOWN}
    preview = predicted.segments.preview_resegment([1])
    assert preview.n_reviewed == preview.n_at_risk == 0
    assert [one.kind for one in predicted.check()] == ["model"], "whose file these tests do not write"


def test_queues_leave_them_out_but_the_random_sample_keeps_them(predicted: Project) -> None:
    predicted.edits.accept_above(0.7)
    assert [one.segment_id for one in predicted.review.queue("least_sure")] == [1, 6, 2, 7]
    assert len(predicted.review.queue("random")) == 10, "without the sure ones the sample would be biased"
    sizes = predicted.review.sizes()
    assert (sizes["least_sure"], sizes["newest"], sizes["random"]) == (4, 4, 10)


def test_checking_one_by_eye_makes_it_an_ordinary_label(predicted: Project) -> None:
    predicted.edits.accept_above(0.7)
    predicted.edits.accept(5)
    assert labels(predicted)[5] == (WREN, True, "eye") and predicted.bags.get(1).tags == {WREN: 1}
    predicted.edits.set_label(4, ROBIN)
    assert (predicted.review.checked_accuracy().n, predicted.review.checked_accuracy().n_right) == (2, 1)
    predicted.edits.accept_bag(2)
    assert predicted.bags.get(2).n_reviewed == 5, "accepting the bag means all that nobody has seen"


def test_tags_of_a_person_clear_what_contradicts_them_without_a_question(predicted: Project) -> None:
    predicted.edits.accept_above(0.7)
    before = database(predicted)
    predicted.edits.tag(1, WREN, -1)
    assert [labels(predicted)[one][0] for one in (3, 4, 5)] == [None] * 3
    predicted.edits.undo()
    assert database(predicted) == before
    predicted.edits.finish(1, rest="unknown")
    assert labels(predicted)[5][0] == WREN
    predicted.edits.finish(1)
    assert labels(predicted)[5][0] is None, "Wren is absent now"
    predicted.edits.accept(10)
    with pytest.raises(NeedsConfirmation, match="A segment of"):
        predicted.edits.nothing_here(2)


def test_exports_tell_them_apart(predicted: Project) -> None:
    predicted.edits.accept(1)
    predicted.edits.accept_above(0.9)
    assert [(row.segment, row.checked_by) for row in predicted.exports.rows("confirmed")] == [(1, "eye")]
    rows = predicted.exports.rows("accepted")
    assert [(row.segment, row.status, row.checked_by) for row in rows] == [
        *((1, "confirmed", "eye"), (5, "accepted", "threshold"), (10, "accepted", "threshold")),
    ]
    assert len(predicted.exports.rows("predicted", min_probability=0.99)) == 3


def test_without_predictions_there_is_nothing_to_accept(small: Project) -> None:
    with pytest.raises(BagtagError, match="train a model first"):
        small.edits.accept_above(0.5)


def test_many_rows_are_stored_as_a_table_and_undone_together(project: Project) -> None:
    add_bags(project, 3, n_segments=10)
    project.edits.add_class("Wren"), project.edits.add_class("Robin"), project.edits.add_class("Owl")
    store_run(project, rising, rising)
    before = database(project)
    project.edits.accept_above(0.5)
    with project.store.read() as connection:
        (stored,) = connection.execute(text("SELECT changes FROM history WHERE act = 'accept_above'")).scalars()
    assert len(stored) < 30 * 60 and len(load_changes(stored)) == 30
    project.edits.set_label(4, OWL)
    with pytest.raises(BagtagError, match="later edit depends on it"):
        project.edits.undo_entry(project.edits.history()[1].id)
    project.edits.undo()
    project.edits.undo()
    assert database(project) == before


VALUES = st.one_of(st.none(), st.integers(-5, 5), st.binary(max_size=4), st.text(max_size=3), st.booleans())
ROWS = st.one_of(st.none(), st.fixed_dictionaries({"a": VALUES, "b": VALUES}))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["tags", "verdicts"]), st.lists(st.integers(1, 9), max_size=2), ROWS, ROWS)))
def test_stored_changes_read_back_as_they_were(changes: list[tuple[str, list[int], object, object]]) -> None:
    long = [change for change in changes for _ in range(25)]
    assert load_changes(dump_changes(long)) == long  # type: ignore[arg-type]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from(["many", "above", "eye", "tag", "finish"]), st.integers(1, 10)), max_size=6))
def test_undoing_all_edits_restores_everything(predicted: Project, steps: list[tuple[str, int]]) -> None:
    before, edits = database(predicted), predicted.edits
    made: list[int | None] = []
    for what, number in steps:
        bag = 1 + (number > 5)
        if what == "many":
            done = edits.label_many({number: WREN}, {number % 10 + 1: ROBIN})
        elif what == "above":
            done = edits.accept_above(0.5 + number / 20)
        elif what == "eye":
            done = edits.accept(number)
        elif what == "tag":
            done = edits.tag(bag, WREN, -1, confirm=True)
        else:
            done = edits.finish(bag)
        made.append(done.history_id)
    for _ in [entry for entry in made if entry is not None]:
        edits.undo()
    assert database(predicted) == before
