"""What a page run passes to the canvas, and what it learns from it."""

from __future__ import annotations

from typing import Any

import pytest

from pages.widgets.app.page_requests import latest_request
from pages.widgets.canvas import RESERVED_KEYS, canvas, component, request_bag
from pages.widgets.routes.assets import files


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    state: dict[str, Any] = {}
    monkeypatch.setattr(component.st, "session_state", state)
    return state


@pytest.fixture
def mounted(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The data of each run."""
    runs: list[dict[str, Any]] = []
    monkeypatch.setattr(component, "browser_component", lambda name: lambda key, data, **callbacks: runs.append(data))
    return runs


def test_page_runs_repeat_a_request_under_one_id(project, session, mounted):
    request_bag(project, 3)
    canvas(project, queue={"show": "all"})
    canvas(project, queue={"show": "all"})
    first, second = (data["request"] for data in mounted)
    assert first == second and first["bag"] == 3
    request_bag(project, 3, 12)
    canvas(project, queue={"show": "all"})
    assert mounted[-1]["request"]["id"] != first["id"], "asking for the same bag later is another request"
    assert first["segment"] is None and mounted[-1]["request"]["segment"] == 12


def test_a_request_holds_for_its_project_only(project, pictures, session):
    request_bag(project, 3)
    assert latest_request(pictures, "canvas") is None
    assert latest_request(project, "canvas")["bag"] == 3


def test_a_preview_follows_no_request(project, session, mounted):
    request_bag(project, 3)
    canvas(project, 1, mode="preview", preview="name")
    assert mounted[0]["request"] is None and mounted[0]["bag"] == 1


def test_the_reported_bag_is_returned_only_where_the_page_asks_for_it(project, session, mounted):
    assert canvas(project, queue={"show": "all"}, report_bag=True, key="c") is None
    session["c"] = {"shown": 2}
    assert canvas(project, queue={"show": "all"}, report_bag=True, key="c") == 2
    assert canvas(project, 1, key="c") == 1


def test_no_class_may_take_a_key_of_the_canvas_or_of_streamlit():
    table = files()["keys.js"].decode()
    single = {key for row in table.split("keys: [")[1:] for key in row.split("]")[0].replace('"', "").split(", ")}
    assert {key for key in single if len(key) == 1} | {"r", "c"} <= RESERVED_KEYS
