"""Which segments are alike: exact neighbours, vectors in the cache, and what changes meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.instances import feature_blocks
from miml_core.project.similarity import index as similarity_index
from miml_core.project.similarity.index import index_of
from miml_core.project.similarity.vectors import N_COMPONENTS, VectorSpace
from tests.project.conftest import add_bags, boxes, ring


@pytest.fixture
def bags(project: Project) -> Project:
    """Seven bags with 35 segments in all, and a class."""
    add_bags(project, 7)
    project.edits.add_class("Wren")
    return project


def features_of(project: Project) -> tuple[np.ndarray, np.ndarray]:
    found = [project.segments.features(bag) for bag in project.bags.ids()]
    return np.concatenate([ids for ids, _ in found]), np.concatenate([X for _, X in found])


def by_brute_force(project: Project, segment_id: int) -> list[int]:
    ids, X = features_of(project)
    vectors = index_of(project.store).space.transform(X).astype(float)
    distance = np.linalg.norm(vectors - vectors[ids == segment_id], axis=1)
    order = np.lexsort((ids, distance))
    return [int(each) for each in ids[order] if each != segment_id]


def nearest_ids(project: Project, segment_id: int, count: int = 50) -> list[int]:
    return [each for each, _ in project.similarity.nearest(segment_id, count)]


def test_the_nearest_are_exactly_those_of_a_full_comparison(bags):
    ids, _ = features_of(bags)
    for segment_id in (int(ids[0]), int(ids[-1])):
        found = bags.similarity.nearest(segment_id, 10)
        assert [each for each, _ in found] == by_brute_force(bags, segment_id)[:10]
        distances = [distance for _, distance in found]
        assert distances == sorted(distances) and distances[0] > 0


def test_a_copy_of_a_segment_is_the_nearest(small):
    one, other = small.bags.ids()
    small.segments.store(other, boxes((40, 0, 60, 8), seed=7))
    twin = boxes((10, 0, 30, 8), (40, 50, 60, 58), seed=7)
    small.segments.store(one, twin)
    (first, _), (copy,) = (small.segments.features(bag)[0] for bag in (one, other))
    assert small.similarity.nearest(int(copy), 1) == [(int(first), 0.0)]


def test_the_vectors_are_read_from_the_cache_next_time(bags, monkeypatch):
    segment = int(features_of(bags)[0][3])
    before = bags.similarity.nearest(segment, 20)
    monkeypatch.setattr(similarity_index, "build", lambda *_: pytest.fail("the vectors were computed again"))
    with Project.open(bags.folder) as again:
        assert again.similarity.nearest(segment, 20) == before


@pytest.mark.parametrize("damage", ["short", "gone", "text", "link"])
def test_damaged_files_are_computed_again(bags, damage, tmp_path):
    segment = int(features_of(bags)[0][3])
    before = bags.similarity.nearest(segment, 20)
    folder = bags.folder / "cache" / "similarity"
    (vectors,) = folder.glob("*.f32")
    if damage == "short":
        vectors.write_bytes(vectors.read_bytes()[:-4])
    elif damage == "gone":
        vectors.unlink()
    elif damage == "text":
        (folder / "vectors.npz").write_text("no arrays")
    else:
        vectors.replace(tmp_path / "elsewhere")
        vectors.symlink_to(tmp_path / "elsewhere")
    with Project.open(bags.folder) as again:
        assert again.similarity.nearest(segment, 20) == before


def test_edits_and_new_segments_are_found_at_once(bags):
    ids, _ = features_of(bags)
    asked, deleted, labelled = (int(each) for each in ids[[0, 7, 20]])
    assert deleted in nearest_ids(bags, asked)
    bags.edits.set_label([labelled], bags.classes.list()[0].id)
    assert not index_of(bags.store).changed, "a label changes no features"
    bags.edits.delete([deleted])
    assert deleted not in nearest_ids(bags, asked)
    bags.edits.undo()
    assert deleted in nearest_ids(bags, asked)
    (new,) = add_bags(bags, 8)
    bags.segments.store(new, boxes((10, 0, 30, 8), (40, 0, 60, 8), seed=50))
    assert set(bags.segments.features(new)[0].tolist()) <= set(nearest_ids(bags, asked))
    bags.edits.remove_bags([new])
    assert len(nearest_ids(bags, asked)) == len(ids) - 1


def test_a_segment_that_is_described_after_its_outline_changed_is_compared_as_it_is_now(bags, monkeypatch):
    bag = bags.bags.ids()[0]
    ids, X = bags.segments.features(bag)
    redrawn, asked = int(ids[0]), int(ids[1])
    bags.similarity.nearest(asked, 5)
    bags.edits.redraw(redrawn, [ring(0.5, 1.5, 1000.0, 3000.0)])
    with pytest.raises(BagtagError, match="has no features yet"):
        bags.similarity.nearest(redrawn)
    new = np.vstack([X[1:2] + 1e-4])
    monkeypatch.setattr("miml_core.project.instances.feature_blocks.describe_regions", lambda *_: new)
    assert feature_blocks.describe_bag(bags.store, bag) == 1
    assert nearest_ids(bags, redrawn, 1) == [asked]


def test_many_changes_make_the_file_again(bags, monkeypatch):
    monkeypatch.setattr(similarity_index, "_FEW", 3)
    segment = int(features_of(bags)[0][0])
    bags.similarity.nearest(segment)
    before = {path.name for path in (bags.folder / "cache" / "similarity").glob("*.f32")}
    bags.segments.store(bags.bags.ids()[-1], boxes(*[(10, 10 * k, 30, 10 * k + 8) for k in range(9)], seed=3))
    assert nearest_ids(bags, segment) == by_brute_force(bags, segment)
    assert not index_of(bags.store).changed
    assert len(before | {path.name for path in (bags.folder / "cache" / "similarity").glob("*.f32")}) == 2


def test_without_a_writable_cache_the_vectors_are_in_memory(bags):
    (bags.folder / "cache").mkdir(exist_ok=True)
    (bags.folder / "cache" / "similarity").write_text("a file where the folder should be")
    segment = int(features_of(bags)[0][0])
    assert nearest_ids(bags, segment) == by_brute_force(bags, segment)


def test_refusals_name_the_segment(bags):
    with pytest.raises(BagtagError, match="no longer exists"):
        bags.similarity.nearest(10_000)
    with pytest.raises(BagtagError, match="from 1 to"):
        bags.similarity.nearest(1, 0)


def test_embeddings_are_compared_by_direction_and_wide_ones_reduced():
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(10, 300))
    X = np.hstack([rng.normal(size=(400, 5)), rng.normal(size=(400, 10)) @ basis])
    X[7, 5:] = 0.0
    space = VectorSpace.fit(X, n_hand_made=5)
    assert space.cosine and space.width == N_COMPONENTS and space.first_column == 5
    vectors = space.transform(X)
    assert not vectors[7].any(), "what the embedding cannot describe has no direction"
    centred = np.delete(X[:, 5:], 7, axis=0) - space.centre
    cosine = centred @ centred.T / np.outer(*2 * [np.linalg.norm(centred, axis=1)])
    kept = np.delete(vectors, 7, axis=0)
    assert np.abs(kept @ kept.T - cosine).max() < 1e-3, "ten directions survive 128 components"


def test_ranks_do_not_depend_on_units_or_extremes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    skewed = np.column_stack([np.exp(5 * X[:, 0]), 1000 * X[:, 1] - 3, X[:, 2]])
    skewed[0, 2] = 1e9
    one, other = (VectorSpace.fit(each, 3).transform(each) for each in (X, skewed))
    assert np.abs(one - other)[1:].max() < 0.05
    assert one.min() >= 0 and one.max() <= 1
    constant = VectorSpace.fit(np.ones((20, 2)), 2).transform(np.array([[1.0, 1.0], [np.nan, np.inf]]))
    np.testing.assert_array_equal(constant, 0.5)
