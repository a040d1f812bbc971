"""The review queues of a project, and the accuracy."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.queries import prediction_blocks, scores
from tests.project.conftest import store_run


@pytest.fixture
def unsure(small: Project) -> Project:
    """Ten segments, the k-th with margin k / 10; without the tags the model predicts Owl for every other one."""

    def posterior(n: int) -> np.ndarray:
        margin = np.arange(n) / 10
        return np.column_stack([(1 + margin) / 2, (1 - margin) / 2, np.zeros(n), np.zeros(n)])

    def free(n: int) -> np.ndarray:
        owl = np.where(np.arange(n) % 2, 0.5 + np.arange(n) / 40, 0.1)
        return np.column_stack([np.full(n, 0.4), np.zeros(n), owl, np.zeros(n)])

    for bag in (1, 2):
        small.edits.tag(bag, 1)
        small.edits.tag(bag, 2)
    store_run(small, posterior, free)
    return small


def queue(project: Project, order: str, **options: int) -> list[int]:
    return [item.segment_id for item in project.review.queue(order, **options)]  # type: ignore[arg-type]


def test_the_least_sure_come_first_and_reviewed_ones_go(unsure: Project) -> None:
    assert queue(unsure, "least_sure") == list(range(1, 11))
    unsure.edits.set_label(1, 2)
    unsure.edits.accept(3)
    unsure.edits.delete(2)
    assert queue(unsure, "least_sure") == list(range(4, 11))
    unsure.edits.undo()
    assert queue(unsure, "least_sure") == [2, *range(4, 11)]
    assert unsure.review.sizes()["least_sure"] == 8
    assert queue(unsure, "least_sure", limit=2) == [2, 4]
    items = unsure.review.queue("least_sure", limit=1, exclude=[2])
    assert [item.segment_id for item in items] == [4]


def test_contradictions_follow_the_tags(unsure: Project) -> None:
    assert queue(unsure, "contradicts") == [], "an unknown tag contradicts nothing"
    unsure.edits.finish(1)
    assert queue(unsure, "contradicts") == [4, 2], "the surest first"
    assert [s.number for s in unsure.segments.list(1) if s.prediction and s.prediction.contradicts] == [2, 4]
    unsure.edits.tag(2, 3, -1)
    assert queue(unsure, "contradicts") == [10, 8, 6, 4, 2]
    unsure.edits.tag(2, 3, 1)
    assert queue(unsure, "contradicts") == [4, 2]
    unsure.edits.undo()
    assert queue(unsure, "contradicts") == [10, 8, 6, 4, 2]


def test_one_class_the_most_doubtful_first(unsure: Project) -> None:
    assert queue(unsure, "class", class_id=1) == list(range(1, 11))
    assert queue(unsure, "class", class_id=3) == []
    with pytest.raises(BagtagError, match="Choose the class"):
        unsure.review.queue("class")


def test_newest_and_random_are_all_of_them_once(unsure: Project) -> None:
    assert queue(unsure, "newest") == list(range(10, 0, -1))
    order = queue(unsure, "random")
    assert sorted(order) == list(range(1, 11)) and order != sorted(order)
    unsure.edits.accept(order[0])
    assert queue(unsure, "random") == order[1:], "the rest keeps its order"


def test_only_the_random_sample_counts_as_honest(unsure: Project) -> None:
    assert unsure.review.sample_accuracy().accuracy is None
    order = queue(unsure, "random")
    unsure.edits.accept(order[0], sampled=True)
    unsure.edits.set_label(order[1], 1, sampled=True)
    unsure.edits.set_label(order[2], BACKGROUND, sampled=True)
    unsure.edits.set_label(order[3], 2)
    sample = unsure.review.sample_accuracy()
    assert (sample.n, sample.n_right) == (3, 2)
    assert sample.low < 2 / 3 < sample.high
    assert (unsure.review.checked_accuracy().n, unsure.review.checked_accuracy().n_right) == (4, 2)
    unsure.edits.undo()
    unsure.edits.undo()
    assert (unsure.review.sample_accuracy().n, unsure.review.sample_accuracy().n_right) == (2, 2)


def test_another_run_has_its_own_accuracy_and_queue(unsure: Project) -> None:
    first = unsure.runs.current()
    assert first is not None
    unsure.edits.accept(queue(unsure, "random")[0], sampled=True)
    store_run(unsure, lambda n: np.tile([0.1, 0.2, 0.7, 0.0], (n, 1)))
    assert unsure.review.sample_accuracy().n == 0
    assert unsure.review.sample_accuracy(first.id).n == 1 == unsure.review.sample_accuracy(0).n
    assert len(queue(unsure, "class", class_id=3)) == 9
    unsure.runs.choose(first.id)
    assert queue(unsure, "class", class_id=3) == []
    assert unsure.runs.current() == unsure.runs.get(first.id)


def test_suggestions_are_the_likeliest_undecided_tags(unsure: Project) -> None:
    assert [each.class_id for each in unsure.review.tag_suggestions(1)] == [3]
    unsure.edits.tag(1, 1, 0)
    assert [each.class_id for each in unsure.review.tag_suggestions(1)] == [1, 3]


def test_merged_classes_add_up_in_predictions(unsure: Project) -> None:
    unsure.edits.merge_classes([2], 1)
    guess = unsure.segments.get(1).prediction
    assert guess is not None and guess.top == 1
    assert guess.probabilities[1] == pytest.approx(1.0) and 2 not in guess.probabilities
    assert len(queue(unsure, "class", class_id=1)) == 10
    unsure.edits.undo()
    guess = unsure.segments.get(1).prediction
    assert guess is not None and guess.probabilities[1] == pytest.approx(0.5, abs=1e-3)


def test_probabilities_are_kept_to_three_digits_and_add_up(unsure: Project) -> None:
    for segment in unsure.segments.list(2):
        guess = segment.prediction
        assert guess is not None
        assert sum(guess.probabilities.values()) == pytest.approx(1.0)
        assert guess.probabilities[1] == pytest.approx((1 + (segment.id - 1) / 10) / 2, rel=1e-3)


def test_a_run_counts_edits_made_after_it(unsure: Project) -> None:
    run = unsure.runs.current()
    assert run is not None and run.n_corrections_since == 0 and run.n_tags_since == 0
    unsure.edits.set_label(1, 3)
    run = unsure.runs.current()
    assert run is not None and run.n_corrections_since == 1 and run.n_tags_since == 1
    with pytest.raises(BagtagError, match="choose another one first"):
        unsure.runs.remove(run.id)


def test_the_most_informative_are_offered_only_by_a_run_that_has_it(unsure: Project) -> None:
    plain = unsure.runs.current()
    assert plain is not None
    assert "informative" not in unsure.review.sizes() and queue(unsure, "informative") == []
    store_run(unsure, lambda n: np.tile([0.6, 0.4, 0.0, 0.0], (n, 1)), informative=lambda n: np.arange(n) % 7 / 10)
    assert queue(unsure, "informative", limit=4) == [7, 6, 5, 4]
    assert unsure.review.queue("informative")[0].score == pytest.approx(0.6, rel=1e-3)
    unsure.edits.set_label(7, 2)
    unsure.edits.accept(5)
    unsure.edits.delete(4)
    assert queue(unsure, "informative", limit=1) == [6] and not {4, 5, 7} & set(queue(unsure, "informative"))
    assert unsure.review.sizes()["informative"] == 7
    unsure.runs.choose(plain.id)
    assert "informative" not in unsure.review.sizes() and queue(unsure, "informative") == []


def test_the_informative_queue_reads_its_index(unsure: Project) -> None:
    from sqlalchemy import text

    from miml_core.project.queries.review_queue import _ordered

    asked = str(_ordered("informative", None).limit(50).compile(compile_kwargs={"literal_binds": True}))
    with unsure.store.read() as connection:
        plan = " ".join(row[-1] for row in connection.execute(text(f"EXPLAIN QUERY PLAN {asked}")))
    assert "review_most_informative" in plan and "TEMP B-TREE" not in plan


def test_the_calibration_error_of_a_run_is_that_of_labels_given_after_it(
    unsure: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    for segment in range(1, 11):  # Wren is predicted with .5, .55 ... .95; it is right for every other one
        unsure.edits.set_label(segment, 1 + segment % 2)

    def found() -> dict[str, float]:
        with unsure.store.read() as connection:
            return scores.held_out_agreement(connection, prediction_blocks.current_run(connection))

    assert "calibration_error" not in found(), "ten are too few"
    monkeypatch.setattr(scores, "_FEWEST_CHECKED", 10)
    assert found()["calibration_error"] == pytest.approx(0.225, abs=0.01)
    assert found()["n_checked_before"] == 10
