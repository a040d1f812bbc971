"""The routes behind the side panel: the queue in batches, the counters, training again, the reasons of tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core import BACKGROUND
from miml_core.project import Project
from pages.widgets.app import open_projects
from pages.widgets.routes import canvas_routes, queue
from pages.widgets.routes.auth import TOKEN
from tests.project.conftest import store_run


class Routes:
    """The routes of one project."""

    def __init__(self, client: TestClient, project: Project) -> None:
        self.client = client
        self.root = f"/bagtag/{open_projects.key_of(project.folder)}"

    def get(self, path: str, status: int = 200) -> Any:
        response = self.client.get(f"{self.root}/{path}", headers={"X-Bagtag-Token": TOKEN})
        assert response.status_code == status, response.text
        return response.json()

    def post(self, path: str, status: int = 200) -> Any:
        response = self.client.post(f"{self.root}/{path}", headers={"X-Bagtag-Token": TOKEN})
        assert response.status_code == status, response.text
        return response.json()


@pytest.fixture
def routes(project: Project) -> Iterator[Routes]:
    open_projects.open_once(project.folder)
    with TestClient(Starlette(routes=canvas_routes()), base_url="http://localhost:8501") as client:
        yield Routes(client, project)


@pytest.mark.parametrize("order", ["least_sure", "informative", "newest", "random"])
def test_batches_put_together_are_the_whole_queue(project, routes, monkeypatch, order):
    monkeypatch.setattr(queue, "BATCH", 3)
    if order == "informative":
        n_columns = len(project.classes.list()) + 1
        store_run(project, lambda n: np.full((n, n_columns), 1 / n_columns), informative=lambda n: np.arange(n) // 5)
    whole = [[one.bag_id, one.segment_id] for one in project.review.queue(order, limit=1000)]
    found, after = [], ""
    while True:
        batch = routes.get(f"queue?order={order}{after}")
        found += batch["items"]
        if batch["after"] is None:
            break
        assert len(batch["items"]) == 3
        after = f"&after={quote(batch['after'])}"
    assert sorted(found) == sorted(whole) and len(whole) > 3
    if order != "informative":  # with equal scores only the batches have a fixed order
        assert found == whole


def test_a_segment_checked_meanwhile_is_not_in_a_later_batch(project, routes, monkeypatch):
    monkeypatch.setattr(queue, "BATCH", 3)
    whole = project.review.queue("least_sure", limit=1000)
    first = routes.get("queue?order=least_sure")
    project.edits.set_label(whole[4].segment_id, BACKGROUND)
    second = routes.get(f"queue?order=least_sure&after={quote(first['after'])}")
    assert [segment for _, segment in second["items"]] == [whole[k].segment_id for k in (3, 5, 6)]


def test_segments_of_one_class(project, routes):
    one = project.classes.list()[0]
    wanted = [[item.bag_id, item.segment_id] for item in project.review.queue("class", class_id=one.id)]
    assert routes.get(f"queue?order=class&class={one.id}")["items"] == wanted


def test_bags_come_all_at_once(project, routes):
    first, *_ = project.bags.ids()
    assert routes.get("queue?show=unfinished")["items"] == []
    project.edits.unfinish(first)
    assert routes.get("queue?show=unfinished&sort=name") == {"items": [[first, None]], "after": None}
    assert [bag for bag, _ in routes.get("queue")["items"]] == project.bags.ids()


@pytest.mark.parametrize("query", ["order=x", "show=x", "sort=x", "order=newest&after=x", "order=random&after=nan,1"])
def test_a_wrong_query_is_refused(routes, query):
    assert "must be" in routes.get(f"queue?{query}", 400)["error"]


def test_by_class_needs_a_class(routes):
    assert "Choose the class" in routes.get("queue?order=class", 422)["error"]


def test_counters_follow_what_is_checked(project, routes):
    before = routes.get("counters")
    assert (before["checked"], before["sample"]["n"], before["training"]) == (0, 0, False)
    for item in project.review.queue("random", limit=3):
        project.edits.accept(item.segment_id, sampled=True)
    now = routes.get("counters")
    assert (now["checked"], now["segments"], now["new_labels"]) == (3, project.progress().n_segments, 3)
    assert (now["finished"], now["bags"]) == (4, 4)
    sample = now["sample"]
    assert (sample["n"], sample["accuracy"], round(sample["low"], 2), sample["high"]) == (3, 1.0, 0.44, 1.0)


def test_retraining_starts_one_training_like_the_current_run(project, routes):
    assert routes.post("retraining") == {"training": True}
    (job,) = project.jobs.list()
    assert job.kind == "train" and job.params["model"] == project.runs.current().model
    assert routes.get("counters")["training"] is True
    assert "already running" in routes.post("retraining", 409)["error"]
    assert len(project.jobs.list()) == 1


def test_a_bag_names_the_segment_that_explains_a_tag_and_who_labelled(project, routes):
    bag_id = project.bags.ids()[0]
    wren = next(one for one in project.classes.list() if project.bags.get(bag_id).tags.get(one.id, 0) > 0)
    column = [one.id for one in project.classes.list()].index(wren.id)
    key, other = project.bags.bagset()[1].segment_ids[:2].tolist()

    def posterior(n):
        rows = np.zeros((n, len(project.classes.list()) + 1))
        rows[:, -1] = 1.0
        rows[0] = np.eye(rows.shape[1])[column]
        return rows

    store_run(project, posterior, keys=[np.array([[column, 0, 1, 5]])] + [np.empty((0, 4))] * 3)
    project.edits.set_label(other, BACKGROUND, annotator="Jörg")
    bag = routes.get(f"bag/{bag_id}")
    reason = next(one for one in bag["reasons"] if one["class"] == wren.id)
    number = project.segments.get(key).number
    assert reason == {
        "class": wren.id, "segment": key, "number": number, "probability": 1.0, "concept": 2, "concepts": 5
    }  # fmt: skip
    annotators = {one["id"]: one["annotator"] for one in bag["segments"]}
    assert (annotators[key], annotators[other]) == (None, "Jörg")
