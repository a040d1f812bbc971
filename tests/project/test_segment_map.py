"""The map of segments: what lies together, what is like nothing named, the job, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miml_core import BACKGROUND, BagtagError
from miml_core.project import Project
from miml_core.project.similarity import layout, segment_map, unnamed
from miml_core.project.similarity.segment_map import NO_LABEL, make_map
from tests.conftest import PATIENCE
from tests.project.conftest import add_bags, row_of_boxes, store_run
from tests.project.job_stages import Forked, do

KINDS = 3
PER_BAG = 10
N_BAGS = 15


def check_progress(step: int, of: int, info: Mapping[str, Any]) -> None:
    assert 0 <= step <= of and info["what"]


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer steps arrange so few segments well enough."""
    monkeypatch.setattr(layout, "_EARLY", 60)
    monkeypatch.setattr(layout, "_LATER", 60)


@pytest.fixture
def kinds(project: Project) -> Project:
    """15 bags of ten segments; the segments of a bag are of one of three kinds, two of which have a class."""
    bags = add_bags(project, N_BAGS)
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(KINDS, 4))
    for place, bag in enumerate(bags):
        instances = row_of_boxes(PER_BAG, seed=place)
        instances.X[:] = centres[place % KINDS] + rng.normal(size=(PER_BAG, 4))
        project.segments.store(bag, instances)
    for name in ("Wren", "Robin"):
        project.edits.add_class(name)
    return project


def kind_of(project: Project, segment_ids: np.ndarray) -> np.ndarray:
    bags = {bag: place % KINDS for place, bag in enumerate(project.bags.ids())}
    owner = {segment: bags[bag] for bag in bags for segment in project.segments.features(bag)[0].tolist()}
    return np.array([owner[int(each)] for each in segment_ids])


def predict_two_kinds(project: Project, probability: float) -> None:
    """Let a run be sure of the kinds with a class, and find the third one `probability` likely a wren."""

    def posterior(n: int) -> np.ndarray:
        _, index = project.bags.bagset()
        kind = kind_of(project, index.segment_ids)
        rows = np.array([[0.95, 0.0, 0.05], [0.0, 0.95, 0.05], [probability, 0.0, 1 - probability]])
        return rows[kind]

    finish_bags(project)
    store_run(project, posterior)


def finish_bags(project: Project) -> None:
    """Tag the bags of the first two kinds with their classes, those of the third kind with nothing."""
    for place, bag in enumerate(project.bags.ids()):
        if place % KINDS < 2:
            project.edits.tag(bag, project.classes.list()[place % KINDS].id, 1)
        project.edits.finish(bag)


def test_segments_that_are_alike_lie_together(kinds):
    made = make_map(kinds.store, check_progress)
    assert made.places.shape == (KINDS * PER_BAG * N_BAGS // KINDS, 2) and np.abs(made.places).max() <= 1.0
    kind = kind_of(kinds, made.segment_ids)
    distance = np.linalg.norm(made.places[:, None] - made.places[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    assert (kind[distance.argmin(axis=1)] == kind).mean() > 0.95
    again = make_map(kinds.store, check_progress)
    assert np.array_equal(made.places, again.places), "the same segments give the same map"


def test_a_kind_that_has_no_class_stands_out_until_it_is_named(kinds):
    make_map(kinds.store, check_progress)
    made = kinds.similarity.map()
    assert kinds.similarity.unnamed(made, kinds.similarity.map_state(made)) == [], "of untagged bags nothing is known"
    predict_two_kinds(kinds, 0.8)
    assert kinds.similarity.unnamed(made, kinds.similarity.map_state(made)) == [], "the model names it surely"
    predict_two_kinds(kinds, 0.2)
    found = kinds.similarity.unnamed(made, kinds.similarity.map_state(made))
    together = np.concatenate(found)
    assert set(kind_of(kinds, together).tolist()) == {2} and len(together) >= 20
    assert len(found[0]) >= unnamed.FEWEST
    kinds.edits.set_label(together.tolist(), kinds.classes.list()[1].id)
    assert kinds.similarity.unnamed(made, kinds.similarity.map_state(made)) == []


def test_background_that_a_person_confirmed_does_not_stand_out(kinds):
    make_map(kinds.store, check_progress)
    made = kinds.similarity.map()
    predict_two_kinds(kinds, 0.0)
    state = kinds.similarity.map_state(made)
    assert (state.predicted[kind_of(kinds, made.segment_ids) == 2] == BACKGROUND).all()
    ids = np.concatenate(kinds.similarity.unnamed(made, state)).tolist()
    kinds.edits.set_label(ids, BACKGROUND)
    assert kinds.similarity.unnamed(made, kinds.similarity.map_state(made)) == []


def test_the_state_of_a_map_follows_edits(kinds):
    make_map(kinds.store, check_progress)
    made = kinds.similarity.map()
    before = kinds.similarity.map_state(made)
    assert before.live.all() and (before.labels == NO_LABEL).all()
    first, second, third = made.segment_ids[:3].tolist()
    kinds.edits.set_label([first], kinds.classes.list()[0].id)
    kinds.edits.set_label([second], BACKGROUND)
    kinds.edits.delete([third])
    now = kinds.similarity.map_state(made)
    assert now.labels[:2].tolist() == [kinds.classes.list()[0].id, BACKGROUND]
    assert now.live.tolist() == [True, True, False, *[True] * (len(now.live) - 3)]
    assert now.bag_ids[0] == kinds.segments.get(first).bag_id


def test_labels_accepted_by_threshold_are_not_checked(kinds):
    make_map(kinds.store, check_progress)
    predict_two_kinds(kinds, 0.2)
    made = kinds.similarity.map()
    kinds.edits.accept_above(0.9)
    assert (kinds.similarity.map_state(made).labels == NO_LABEL).all()


def test_a_large_project_is_shown_by_a_sample_with_what_was_checked(kinds, monkeypatch):
    monkeypatch.setattr(segment_map, "MOST_SEGMENTS", 40)
    checked = [int(kinds.segments.features(bag)[0][0]) for bag in kinds.bags.ids()]
    kinds.edits.set_label(checked, BACKGROUND)
    made = make_map(kinds.store, check_progress)
    assert len(made.segment_ids) == 40 and made.n_all == PER_BAG * N_BAGS
    assert set(checked) <= set(made.segment_ids.tolist())


def test_too_few_segments_are_refused(small):
    with pytest.raises(BagtagError, match="at least 20"):
        make_map(small.store, check_progress)
    assert small.similarity.map() is None


def test_a_damaged_file_is_no_map(kinds):
    make_map(kinds.store, check_progress)
    (path,) = (kinds.folder / "cache").rglob("map.npz")
    content = dict(np.load(path))
    for name, value in (("clusters", content["clusters"][:3]), ("places", content["places"][:3])):
        np.savez(path, **{**content, name: value})
        assert kinds.similarity.map() is None
    path.write_bytes(b"no map")
    assert kinds.similarity.map() is None


@pytest.mark.slow
def test_a_job_makes_the_map_and_can_be_cancelled(kinds: Project, forked: Forked, tmp_path: Path) -> None:
    job = do(kinds, "map")
    assert job.message == "computed the map of 150 segments" and kinds.similarity.map() is not None
    forked.hold_at = 1
    held = kinds.jobs.start("map")
    forked.wait_for_step(1)
    kinds.jobs.cancel(held.id)
    assert kinds.jobs.wait(held.id, timeout=PATIENCE).state == "cancelled"
    assert kinds.similarity.map() is not None, "the earlier map stays"
