"""Suggestions on the way to the browser, and the place they are filtered by."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core.features.birdnet import BirdnetStatus, find_species
from miml_core.media.recording_place import Place
from miml_core.project.suggestions import suggest as suggesting
from pages.widgets.app import open_projects
from pages.widgets.canvas import component
from pages.widgets.routes import canvas_routes
from pages.widgets.routes.auth import TOKEN
from tests.birdnet import needs_birdnet

MISSING = BirdnetStatus(False, "BirdNET is not installed; install it with 'make birdnet'.", "")


@pytest.fixture
def without_birdnet(monkeypatch):
    for module in ("miml_core.features.birdnet", "miml_core.project.suggestions.suggest"):
        monkeypatch.setattr(f"{module}.birdnet_status", lambda: MISSING)


@pytest.fixture
def without_run(project):
    with project.store.write() as connection:
        connection.exec_driver_sql("DELETE FROM meta WHERE key = 'current_run'")


def fetch(project, bag=1):
    open_projects.open_once(project.folder)
    path = f"/bagtag/{open_projects.key_of(project.folder)}/bag/{bag}/suggestions"
    with TestClient(Starlette(routes=canvas_routes())) as client:
        response = client.get(path, headers={"X-Bagtag-Token": TOKEN})
    return response.status_code, response.json()


@needs_birdnet
def test_the_route_sends_classes_new_species_and_where_they_come_from(project, without_run, monkeypatch):
    wren, cuckoo = (find_species(name).index for name in ("Eurasian Wren", "Common Cuckoo"))
    monkeypatch.setattr(suggesting, "detected_species", lambda store, bag_id: {cuckoo: 0.8, wren: 0.4})
    status, found = fetch(project)
    own = next(one.id for one in project.classes.list() if one.name == "Wren")
    assert status == 200
    assert found["items"] == [
        {
            "class": None,
            "name": "Common Cuckoo",
            "scientific_name": "Cuculus canorus",
            "probability": 0.8,
            "source": "BirdNET",
        },
        {"class": own, "name": "Wren", "scientific_name": "", "probability": 0.4, "source": "BirdNET"},
    ]
    assert found["note"].startswith("Species of all regions")
    project.set_place(Place(-33.87, 151.21))
    status, found = fetch(project)
    assert [one["name"] for one in found["items"]] == ["Wren"], "a class stays wherever it is"
    assert found["note"] == "Filtered by place: species that occur at 33.87° S, 151.21° E."


@needs_birdnet
def test_nothing_that_is_recognised_is_said(project, without_run, monkeypatch):
    monkeypatch.setattr(suggesting, "detected_species", lambda store, bag_id: {0: 0.01})
    assert fetch(project)[1] == {"items": [], "note": "BirdNET recognises no species here."}


def test_a_removed_bag_is_gone(project):
    assert fetch(project, 999)[0] == 410


def test_without_birdnet_only_a_project_without_a_run_is_told(project, without_birdnet, monkeypatch):
    monkeypatch.setattr(suggesting, "tag_probabilities", lambda connection, bag_id: (3, {1: 0.9, 2: 0.05}))
    status, found = fetch(project)
    assert status == 200 and found["note"] == ""
    assert [(one["class"], one["source"], one["probability"]) for one in found["items"]] == [(1, "run 3", 0.9)]


def test_without_birdnet_and_run_there_is_the_command_and_the_licence(project, without_run, without_birdnet):
    expected = f"{MISSING.reason} Its weights are licensed CC BY-NC-SA 4.0."
    assert fetch(project) == (200, {"items": [], "note": expected})


def test_where_suggestions_go(project, pictures, without_birdnet):
    assert component._suggests(project, "tag") == "beside", "a run suggests"
    assert component._suggests(project, "review") == ""
    assert component._suggests(pictures, "tag") == ""


def test_without_run_and_birdnet_the_page_is_as_before(project, without_run, without_birdnet):
    assert component._suggests(project, "tag") == "line"


def test_the_place_is_typed_in_the_menu_of_a_sound_project(project, pictures, show):
    app = show(project, "tag")
    app.text_input(key="library.place").set_value("43.61° N 3.88° E").run()
    assert project.place == Place(43.61, 3.88)
    for wrong in ("somewhere", "91, 0", "43.61"):
        app.text_input(key="library.place").set_value(wrong).run()
        assert app.toast and project.place == Place(43.61, 3.88), wrong
    app.text_input(key="library.place").set_value("").run()
    assert project.place is None
    assert not [one for one in show(pictures, "tag").text_input if one.key == "library.place"]
