"""Labels of segments: corrections, accepted predictions, and what the model learns from them."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND, UNKNOWN
from miml_core.errors import BagtagError
from miml_core.project import Gone, Project
from miml_core.project.db import settings
from miml_core.project.learning import training_runs
from tests.project.conftest import store_run


def test_a_correction_adds_the_tag_in_the_same_act_and_undo_takes_both_back(small: Project) -> None:
    small.edits.tag(1, 2)
    small.edits.finish(1)
    segment = small.segments.list(1)[0]
    result = small.edits.set_label(segment.id, 1)
    assert result.touched == [segment.id]
    assert small.bags.get(1).tags == {1: 1, 2: 1}
    assert small.segments.get(segment.id).label == 1
    small.edits.undo()
    assert small.bags.get(1).tags == {2: 1}
    assert small.segments.get(segment.id).label is None
    small.edits.redo()
    assert small.bags.get(1).tags == {1: 1, 2: 1}
    assert small.segments.get(segment.id).label == 1


def test_labels_reach_the_bagset(small: Project) -> None:
    first, second, third, *_ = small.segments.list(1)
    small.edits.set_label(first.id, 2)
    small.edits.set_label([second.id, third.id], BACKGROUND)
    bags, index = small.bags.bagset()
    labels = dict(zip(index.segment_ids.tolist(), bags.labels.tolist()))
    column = index.class_ids.index(2)
    assert labels[first.id] == column
    assert labels[second.id] == labels[third.id] == BACKGROUND
    assert sum(label != UNKNOWN for label in labels.values()) == 3


def test_a_label_can_be_taken_back(small: Project) -> None:
    segment = small.segments.list(1)[0]
    small.edits.set_label(segment.id, 1)
    small.edits.set_label(segment.id, None)
    assert small.segments.get(segment.id).label is None
    assert small.bags.get(1).n_reviewed == 0
    assert small.bags.get(1).tags == {1: 1}, "the person may still mean the tag"


def test_accepting_confirms_what_is_predicted(predicted: Project) -> None:
    segments = predicted.segments.list(1)
    predicted.edits.accept(segments[0].id)
    seen = predicted.segments.get(segments[0].id)
    assert seen.label == 1 and seen.accepted and seen.annotator == "Ann"
    predicted.edits.set_label(segments[1].id, 2)
    predicted.edits.accept_bag(1)
    labels = [segment.label for segment in predicted.segments.list(1)]
    assert labels == [1, 2, 1, 1, 1], "earlier labels stay"
    assert predicted.bags.get(1).n_reviewed == 5
    predicted.edits.undo()
    assert [segment.label for segment in predicted.segments.list(1)] == [1, 2, None, None, None]


def test_nothing_to_accept_without_a_prediction(small: Project) -> None:
    with pytest.raises(BagtagError, match="train a model first"):
        small.edits.accept(small.segments.list(1)[0].id)
    with pytest.raises(BagtagError, match="train a model first"):
        small.edits.accept_bag(1)


def test_a_deleted_segment_cannot_be_corrected(small: Project) -> None:
    segment = small.segments.list(1)[0]
    small.edits.delete(segment.id)
    with pytest.raises(Gone):
        small.edits.set_label(segment.id, 1)


def test_a_changed_mind_does_not_change_what_had_been_predicted(predicted: Project) -> None:
    segment = predicted.segments.list(1)[0]
    predicted.edits.set_label(segment.id, 2, sampled=True)
    assert predicted.review.sample_accuracy().n_right == 0
    store_run(predicted, lambda n: np.tile([0.0, 1.0, 0.0, 0.0], (n, 1)))
    predicted.edits.set_label(segment.id, 3)
    assert predicted.review.sample_accuracy(0).n == 1
    assert predicted.review.sample_accuracy(0).n_right == 0


def test_accepting_a_bag_leaves_open_what_is_not_sure(small: Project) -> None:
    sure = np.array([[0.9, 0.05, 0.05, 0.0], [0.41, 0.3, 0.2, 0.09], [0.1, 0.7, 0.1, 0.1]])
    store_run(small, lambda n: np.resize(sure, (n, 4)))
    small.edits.accept_bag(1, sure_from=0.7)
    assert [segment.label for segment in small.segments.list(1)] == [1, None, 2, 1, None]
    small.edits.undo()
    assert [segment.label for segment in small.segments.list(1)] == [None] * 5


def test_the_threshold_of_certainty_is_the_runs_until_somebody_chooses_one(small: Project) -> None:
    assert small.review.sure_from() == 0.5
    run = store_run(small, lambda n: np.full((n, 4), 0.25))
    with small.store.write() as connection:
        training_runs.add_scores(connection, run, {"sure_from": 0.6234})
    assert small.review.sure_from() == small.review.default_sure_from() == 0.62
    before = small.revision
    small.review.set_sure_from(0.8)
    assert small.review.sure_from() == 0.8 and small.review.default_sure_from() == 0.62
    assert "settings" in small.news(before).topics
    assert "confidence threshold to 80%" in small.edits.history(limit=1)[0].sentence
    small.review.set_sure_from(None)
    assert small.review.sure_from() == 0.62
    with pytest.raises(BagtagError, match="between 0 and 1"):
        small.review.set_sure_from(1.5)
    with small.store.write() as connection:
        settings.put(connection, "sure_from", "high")  # a project that Bagtag did not write
    assert small.review.sure_from() == 0.62
