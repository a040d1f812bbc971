"""Predicting bags again after edits: once per pause, one at a time, and never twice for one bag in the queue."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from miml_core.project import Project
from miml_core.project.jobs import repredict
from tests.project.conftest import add_bags

pytestmark = pytest.mark.usefixtures("forked")


class Predicted:
    """A stand-in that records which bags were predicted, and can be held at the first."""

    folder = Path("nowhere")

    def __init__(self) -> None:
        self.bags: list[int] = []
        self.begun, self.go_on, self.all_done = threading.Event(), threading.Event(), threading.Event()

    def predict_bag(self, store: object, bag_id: int) -> int:
        self.begun.set()
        assert self.go_on.wait(60)
        self.bags.append(bag_id)
        if bag_id == 9:
            self.all_done.set()
        if bag_id == 3:
            raise RuntimeError("whatever goes wrong with one bag, the others follow")
        return 1


def test_bags_wait_in_one_queue_each_once(monkeypatch, caplog):
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    project = Predicted()
    monkeypatch.setattr("miml_core.project.learning.predicting.predict_bag", project.predict_bag)
    repredict.predict_soon(project, 1)
    assert project.begun.wait(60)
    n_threads = threading.active_count()
    for bag in (2, 3, 2, 3, 2, 9):
        repredict.predict_soon(project, bag)
    assert threading.active_count() == n_threads
    project.go_on.set()
    assert project.all_done.wait(60)
    assert sorted(project.bags) == [1, 2, 3, 9]
    assert [record.message for record in caplog.records] == ["Bag 3 could not be predicted again"]


@pytest.fixture
def trained(project: Project) -> Project:
    """Return a project of four tagged bags with a trained model."""
    add_bags(project, 4)
    for name in ("Wren", "Robin"):
        project.edits.add_class(name)
    for bag in range(1, 5):
        project.edits.tag(bag, 1 + bag % 2)
        project.edits.finish(bag)
    job = project.jobs.wait(project.jobs.start("train", {"params": {"alpha": 1.0}}).id, timeout=120)
    assert job.state == "done", job.message
    return project


def test_edits_of_any_program_are_followed_by_new_predictions(trained):
    folder = trained.folder
    with Project.open(folder) as before:
        earlier = [each.prediction.probabilities for each in before.segments.list(1)]
        before.edits.set_tags(1, {1: 1, 2: -1}, finish=True)
    with Project.open(folder) as after:
        now = [each.prediction.probabilities for each in after.segments.list(1)]
        assert now != earlier and all(each[2] == 0 for each in now), "no segment is what the bag is tagged as without"
        after.edits.undo()
    with Project.open(folder) as again:
        assert [each.prediction.probabilities for each in again.segments.list(1)] == earlier


def test_accepting_changes_no_prediction(trained):
    trained.store.bags_to_predict.clear()
    trained.edits.accept_bag(1)
    assert trained.store.bags_to_predict == set()


def test_a_project_without_a_model_has_nothing_to_predict(small):
    small.edits.tag(1, 1)
    assert small.store.bags_to_predict == {1}
    small.close()
    assert small.store.bags_to_predict == set()


def test_many_bags_are_left_to_a_job(trained, monkeypatch):
    monkeypatch.setattr(repredict, "_MOST_BAGS", 1)
    n_jobs = len(trained.jobs.list())
    trained.edits.merge_classes([2], 1)
    repredict.predict_noted(trained.store)
    assert [job.kind for job in trained.jobs.list()][: len(trained.jobs.list()) - n_jobs] == ["predict"]
    assert trained.jobs.wait(trained.jobs.list()[0].id, timeout=120).state == "done"


def test_a_training_after_the_edits_leaves_nothing_to_predict(trained, monkeypatch):
    """The demo is tagged, trained and then moved to its place: a job started on closing would remain."""
    monkeypatch.setattr(repredict, "_MOST_BAGS", 0)
    assert trained.store.bags_to_predict, "the tags were given before the training"
    n_jobs = len(trained.jobs.list())
    repredict.predict_noted(trained.store)
    assert len(trained.jobs.list()) == n_jobs
