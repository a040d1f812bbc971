"""The Survey page: before there is a model, the form and its job, progress and failures, a sample and its results."""

from __future__ import annotations

import csv
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from sqlalchemy import update
from streamlit.testing.v1 import AppTest

from miml_core import installation
from miml_core.archive.bundle import read_bundle
from miml_core.archive.estimate_tables import counts_csv, precision_csv
from miml_core.archive.run import ApplyOptions, apply_model
from miml_core.archive.sample_project import add_run, draw_into_project, open_or_create_project, read_estimates
from miml_core.bags import BACKGROUND
from miml_core.project import Project
from miml_core.project.db.schema import jobs
from pages.widgets.folders.reachable import NotReachable
from pages.widgets.survey import sample_form
from pages.widgets.text import plain
from tests.archive.conftest import make_bundle, make_survey
from tests.conftest import PATIENCE
from tests.pages.conftest import place_of, press, texts
from tests.project.sounds import RATE

PER_CLASS = 3


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from miml_core.instances import InstanceSettings

    return make_bundle(tmp_path_factory.mktemp("bundle"), InstanceSettings.for_rate(RATE))


@pytest.fixture
def project(home: Path, bundle: Path, no_workers: None) -> Iterator[Project]:
    """A project with a trained run, beside the recordings of a survey."""
    make_survey(home / "survey", per_site=2)
    with open_or_create_project(home / "marsh", read_bundle(bundle), "Ann") as project:
        add_run(project, read_bundle(bundle), "Ann")
        yield project


@pytest.fixture
def archive(project: Project, bundle: Path) -> Path:
    """The results of the model, as a job would have stored them."""
    folder = project.folder.parent / "archive"
    apply_model(bundle, [project.folder.parent / "survey"], folder, ApplyOptions(in_process=True))
    installation.allow_folder(project.folder, folder, "archive")
    return folder


def set_job(project: Project, job_id: int, **values: Any) -> None:
    """Let a job be as far as its worker would have brought it."""
    with project.store.write() as connection:
        connection.execute(update(jobs).where(jobs.c.id == job_id).values(**values))


def test_without_a_model_or_without_dask_the_page_says_what_to_do(home, no_workers, project, show, monkeypatch):
    with Project.create(home / "empty") as empty:
        assert "There is no model to apply yet" in texts(show(empty, "survey"))
    monkeypatch.setattr("miml_core.archive.cluster.find_spec", lambda name: None)
    text = texts(show(project, "survey"))
    assert "needs Dask" in text and "make cluster" in text


def test_a_form_shows_its_first_folder_although_the_run_before_was_cut_off(project, show, monkeypatch):
    columns, cut_off = st.columns, []

    def cut_off_once(*args, **kwargs):
        if not cut_off:
            cut_off.append(True)
            st.rerun()  # ends the run as a request of the browser does
        return columns(*args, **kwargs)

    monkeypatch.setattr("pages.widgets.folders.folder_chooser.st.columns", cut_off_once)
    chooser = show(project, "survey").text_input(key="survey.parent")
    assert cut_off and chooser.proto.default == chooser.value == str(project.folder.parent)


def test_the_archive_of_a_sample_is_shown_and_opens_in_insights(project, archive, show, monkeypatch):
    assert "No archive yet" in texts(show(project, "survey"))
    draw_into_project(archive, project.folder, PER_CLASS)
    app = show(project, "survey")
    assert "No archive yet" not in texts(app) and plain(str(archive)) in texts(app)
    press(app, "Show in Insights")
    assert project.get_preference("insights") == {"archive": str(archive), "source": "archive"}
    monkeypatch.setattr("miml_core.archive.cluster.find_spec", lambda name: None)
    text = texts(show(project, "survey"))
    assert "needs Dask" in text and "Check a sample" in text, "results need no Dask"


def test_the_form_starts_the_job_in_the_folders_that_were_chosen(project, home, show):
    app = show(project, "survey")
    start = app.button(key="survey.start")
    place = place_of(app, app.expander[0])
    assert start.disabled and "Add a folder of recordings first" in texts(app)
    app.text_input(key="survey.folder").set_value("/etc").run()
    assert "is outside the folders that Bagtag may use" in texts(app)
    assert place_of(app, app.expander[0]) == place, "options that are open stay open while the page is drawn again"
    app.button(key="survey.add").click().run()
    assert app.button(key="survey.start").disabled
    app.text_input(key="survey.folder").set_value(str(home / "survey")).run()
    app.button(key="survey.add").click().run()
    assert place_of(app, app.expander[0]) == place
    app.text_input(key="survey.name").set_value("../elsewhere").run()
    press(app, "Apply the model")
    assert "is not a name for a folder" in texts(app) and project.jobs.list() == []
    app.text_input(key="survey.name").set_value("results").run()
    app.number_input(key="survey.workers").set_value(1).run()
    press(app, "Apply the model")
    (job,) = project.jobs.list()
    assert job.kind == "apply" and job.params["folders"] == [str(home / "survey")]
    assert job.params["archive"] == str(home / "results") and job.params["workers"] == 1
    assert job.params["run"] == project.runs.current().id
    press(app, "Apply the model")
    assert "is being applied already" in texts(app) and len(project.jobs.list()) == 1
    app.button(key=f"survey.stop.{job.id}").click().run()
    assert project.jobs.get(job.id).state == "cancelled"
    assert "What is finished is kept" in texts(app)
    press(app, "Continue")
    assert [one.kind for one in project.jobs.list(active=True)] == ["apply"]


def test_progress_failures_and_the_way_to_the_sample(project, archive, home, show):
    job = project.jobs.start("apply", {"folders": [str(home / "survey")], "archive": str(archive)})
    now = {"files": 5, "of_files": 5, "hours": 0.004, "of_hours": 0.004, "segments": 70, "failed": 1, "stage": "done"}
    model = next((archive / "models").iterdir()).stem
    params = {**job.params, "model": model}
    installation.record_job(project.folder, job.id, "apply", params)
    set_job(project, job.id, params=json.dumps(params), message="3 of 5 files", done=10, total=19, state="queued")
    app = show(project, "survey")
    assert not app.button(key=f"survey.stop.{job.id}").disabled and not app.metric
    ended = {"message": "5 of 5 files", "finished_at": 1.0, "result": json.dumps(now)}
    set_job(project, job.id, state="done", **ended)
    app = show(project, "survey")
    assert {"5 of 5", "0.00 of 0.00", "70", "1"} == {one.value for one in app.metric}
    (failures,) = [one for one in app.dataframe if "Reason" in one.value.columns]
    assert failures.value["File"].tolist() == ["survey/marsh/20240501_230000.wav"]
    app.number_input(key="survey.per_class").set_value(PER_CLASS).run()
    press(app, "Draw a sample")
    (sample,) = [one for one in project.jobs.list() if one.kind == "sample"]
    assert sample.params["per_class"] == PER_CLASS and sample.params["project"] is None
    assert sample.params["model"] == model
    result = json.dumps({"project": str(project.folder)})
    set_job(project, sample.id, state="done", message="9 detections", result=result)
    app = show(project, "survey")
    assert "9 detections" in texts(app) and app.button(key="survey.review").label == "Open in Review"


def test_the_form_of_a_sample_stays_with_what_was_typed(project, archive, home, show, monkeypatch):
    app = show(project, "survey")
    app.segmented_control(key="survey.into").set_value("new").run()
    app.text_input(key="survey.check_parent").set_value(str(home / "survey")).run()
    app.text_input(key="survey.check_name").set_value("half a na").run()
    app.number_input(key="survey.seed").set_value(7).run()

    def check_form(*, disabled: bool, shown: str) -> None:
        assert shown in texts(app.run()) and not app.exception
        assert app.text_input(key="survey.check_name").value == "half a na"
        assert app.text_input(key="survey.check_parent").value == str(home / "survey")
        assert app.number_input(key="survey.seed").value == 7
        assert app.button(key="survey.draw").disabled == disabled

    check_form(disabled=False, shown="Check a sample")
    job = project.jobs.start("sample", {"archive": str(archive), "per_class": PER_CLASS})
    check_form(disabled=True, shown="Check a sample")
    set_job(project, job.id, state="failed", message="the disk is full")
    check_form(disabled=False, shown="the disk is full")
    set_job(project, job.id, state="done", message="9 detections", result=json.dumps({"project": str(home / "check")}))
    check_form(disabled=False, shown="9 detections")
    with monkeypatch.context() as patch:
        patch.setattr(sample_form, "archives_of", not_reachable)
        check_form(disabled=False, shown="does not respond")
    with monkeypatch.context() as patch:
        patch.setattr(sample_form, "models_of", not_reachable)
        check_form(disabled=False, shown="does not respond")
    check_form(disabled=False, shown="9 detections")


def not_reachable(_: object) -> Any:
    raise NotReachable("The disk does not respond.")


def sample_script() -> None:
    from pathlib import Path

    import streamlit as st

    from miml_core.project import Project
    from pages.widgets.survey.sample_form import draw_sample

    with Project.open(Path(st.session_state["folder"]), annotator="Ann") as project:
        draw_sample(project)


def test_a_sample_is_drawn_once_and_the_form_stays_when_the_project_has_one(project, archive):
    app = AppTest.from_function(sample_script, default_timeout=PATIENCE)
    app.session_state["folder"] = str(project.folder)
    app.run()
    job = project.jobs.start("sample", {"archive": str(archive), "per_class": PER_CLASS})  # in another tab
    app.button(key="survey.draw").click().run()
    assert project.jobs.list() == [job] and "is being drawn already" in texts(app)
    set_job(project, job.id, state="cancelled")
    app.number_input(key="survey.seed").set_value(7).run()
    draw_into_project(archive, project.folder, PER_CLASS)
    assert app.run().number_input(key="survey.seed").value == 7
    app.button(key="survey.draw").click().run()
    assert len(project.jobs.list()) == 1 and "has a sample of an archive already" in texts(app)


def test_a_second_model_does_not_move_the_fields_of_the_form(project, archive):
    app = AppTest.from_function(sample_script, default_timeout=PATIENCE)
    app.session_state["folder"] = str(project.folder)
    app.run()

    def places() -> list[str]:
        rows = [[getattr(one, "key", None) or one.type for one in children(block)] for block in blocks(app.main)]
        (row,) = [row for row in rows if "survey.per_class" in row]
        return row

    before = places()
    model = next((archive / "models").iterdir())
    (model.with_name("0123456789.bagtag")).write_bytes(model.read_bytes())
    app.run()
    assert "survey.sampled_model" in {one.key for one in app.selectbox} and places() == before


def children(block: Any) -> list[Any]:
    return list(block.children.values())


def blocks(block: Any) -> Iterator[Any]:
    """Yield a block of a page and all blocks in it."""
    yield block
    for child in children(block):
        if hasattr(child, "children"):
            yield from blocks(child)


def test_answers_are_shown_as_precision_and_counts(project, archive, show):
    draw_into_project(archive, project.folder, PER_CLASS, seed=1, annotator="Ann")
    wren = project.classes.list()[0]
    project.edits.change_class(wren.id, name="=1+<b>Wren</b>")
    assert "Check some detections" in texts(show(project, "survey"))
    items = project.review.queue("archive", limit=1000)
    for number, item in enumerate(items[:-1]):
        if number == 0:
            project.edits.set_label([item.segment_id], BACKGROUND)
        else:
            project.edits.accept([item.segment_id])
    app = show(project, "survey")
    assert "not checked yet count as if" in texts(app)
    counts, thresholds = (one.value for one in app.dataframe)
    assert set(counts["Checked"]) >= {"3 of 3", "2 of 3"} and " to " in counts["Correct"][0]
    assert thresholds.columns.tolist() == ["Threshold", "Detections", "Precision"]
    press(app, "Open in Review")
    assert app.session_state["review.order"] == "archive"
    found = read_estimates(project)
    lines = list(csv.DictReader(io.StringIO(counts_csv(found, 0.9))))
    assert [int(line["answered"]) for line in lines] == [one.answered for one in found]
    assert float(lines[0]["right_low"]) <= float(lines[0]["right"]) <= float(lines[0]["right_high"])
    lines = list(csv.DictReader(io.StringIO(precision_csv(found))))
    assert len(lines) == sum(len(one.thresholds) for one in found) and lines[0]["class"] == found[0].class_name


def test_an_archive_without_models_is_named(project, archive, show):
    for path in (archive / "models").iterdir():
        path.unlink()
    assert "has no results of a model" in texts(show(project, "survey")).replace("\\", "")


def test_an_archive_on_a_disk_that_does_not_respond_keeps_nobody_waiting(project, archive, home, show, monkeypatch):
    responds = threading.Event()
    job = project.jobs.start("apply", {"folders": [str(home / "survey")], "archive": str(archive)})
    set_job(project, job.id, state="done", message="5 of 5 files", finished_at=1.0)
    assert "survey.insights" in {one.key for one in show(project, "survey").button}
    monkeypatch.setattr("pages.widgets.survey.apply_progress.is_archive", lambda folder: responds.wait())
    app = show(project, "survey")
    responds.set()
    assert "Done" in texts(app), "the page was drawn although the disk did not respond"
    assert "survey.insights" not in {one.key for one in app.button}
