"""Detecting segments again keeps the work of people, and a preview lists what it cannot keep."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.instances import Instances
from miml_core.media.grid import Grid
from miml_core.project import CannotUndo, Project
from miml_core.project.db import settings
from miml_core.project.instances import feature_blocks
from miml_core.project.queries import features
from tests.project.conftest import boxes, ring, row_of_boxes


def labels(project: Project, bag_id: int = 1) -> dict[float, int | None]:
    """Return {start of each segment: its label}."""
    return {round(segment.left, 3): segment.label for segment in project.segments.list(bag_id)}


def test_the_same_segments_keep_ids_labels_and_history(small: Project) -> None:
    before = {segment.id for segment in small.segments.list(1)}
    small.edits.set_label(2, 1)
    small.segments.store(1, row_of_boxes(5, seed=9))
    assert {segment.id for segment in small.segments.list(1)} == before
    assert small.segments.get(2).label == 1
    small.edits.undo()
    assert small.segments.get(2).label is None


def test_a_label_follows_a_segment_that_moved_a_little(small: Project) -> None:
    small.edits.set_label(1, 1)
    small.edits.set_label(2, 2)
    small.segments.store(1, boxes((10, 1, 30, 9), (10, 40, 30, 48)))
    assert labels(small) == {0.1: 1, 4.0: None}
    assert small.segments.get(1).label == 1, "it is still the same segment"
    note = small.edits.history(limit=1)[0]
    assert note.kind == "note" and "segment 2 (Robin)" in note.sentence
    assert small.bags.get(1).n_reviewed == 1


def test_undo_of_a_label_lost_with_its_segment_names_the_reason(small: Project) -> None:
    small.edits.set_label(2, 2)
    small.segments.store(1, boxes((50, 50, 60, 60)))
    with pytest.raises(CannotUndo, match="detected again"):
        small.edits.undo()


def test_what_people_drew_stays_and_nothing_is_found_on_top_of_it(small: Project) -> None:
    drawn = small.edits.draw(1, [ring(7.0, 8.0, 1000, 3000)], label=3).created[0]
    small.segments.store(1, boxes((50, 70, 70, 80), (10, 0, 30, 8), (30, 90, 40, 99)))
    assert labels(small) == {7.0: 3, 0.0: None, 9.0: None}
    assert small.segments.get(drawn).origin == "drawn"


def test_what_people_deleted_does_not_come_back(small: Project) -> None:
    small.edits.delete(3)
    small.segments.store(1, row_of_boxes(5))
    assert 2.0 not in labels(small) and len(labels(small)) == 4
    small.edits.undo()
    assert 2.0 in labels(small)


def test_features_of_hand_made_segments_survive_while_settings_do(small: Project) -> None:
    merged = small.edits.merge([1, 2]).created[0]
    with small.store.write() as connection:
        ids, X = features.of_bag(connection, 1)
        both = np.vstack([X, np.full((1, X.shape[1]), 7.0)])
        feature_blocks.store(connection, 1, np.append(ids, merged), both, settings.feature_key(connection), exact=True)
    small.segments.store(1, row_of_boxes(5, seed=3))
    ids, X = small.segments.features(1)
    assert sorted(ids) == [3, 4, 5, merged]
    assert (X[list(ids).index(merged)] == 7.0).all()
    expected = row_of_boxes(5, seed=3).X
    assert X[list(ids).index(3)] == pytest.approx(expected[2].astype(np.float32))
    assert small.segments.n_to_describe() == 0


def test_another_grid_of_the_same_sound_is_matched_in_real_units(small: Project) -> None:
    small.edits.set_label(1, 1)
    finer = Grid(200, 160, 0.0, 10.0, 8000.0, 0.0)
    once = row_of_boxes(5)
    regions = [type(r)(2 * r.top, 2 * r.left, np.repeat(np.repeat(r.mask, 2, axis=0), 2, axis=1)) for r in once.regions]
    small.segments.store(1, Instances(finer, regions, once.X, once.names))
    assert labels(small)[0.0] == 1
    assert small.segments.get(1).label == 1


def test_new_segments_forget_old_predictions_of_their_bag_only(predicted: Project) -> None:
    predicted.segments.store(1, row_of_boxes(4))
    assert all(segment.prediction is None for segment in predicted.segments.list(1))
    assert all(segment.prediction is not None for segment in predicted.segments.list(2))
    assert {item.bag_id for item in predicted.review.queue()} == {2}


def test_the_preview_counts_what_is_at_risk(small: Project) -> None:
    small.edits.set_label([1, 2], 1)
    small.edits.draw(1, [ring(7.0, 8.0, 1000, 3000)], label=3)
    seen = small.segments.preview_resegment()
    assert (seen.n_bags, seen.n_kept_as_drawn, seen.n_reviewed, seen.n_at_risk) == (2, 1, 3, 2)
    spared = small.segments.preview_resegment(scope="unreviewed")
    assert (spared.n_bags, spared.n_reviewed) == (1, 0)


def test_no_segments_at_all_is_fine(small: Project) -> None:
    small.segments.store(1, row_of_boxes(0))
    assert small.segments.list(1) == [] and small.bags.get(1).segmented
    small.edits.tag(2, 1)
    bags, index = small.bags.bagset()
    assert bags.n_bags == 1 and index.bag_ids.tolist() == [2]
