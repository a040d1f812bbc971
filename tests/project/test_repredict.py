"""Predicting bags again after edits: once per pause, one at a time, and never twice for one bag in the queue."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from miml_core.project import Project
from miml_core.project.jobs import launch, repredict, worker
from miml_core.project.jobs.tasks import training
from miml_core.project.learning import predicting
from tests.conftest import PATIENCE
from tests.project.conftest import add_bags, open_copy, row_of_boxes
from tests.project.job_stages import forked_workers

pytestmark = pytest.mark.usefixtures("forked")


class Predicted:
    """A stand-in that records which bags were predicted, and can be held at the first."""

    folder = Path("nowhere")

    def __init__(self) -> None:
        self.bags: list[int] = []
        self.begun, self.go_on, self.all_done = threading.Event(), threading.Event(), threading.Event()

    def predict_bag(self, store: object, bag_id: int) -> int:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
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
    assert project.begun.wait(PATIENCE)
    for bag in (2, 3, 2, 3, 2, 9):
        repredict.predict_soon(project, bag)
    assert sum(one.name == "predict again" for one in threading.enumerate()) == 1
    project.go_on.set()
    assert project.all_done.wait(PATIENCE)
    assert sorted(project.bags) == [1, 2, 3, 9]
    assert [record.message for record in caplog.records] == ["Bag 3 could not be predicted again"]


def tag_and_train(project: Project) -> None:
    """Give an empty project four tagged bags and a trained model."""
    add_bags(project, 4)
    for name in ("Wren", "Robin"):
        project.edits.add_class(name)
    for bag in range(1, 5):
        project.edits.tag(bag, 1 + bag % 2)
        project.edits.finish(bag)
    train(project)


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project of four tagged bags with a trained model."""
    folder = tmp_path_factory.mktemp("trained") / "project"
    with forked_workers(), Project.create(folder, annotator="Ann") as project:
        tag_and_train(project)
    return folder


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path) -> Iterator[Project]:
    """Return a copy of the project of four tagged bags with a trained model."""
    with open_copy(trained_once, tmp_path / "project") as project:
        yield project


def train(project: Project) -> int:
    job = project.jobs.wait(project.jobs.start("train", {"params": {"alpha": 1.0}}).id, timeout=PATIENCE)
    assert job.state == "done", job.message
    return job.result["run"]


def stale(project: Project) -> list[int]:
    return predicting.stale_bags(project.store)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


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
    edits = trained.edits
    for edit in (
        lambda: edits.accept_bag(1),
        lambda: edits.accept([1, 2]),
        lambda: edits.label_many({1: 1}, {}),
        lambda: edits.accept_above(0.1),
        lambda: edits.set_note(1, "x"),
    ):
        for done in (edit(), edits.undo()):
            assert done.bags and trained.store.bags_to_predict == set() and stale(trained) == []


def test_what_was_to_be_predicted_before_accepting_still_is(trained):
    trained.edits.set_label(1, 2)
    trained.edits.accept([2])
    assert stale(trained) == [1]


def test_a_bag_that_changes_while_it_is_predicted_is_predicted_again(trained, monkeypatch):
    real, edits = predicting.predict, [lambda: trained.edits.accept([2])]

    def slow(model, bags):
        outputs = real(model, bags)
        if edits:
            edits.pop()()
        return outputs

    monkeypatch.setattr(predicting, "predict", slow)
    trained.edits.set_label(1, 2)
    trained.store.bags_to_predict.clear()
    assert trained.runs.predict_bag(1) == 0 and trained.store.bags_to_predict == {1} == set(stale(trained))
    edits.append(lambda: trained.edits.set_note(1, "x"))
    repredict.predict_noted(trained.store)
    assert not edits and stale(trained) == []
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    trained.store.predicts_in_background = True
    edits.append(lambda: trained.edits.set_note(1, "y"))
    trained.edits.set_label(1, 1)
    wait_until(lambda: stale(trained) == [] and not edits)


def test_a_bag_is_predicted_by_the_run_that_is_current_when_it_is_stored(trained, monkeypatch):
    train(trained)
    real, runs = predicting.predict, [1]
    monkeypatch.setattr(
        predicting, "predict", lambda *given: [real(*given), runs and trained.runs.choose(runs.pop())][0]
    )
    trained.edits.set_label(1, 2)
    repredict.predict_noted(trained.store)
    assert trained.runs.current().id == 1 and stale(trained) == []


def test_bags_that_were_edited_during_a_training_are_predicted_by_its_run(trained, monkeypatch):
    real = training._fit

    def fit(model, bags, context, warm):
        real(model, bags, context, warm)
        with Project.open(context.store.folder) as other:  # which predicts with the run before
            other.edits.set_label(1, 3 - (other.segments.get(1).label or 1))

    def work_here(folder, job_id):
        worker.main(str(folder), job_id)
        return os.getpid()

    monkeypatch.setattr(training, "_fit", fit)
    monkeypatch.setattr(launch, "start_worker", work_here)
    assert trained.runs.current().id < train(trained) == trained.runs.current().id
    assert stale(trained) == [] and trained.segments.get(1).prediction.probabilities[2] == 1
    monkeypatch.setattr(repredict, "_MOST_BAGS", 0)
    train(trained)
    job = trained.jobs.list()[0]
    assert job.kind == "predict" and trained.jobs.wait(job.id, timeout=PATIENCE).state == "done"
    assert stale(trained) == [] and trained.segments.get(1).prediction.probabilities[1] == 1


def test_a_run_that_is_chosen_predicts_what_changed_since_it_was_current(trained):
    train(trained)
    trained.store.bags_to_predict.clear()
    trained.edits.set_label(6, 2)
    trained.runs.predict_bag(2)
    trained.store.bags_to_predict.clear()
    trained.runs.choose(1)
    assert trained.store.bags_to_predict == {2}
    repredict.predict_noted(trained.store)
    assert stale(trained) == []


def test_a_newer_block_is_not_overwritten_by_a_job_that_began_earlier(trained):
    bags, index = trained.bags.bagset()
    earlier = predicting.predict(trained.runs.load_model(), bags)
    trained.edits.set_label(1, 2)
    trained.runs.predict_bag(1)
    newer = trained.segments.list(1)[0].prediction.probabilities
    predicting.write(trained.store, 1, index, earlier)
    assert trained.segments.list(1)[0].prediction.probabilities == newer and stale(trained) == []


def test_the_first_edit_in_a_server_notes_what_an_earlier_one_left(trained, monkeypatch):
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    trained.edits.set_label(1, 2)
    trained.store.bags_to_predict.clear()  # as in a server that was stopped
    opened = Project.open(trained.folder)
    opened.store.predicts_in_background = True
    revision = opened.revision
    opened.bags.list()
    opened.close()
    assert trained.revision == revision and stale(trained) == [1], "opening and reading predict nothing"
    opened.edits.set_note(4, "x")
    wait_until(lambda: stale(opened) == [])


@pytest.fixture
def served(trained, monkeypatch) -> Iterator[Project]:
    """Return the project as a server has it open, which finds at once what other programs left to predict."""
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    monkeypatch.setattr(repredict, "_EDITED_PAUSE_S", 0.0)
    with Project.open(trained.folder) as server:
        server.store.predicts_in_background = True
        repredict.note_revision(server.store, server.revision)
        yield server


def test_a_server_predicts_what_a_program_edited_that_never_closes_the_project(trained, served):
    trained.edits.set_label(1, 2)
    trained.edits.set_note(1, "x")
    assert stale(trained) == [1]
    repredict.note_revision(served.store, served.revision)
    wait_until(lambda: stale(served) == [])
    assert trained.segments.list(1)[0].prediction.probabilities[2] == 1


def test_a_server_looks_for_edits_of_others_only_if_the_project_changed(trained, served, monkeypatch):
    waiting, name = repredict._waiting, (str(served.folder), repredict._EDITED)
    monkeypatch.setattr(repredict, "_EDITED_PAUSE_S", 3600.0)
    repredict.note_revision(served.store, served.revision)
    assert name not in waiting
    trained.edits.set_label(1, 2)
    repredict.note_revision(trained.store, trained.revision)
    assert name not in waiting, "only a server does so"
    repredict.note_revision(served.store, served.revision)
    due = waiting[name]
    repredict.note_revision(served.store, served.revision)
    assert waiting.pop(name) == due, "polls do not put it off"


def test_a_server_leaves_bags_that_no_edit_changed_to_the_job_that_changes_them(trained, served):
    trained.segments.store(2, row_of_boxes(3, seed=9))
    trained.edits.set_label(1, 2)
    assert stale(trained) == [1, 2]
    assert predicting.stale_bags(served.store, edited_after=served.store.edits_noted_until) == [1]
    repredict.note_revision(served.store, served.revision)
    wait_until(lambda: stale(served) == [2])


def test_many_bags_that_another_program_edited_are_one_job(trained, served, monkeypatch):
    monkeypatch.setattr(repredict, "_MOST_BAGS", 0)
    n_jobs = len(trained.jobs.list())
    monkeypatch.setattr("miml_core.project.jobs.queue._launch", lambda store, job_id: None)
    for label in (1, 2):
        trained.edits.set_label(1, label)
        repredict._note_edited(served.store)
    assert [job.kind for job in trained.jobs.list()][: len(trained.jobs.list()) - n_jobs] == ["predict"]
    assert served.store.edits_noted_until < served.revision, "it looks again"


def test_restored_bags_are_predicted_by_the_present_run(trained):
    removed = trained.edits.remove_bags([1], confirm=True)
    assert 1 not in removed.bags_to_predict
    train(trained)
    trained.store.bags_to_predict.clear()
    trained.edits.undo_entry(removed.history_id)
    assert trained.store.bags_to_predict == {1} == set(stale(trained))
    repredict.predict_noted(trained.store)
    assert all(each.prediction for each in trained.segments.list(1))


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
    assert trained.jobs.wait(trained.jobs.list()[0].id, timeout=PATIENCE).state == "done"


def test_a_training_after_the_edits_leaves_nothing_to_predict(project, monkeypatch):
    """The demo is tagged, trained and then moved to its place: a job started on closing would remain."""
    tag_and_train(project)
    monkeypatch.setattr(repredict, "_MOST_BAGS", 0)
    assert project.store.bags_to_predict, "the tags were given before the training"
    n_jobs = len(project.jobs.list())
    repredict.predict_noted(project.store)
    assert len(project.jobs.list()) == n_jobs
