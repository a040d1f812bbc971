"""What parts of a page compare to know whether they are up to date, and how they get it."""

from __future__ import annotations

import gc
import os

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core.project.jobs import launch
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from pages.widgets import follow
from pages.widgets.app import open_projects
from pages.widgets.background_work import BackgroundWork
from pages.widgets.routes import canvas_routes
from pages.widgets.routes.auth import TOKEN
from pages.widgets.routes.page_state import project_state

KEY = {"X-Bagtag-Token": TOKEN}


@pytest.fixture
def client():
    with TestClient(Starlette(routes=canvas_routes()), base_url="http://localhost:8501") as client:
        yield client


def changed(before, after):
    return {topic for topic in before if before[topic] != after[topic]}


def test_an_edit_a_job_and_its_steps_change_what_they_should(project, monkeypatch):
    first = project_state(project)
    assert project_state(project) == first, "looking changes nothing"
    project.edits.set_note(project.bags.ids()[0], "a note")
    noted = project_state(project)
    assert changed(first, noted) == {"revision"}
    monkeypatch.setattr(launch, "start_worker", lambda folder, job_id: os.getpid())
    job = project.jobs.start("train", {})
    queued = project_state(project)
    assert changed(noted, queued) == {"jobs", "steps"}
    with project.store.write() as connection:
        job_queue.claim(connection, job.id)
        assert job_queue.begin(connection, job.id, os.getpid())
    begun = project_state(project)
    assert changed(queued, begun) == {"jobs", "steps"}
    context = JobContext(project.store, job.id)
    context.report(37, 100, "training")
    context.flush()
    stepped = project_state(project)
    assert changed(begun, stepped) == {"steps"}
    project.jobs.cancel(job.id)
    assert changed(stepped, project_state(project)) == {"jobs"}, "the button that stops it was pressed"
    with project.store.write() as connection:
        job_queue.finish(connection, job.id, "cancelled", "cancelled")
    ended = project_state(project)
    assert changed(stepped, ended) == {"revision", "jobs", "steps"}
    assert changed(noted, ended) == {"revision"}, "no job is active"


def test_the_browser_gets_the_state_that_a_part_was_followed_with(project, client, followed):
    open_projects.open_once(project.folder)
    follow.follow(project, "strip", steps=True)
    follow.follow(project, "counts", at_least_every=5.0)
    strip, counts = followed["strip"], followed["counts"]
    assert client.get(strip["address"], headers=KEY).json() == strip["seen"]
    assert set(counts["seen"]) == {"revision", "jobs"} and counts["seen"].items() <= strip["seen"].items()
    assert (strip["atLeastEvery"], counts["atLeastEvery"]) == (None, 5.0)
    follow.follow(project, "counts")
    assert counts["run"] != followed["counts"]["run"], "the browser learns of every run"


def test_a_project_that_cannot_be_read_is_followed_until_it_can_be(project, client, followed, monkeypatch):
    open_projects.open_once(project.folder)
    away = project.folder.with_name("away")
    project.folder.rename(away)
    follow.follow(project, "strip", steps=True)
    strip = followed["strip"]
    assert strip["seen"] == {"revision": "", "jobs": "", "steps": ""}
    assert client.get(strip["address"], headers=KEY).status_code == 503
    away.rename(project.folder)
    assert all(client.get(strip["address"], headers=KEY).json().values()), "what is shown is out of date"


def test_a_part_names_what_it_shows(project, followed):
    follow.follow(project, "jobs", edits=False)
    follow.follow(project, "strip", edits=False, steps=True)
    assert set(followed["jobs"]["seen"]) == {"jobs"}
    assert set(followed["strip"]["seen"]) == {"jobs", "steps"}


def test_work_is_followed_as_long_as_somebody_holds_it(client, followed):
    work = BackgroundWork(share=0.25)
    follow.follow_work(work, "demo")
    address, seen = followed["demo"]["address"], followed["demo"]["seen"]
    assert client.get(address).status_code == 401
    assert client.get(address, headers=KEY).json() == seen
    states = [seen]
    for name, value in {"share": 0.5, "stop": True, "problem": "The disk is full.", "over": True}.items():
        setattr(work, name, value)
        states.append(client.get(address, headers=KEY).json())
    assert len({state["work"] for state in states}) == len(states)
    del work
    gc.collect()
    assert client.get(address, headers=KEY).status_code == 404
