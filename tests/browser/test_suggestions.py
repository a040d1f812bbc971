"""Suggestions on the Tag page of a new project: BirdNET listens for real to generated calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from miml_core.media.recording_place import Place
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of
from tests.birdnet import needs_birdnet
from tests.browser.conftest import ROOT, Server, wait_until
from tests.browser.editor import EDITOR, Editor
from tests.generated_calls import write_calls

pytestmark = pytest.mark.browser

SPECIES = ("Common Cuckoo", "Eurasian Pygmy-Owl", "Eurasian Collared-Dove")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("suggestions")


@pytest.fixture(scope="module")
def server(start_server: Any, home: Path) -> Server:
    return start_server(BAGTAG_HOME=str(home))


@pytest.fixture
def project(home: Path, request: pytest.FixtureRequest) -> Iterator[Project]:
    """A new project of three clips: nothing is tagged, segmented or trained, and there are no classes."""
    name = re.sub(r"\W+", "-", request.node.name)
    with Project.create(home / name, name="New", annotator="Ann") as made:
        made.media.add([write_calls(home / "recordings" / name / f"{one}.wav", one, 6.0) for one in SPECIES])
        yield made


def open_tags(page: Any, server: Server, project: Project) -> Editor:
    page.goto(f"{server.url}/tag?project={key_of(project.folder)}")
    editor = Editor(page)
    editor.wait("s")
    return editor


def row(page: Any, name: str) -> Any:
    return page.locator(".bagtag .suggestion", has_text=name)


def note(page: Any) -> Any:
    return page.locator(".bagtag .suggestion-panel .note")


def places(page: Any) -> dict[str, Any]:
    """Where the parts of the page are."""
    parts = ("layers", "legend", "tagbar", "numbers", "suggestion-panel")
    return {part: page.locator(f".bagtag .{part}").bounding_box() for part in parts}


@needs_birdnet
def test_a_new_project_suggests_species_that_a_key_adds_and_tags(page, server, project):
    editor = open_tags(page, server, project)
    cuckoo = row(page, "Common Cuckoo")
    cuckoo.wait_for()
    assert re.fullmatch(r"1\s*\+\s*Common Cuckoo\s*BirdNET\s*\d\d %", cuckoo.inner_text().strip())
    assert "Cuculus canorus" in cuckoo.get_attribute("title")
    editor.press("1")
    page.locator(".bagtag .suggestion.tagged", has_text="Common Cuckoo").wait_for()
    editor.saved()
    (made,) = project.classes.list()
    assert (made.name, made.scientific_name) == ("Common Cuckoo", "Cuculus canorus")
    assert project.bags.get(1).tags == {made.id: 1}
    editor.press("Control+z")
    page.locator(".bagtag .suggestion.new", has_text="Common Cuckoo").wait_for()
    assert project.classes.list() == [] and project.bags.get(1).tags == {}
    editor.press("1", "1")
    editor.saved()
    editor.wait("Object.keys(s.tags).length === 0")
    assert project.bags.get(1).tags == {}, "the key again takes the tag back"


@needs_birdnet
def test_a_takes_what_is_one_half_or_more_and_the_next_clip_is_ready(page, server, project):
    editor = open_tags(page, server, project)
    row(page, "Common Cuckoo").wait_for()
    editor.page.wait_for_function(f"({KNOWN})(2)")
    editor.press("a", "Enter")
    editor.wait("s.bag === 2")
    assert row(page, "Eurasian Pygmy-Owl").count() == 1, "shown with the clip, without waiting"
    editor.press("a", "Enter")
    editor.wait("s.bag === 3")
    row(page, "Eurasian Collared-Dove").wait_for()
    editor.press("a")  # it is less probable than one half
    editor.saved()
    tags = [[project.classes.list()[id_ - 1].name for id_ in project.bags.get(bag).tags] for bag in (1, 2, 3)]
    assert tags == [["Common Cuckoo"], ["Eurasian Pygmy-Owl"], []]


KNOWN = f"id => {EDITOR}.api.knownSuggestions(id) !== undefined"


@needs_birdnet
@pytest.mark.parametrize("width", [800, 1280])
def test_nothing_moves_when_suggestions_arrive(page, server, project, width):
    for number in range(12):
        project.edits.add_class(f"Species {number}")
    page.set_viewport_size({"width": width, "height": 900})
    held: list[Any] = []
    page.route("**/bag/*/suggestions", lambda route: held.append(route))
    editor = open_tags(page, server, project)
    note(page).get_by_text("BirdNET is analysing").wait_for()
    page.locator(".bagtag .numbers .progress").wait_for()
    editor.frames()
    before = places(page)
    editor.press("1")
    assert editor.state["tags"] == {} and editor.state["unsent"] == 0, "the number has no meaning yet"
    items = [
        {"class": None, "name": f"Bird {k}", "scientific_name": f"Avis {k}", "probability": 0.9 - k / 10, "source": "x"}
        for k in range(8)
    ]
    wait_until(page, lambda: held)
    held[0].fulfill(body=json.dumps({"items": items, "note": "Filtered by place."}), content_type="application/json")
    row(page, "Bird 7").wait_for()
    editor.frames()
    assert places(page) == before


@needs_birdnet
def test_the_place_filters_species_and_nonsense_is_refused(page, server, project):
    open_tags(page, server, project)
    row(page, "Common Cuckoo").wait_for()
    note(page).get_by_text("Species of all regions").wait_for()
    page.get_by_role("button", name="New", exact=False).first.click()
    field = page.get_by_role("textbox", name="Place: latitude, longitude")
    field.fill("north of the river")
    field.press("Enter")
    page.get_by_text("is not a place; give latitude and longitude").wait_for()
    assert project.place is None
    field.fill("-33.87, 151.21")
    field.press("Enter")
    note(page).get_by_text("Filtered by place: species that occur at 33.87° S, 151.21° E").wait_for()
    row(page, "Common Cuckoo").wait_for(state="detached")
    assert project.place == Place(-33.87, 151.21)


@needs_birdnet
def test_an_error_never_blocks_tagging(page, server, project):
    project.edits.add_class("Wren")
    page.route("**/bag/*/suggestions", lambda route: route.fulfill(status=500, json={"error": "A fault of the test."}))
    editor = open_tags(page, server, project)
    note(page).get_by_text("A fault of the test.").wait_for()
    editor.press("1")
    editor.saved()
    assert project.bags.get(1).tags == {1: 1}


def test_without_birdnet_there_is_one_line_with_the_command(page, start_server, home, project, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import tests.started_programs\n"
        "import miml_core.features.birdnet.files as files\nfiles._PACKAGE = 'birdnet-that-nobody-installed'\n"
    )
    project.edits.add_class("Wren")
    server = start_server(BAGTAG_HOME=str(home), PYTHONPATH=f"{tmp_path}:{ROOT}")
    editor = open_tags(page, server, project)
    note(page).get_by_text("BirdNET is not installed; install it with").wait_for()
    assert "CC BY-NC-SA 4.0" in note(page).inner_text()
    assert not page.locator(".bagtag .suggestion-panel h3").is_visible()
    editor.press("1")
    editor.saved()
    assert project.bags.get(1).tags == {1: 1}


@needs_birdnet
def test_sound_that_birdnet_does_not_support_is_one_line(page, server, home):
    import numpy as np
    import soundfile

    soundfile.write(home / "bat.wav", np.zeros(384_000), 384_000)
    with Project.create(home / "bats", annotator="Ann") as project:
        project.media.add([home / "bat.wav"])
        project.edits.add_class("Noctule")
        editor = open_tags(page, server, project)
        note(page).get_by_text("bat.wav has a sample rate of 384 kHz, and BirdNET supports").wait_for()
        editor.press("1")
        editor.saved()
        assert project.bags.get(1).tags == {1: 1}
