"""Finding segments anew keeps what people did, and tells beforehand what it cannot keep."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.instances import Instances
from miml_core.media.grid import Grid
from miml_core.project import CannotUndo, Project, features, settings
from tests.project.conftest import boxes, ring, row_of_boxes


def labels(project: Project, bag_id: int = 1) -> dict[float, int | None]:
    """Start of each segment -> its label."""
    return {round(segment.left, 3): segment.label for segment in project.segments(bag_id)}


def test_the_same_segments_keep_ids_labels_and_history(small: Project) -> None:
    before = {segment.id for segment in small.segments(1)}
    small.correct(2, 1)
    small.store_instances(1, row_of_boxes(5, seed=9))
    assert {segment.id for segment in small.segments(1)} == before
    assert small.segment(2).label == 1
    small.undo()
    assert small.segment(2).label is None


def test_a_label_follows_a_segment_that_moved_a_little(small: Project) -> None:
    small.correct(1, 1)
    small.correct(2, 2)
    small.store_instances(1, boxes((10, 1, 30, 9), (10, 40, 30, 48)))
    assert labels(small) == {0.1: 1, 4.0: None}
    assert small.segment(1).label == 1, "it is still the same segment"
    note = small.history(limit=1)[0]
    assert note.kind == "note" and "segment 2 (Robin)" in note.sentence
    assert small.bag(1).n_reviewed == 1


def test_undo_of_a_label_that_went_with_its_segment_says_why_not(small: Project) -> None:
    small.correct(2, 2)
    small.store_instances(1, boxes((50, 50, 60, 60)))
    with pytest.raises(CannotUndo, match="found anew"):
        small.undo()


def test_what_people_drew_stays_and_nothing_is_found_on_top_of_it(small: Project) -> None:
    drawn = small.draw(1, [ring(7.0, 8.0, 1000, 3000)], label=3).created[0]
    small.store_instances(1, boxes((50, 70, 70, 80), (10, 0, 30, 8), (30, 90, 40, 99)))
    assert labels(small) == {7.0: 3, 0.0: None, 9.0: None}
    assert small.segment(drawn).origin == "drawn"


def test_what_people_deleted_does_not_come_back(small: Project) -> None:
    small.delete(3)
    small.store_instances(1, row_of_boxes(5))
    assert 2.0 not in labels(small) and len(labels(small)) == 4
    small.undo()
    assert 2.0 in labels(small)


def test_features_of_hand_made_segments_survive_while_settings_do(small: Project) -> None:
    merged = small.merge([1, 2]).created[0]
    with small.store.write() as connection:
        ids, X = features.of_bag(connection, 1)
        both = np.vstack([X, np.full((1, X.shape[1]), 7.0)])
        features.store(connection, 1, np.append(ids, merged), both, settings.feature_key(connection), exact=True)
    small.store_instances(1, row_of_boxes(5, seed=3))
    ids, X = small.features_of(1)
    assert sorted(ids) == [3, 4, 5, merged]
    assert (X[list(ids).index(merged)] == 7.0).all()
    expected = row_of_boxes(5, seed=3).X
    assert X[list(ids).index(3)] == pytest.approx(expected[2].astype(np.float32))
    assert small.n_to_describe() == 0


def test_another_grid_of_the_same_sound_is_matched_in_real_units(small: Project) -> None:
    small.correct(1, 1)
    finer = Grid(200, 160, 0.0, 10.0, 8000.0, 0.0)
    once = row_of_boxes(5)
    regions = [type(r)(2 * r.top, 2 * r.left, np.repeat(np.repeat(r.mask, 2, axis=0), 2, axis=1)) for r in once.regions]
    small.store_instances(1, Instances(finer, regions, once.X, once.names))
    assert labels(small)[0.0] == 1
    assert small.segment(1).label == 1


def test_new_segments_forget_old_predictions_of_their_bag_only(predicted: Project) -> None:
    predicted.store_instances(1, row_of_boxes(4))
    assert all(segment.prediction is None for segment in predicted.segments(1))
    assert all(segment.prediction is not None for segment in predicted.segments(2))
    assert {item.bag_id for item in predicted.review_queue()} == {2}


def test_the_preview_counts_what_is_at_risk(small: Project) -> None:
    small.correct([1, 2], 1)
    small.draw(1, [ring(7.0, 8.0, 1000, 3000)], label=3)
    seen = small.preview_resegment()
    assert (seen.n_bags, seen.n_kept_as_drawn, seen.n_reviewed, seen.n_at_risk) == (2, 1, 3, 2)
    spared = small.preview_resegment(scope="unreviewed")
    assert (spared.n_bags, spared.n_reviewed) == (1, 0)


def test_no_segments_at_all_is_fine(small: Project) -> None:
    small.store_instances(1, row_of_boxes(0))
    assert small.segments(1) == [] and small.bag(1).segmented
    small.tag(2, 1)
    bags, index = small.bagset()
    assert bags.n_bags == 1 and index.bag_ids.tolist() == [2]
