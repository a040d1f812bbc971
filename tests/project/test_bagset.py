"""A project as a BagSet, and predictions written back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from miml_core.bags import UNKNOWN
from miml_core.errors import BagtagError
from miml_core.features import embeddings
from miml_core.features.acoustic import sound_feature_names
from miml_core.features.birdnet import find_species, species_weights
from miml_core.features.embeddings import Embedding, register_embedding
from miml_core.project import Project
from miml_core.project.instances import feature_blocks
from miml_core.project.queries import bagset
from tests.birdnet import needs_birdnet
from tests.project.conftest import N_FEATURES, add_bags, ring, row_of_boxes


def test_rows_are_the_segments_of_the_index(small: Project) -> None:
    small.edits.tag(1, 1)
    bags, index = small.bags.bagset()
    assert (bags.n_bags, bags.n_segments, bags.X.shape[1]) == (2, 10, N_FEATURES)
    assert bags.classes == ["Wren"] and bags.names == ["clip 0.wav", "clip 1.wav"]
    for place, bag_id in enumerate(index.bag_ids):
        rows = bags.rows(place)
        assert set(index.segment_ids[rows]) == {segment.id for segment in small.segments.list(int(bag_id))}
        assert bags.X[rows] == pytest.approx(row_of_boxes(5, seed=place).X.astype(np.float32))


def test_only_live_described_segments_take_part(small: Project) -> None:
    small.edits.tag(1, 1)
    small.edits.delete([1, 2])
    drawn = small.edits.draw(1, [ring(7.0, 8.0, 1000, 3000)]).created[0]
    _, index = small.bags.bagset()
    assert index.segment_ids.tolist() == [3, 4, 5, 6, 7, 8, 9, 10]
    assert small.segments.n_to_describe() == 1
    with small.store.write() as connection:
        feature_blocks._add(connection, 1, _described(small, drawn), index.feature_key)
    _, index = small.bags.bagset()
    assert sorted(index.segment_ids) == [3, 4, 5, 6, 7, 8, 9, 10, drawn]
    assert small.segments.n_to_describe() == 0


def _described(project: Project, segment_id: int) -> dict[int, tuple[bytes, np.ndarray]]:
    (region,) = [region for id_, region, _ in project.segments.regions(1) if id_ == segment_id]
    return {segment_id: (region.to_bytes(), np.zeros(N_FEATURES))}


def test_features_of_a_shape_that_changed_meanwhile_are_not_kept(small: Project) -> None:
    drawn = small.edits.draw(1, [ring(7.0, 8.0, 1000, 3000)]).created[0]
    described = _described(small, drawn)
    small.edits.redraw(drawn, [ring(6.0, 8.0, 1000, 3000)])
    with small.store.write() as connection:
        feature_blocks._add(connection, 1, described, small.settings.feature_key)
    assert drawn not in small.segments.features(1)[0]
    assert small.segments.n_to_describe() == 1


def test_errors_if_nothing_is_tagged_or_described(small: Project) -> None:
    with pytest.raises(BagtagError, match="Tag some bags"):
        small.bags.bagset()
    small.edits.tag(1, 1)
    for bag in (1, 2):
        small.segments.store(bag, row_of_boxes(0))
    with pytest.raises(BagtagError, match="detect segments on the Segment page first"):
        small.bags.bagset()


def test_some_bags_or_only_annotated_ones(project: Project) -> None:
    add_bags(project, 5)
    project.edits.add_class("Wren")
    project.edits.tag(2, 1)
    project.edits.nothing_here(4)
    project.edits.set_label(project.segments.list(5)[0].id, -2)
    assert project.bags.bagset([3, 1, 99])[1].bag_ids.tolist() == [1, 3]
    bags, index = project.bags.bagset(only_tagged=True)
    assert index.bag_ids.tolist() == [2, 4, 5]
    assert (bags.labels != UNKNOWN).sum() == 1
    assert index.segment_ids.tolist() == [s.id for bag in (2, 4, 5) for s in project.segments.list(bag)]


def with_embedding(project: Project, name: str, columns: int) -> int:
    """Describe the bags of a project by random hand-made features and columns of an embedding; return the former."""
    n_hand_made = len(sound_feature_names())
    project.set_settings(replace(project.settings, embedding=name))
    for bag in (1, 2):
        found = row_of_boxes(5)
        X = np.random.default_rng(bag).normal(size=(5, n_hand_made + columns))
        project.segments.store(bag, replace(found, X=X))
    return n_hand_made


def test_the_columns_of_an_embedding_are_a_group_with_its_classifier(small: Project, monkeypatch) -> None:
    def class_weights(names: list[str], scientific_names: list[str]) -> np.ndarray:
        known = {("Wren", "Troglodytes troglodytes"): 1.0, ("Owl", ""): 2.0}
        return np.array([known.get(each, np.nan) for each in zip(names, scientific_names)]) * np.ones((4, 1))

    monkeypatch.setattr(embeddings, "_registered", {})
    embedding = Embedding("three", "sound", ("a", "b", "c"), lambda clip: None, class_weights=class_weights)
    register_embedding(embedding)
    small.edits.change_class(1, scientific_name="Troglodytes troglodytes")
    small.edits.set_tags(1, {1: 1, 2: 1, 3: 1})
    n_hand_made = with_embedding(small, "three", 3)
    bags, _ = small.bags.bagset()
    assert [(group.name, group.n_columns) for group in bags.groups] == [("hand-made", n_hand_made), ("three", 3)]
    assert bags.pretrained is not None and bags.classes == ["Wren", "Robin", "Owl"]
    expected = np.vstack([np.zeros((n_hand_made, 3)), [[1.0, 0.0, 2.0]] * 4])
    expected[:, 1] = np.nan
    np.testing.assert_array_equal(bags.pretrained, expected)
    assert small.bags.bagset(only_tagged=True)[0].pretrained is not None
    register_embedding(replace(embedding, class_weights=lambda names, scientific_names: np.zeros((2, 2))))
    assert small.bags.bagset()[0].pretrained is None


def test_stored_features_of_an_embedding_that_is_not_installed_can_be_used(small: Project) -> None:
    small.edits.tag(1, 1)
    n_hand_made = with_embedding(small, "on another computer", 2)
    bags, _ = small.bags.bagset()
    assert bags.pretrained is None and [group.n_columns for group in bags.groups] == [n_hand_made, 2]


@needs_birdnet
def test_the_classifier_of_birdnet_is_that_of_the_classes(small: Project) -> None:
    small.edits.change_class(1, scientific_name="Troglodytes troglodytes")
    small.edits.change_class(3, name="creaking gate")
    small.edits.set_tags(1, {1: 1, 3: 1})
    n_hand_made = with_embedding(small, "birdnet-2.4", 1024)
    bags, _ = small.bags.bagset()
    assert bags.pretrained is not None
    weights, bias = species_weights((find_species("", "Troglodytes troglodytes").index,))
    np.testing.assert_array_equal(bags.pretrained[n_hand_made:, 0], np.append(weights[0], bias))
    assert np.isnan(bags.pretrained[:, 1]).all() and not bags.pretrained[:n_hand_made, 0].any()


def test_places_are_found_whatever_the_order() -> None:
    known = np.array([7, 3, 9])
    assert bagset._places(known, np.array([9, 3, 5, 10, 7])).tolist() == [2, 1, -1, -1, 0]


def test_the_search_for_places_needs_no_wanted_ones(small: Project) -> None:
    assert bagset._places(np.array([1]), np.array([], dtype=np.int64)).tolist() == []


def test_predictions_of_a_bag_that_changed_are_made_again(predicted: Project) -> None:
    from miml_core.project.queries import predictions

    run = predicted.runs.current()
    assert run is not None
    with predicted.store.read() as connection:
        assert predictions.bags_to_predict(connection, run.id) == []
    predicted.edits.tag(2, 1)
    with predicted.store.read() as connection:
        assert predictions.bags_to_predict(connection, run.id) == [2]
