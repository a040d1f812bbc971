"""The whole way through the app: from the start page to an exported file that holds the corrections."""

from __future__ import annotations

import csv
import re
import time
from pathlib import Path
from typing import Any

import pytest

from miml_core.demo.media import make_media
from miml_core.demo.truth import Truth
from miml_core.project import Project
from tests.browser.conftest import ROOT
from tests.browser.editor import Editor
from tests.conftest import PATIENCE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("journey")


@pytest.fixture(scope="module")
def server(start_server, home):
    """The app, whose demo has 10 recordings: `tests/demo` makes the whole one."""
    (home / "sitecustomize.py").write_text(
        "import tests.started_programs\nimport miml_core.demo.media as media\nmedia.COUNT['sound'] = 10\n"
    )
    env = {"BAGTAG_HOME": str(home / "home"), "BAGTAG_ROOTS": str(home), "PYTHONPATH": f"{home}:{ROOT}"}
    return start_server("app.py", **env)


def go(page: Any, name: str) -> None:
    """To another page by the bar on top."""
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_url(re.compile(name.lower()))


def until(condition: Any, seconds: float = PATIENCE) -> Any:
    """Poll the project on disk until something is true of it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def idle(project: Project) -> bool:
    return not project.jobs.list(active=True)


def canvas(page: Any, mode: str) -> Editor:
    """The canvas of the page just come to: that of the page before may still be there."""
    editor = Editor(page)
    editor.wait(f"s.image && s.mode === '{mode}'")
    return editor


def correct(editor: Editor, project: Project, times: int) -> dict[int, int]:
    """Give the selected segment another label than it has, by number key, and go on; return the labels given."""
    given = {}
    for _ in range(times):
        (segment,) = editor.wait("s.selected.length === 1")["selected"]
        guess = project.segments.get(segment).prediction
        keys = editor.ask("b => [...b.bag.classes.values()].filter(c => c.keys.length).map(c => [c.id, c.keys[0]])")
        wanted, key = next((one, key) for one, key in keys if guess is None or one != guess.top)
        editor.press(key)
        editor.wait(f"s.labels[{segment}] === {wanted}")
        editor.saved()
        given[segment] = wanted
        editor.press("ArrowRight")
        editor.wait(f"s.selected[0] !== {segment}")
    return given


def export_csv(page: Any, project: Project) -> list[dict[str, str]]:
    """Export what people confirmed as CSV, download it, and read the file."""
    go(page, "Export")
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as waiting:
        page.get_by_test_id("stDownloadButton").get_by_role("button").first.click()
    path = Path(waiting.value.path())
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_demo_from_the_start_page_to_an_exported_file(page, server, home):
    page.goto(server.url)
    page.get_by_role("button", name="Birds at dawn").click()
    page.wait_for_url(re.compile("review"), timeout=180_000)
    editor = canvas(page, "review")
    with Project.open(home / "home" / "demo-sound") as project:
        assert project.progress().n_segmented == project.progress().n_bags == 10
        before = project.runs.current()
        given = correct(editor, project, 3)
        assert {segment: project.segments.get(segment).label for segment in given} == given
        page.get_by_role("button", name="Retrain").click()
        kept = editor.state
        after = until(lambda: (run := project.runs.current()) is not None and run.id != before.id and run)
        assert after.n_corrections_since == 0
        editor.wait(f"s.bag === {kept['bag']} && s.selected[0] === {kept['selected'][0]}")
        rows = export_csv(page, project)
        names = {one.id: one.name for one in project.classes.list()}
        exported = {int(row["segment"]): row["label"] for row in rows}
        assert {segment: names[label] for segment, label in given.items()}.items() <= exported.items()


def test_a_folder_of_pictures_from_the_start_page_to_an_exported_file(page, server, home):
    folder = home / "Bilder äöü 图片"
    make_media(folder, "picture", seed=3, count=6)
    page.goto(server.url)
    box = page.get_by_label("Folder", exact=True).first
    box.fill(str(folder))
    box.press("Enter")
    page.get_by_text(re.compile("pictures in this folder")).wait_for()
    page.get_by_role("button", name="Create project").click()
    target = until(lambda: next((home / "home").glob("*äöü*"), None))
    page.wait_for_url(re.compile("project="))
    with Project.open(target) as project:
        until(lambda: project.progress().n_bags == 6 and project.progress().n_segmented == 6 and idle(project))
        go(page, "Segment")
        canvas(page, "segment")
        go(page, "Tag")
        editor = canvas(page, "tag")
        _tag_all(page, editor, project, Truth.read(folder))
        go(page, "Train")
        page.get_by_role("button", name="Start training").click()
        run = until(lambda: project.runs.current())
        go(page, "Review")
        editor = canvas(page, "review")
        given = correct(editor, project, 2)
        page.get_by_role("button", name="Retrain").click()
        until(lambda: project.runs.current().id != run.id)
        rows = export_csv(page, project)
        names = {one.id: one.name for one in project.classes.list()}
        exported = {int(row["segment"]): row["label"] for row in rows}
        assert {segment: names[label] for segment, label in given.items()}.items() <= exported.items()


def _tag_all(page: Any, editor: Editor, project: Project, truth: Truth) -> None:
    """By keyboard: type the name of each surface that is in the picture, then Enter for the next."""
    for bag_id in project.bags.ids():
        editor.wait(f"s.bag === {bag_id}")
        surfaces = {thing.label for thing in truth.files[Path(project.bags.get(bag_id).path).name]}
        for surface in sorted(surfaces):
            editor.press("/")
            page.keyboard.type(surface)
            editor.press("Enter")
        editor.press("Enter")
        until(lambda bag_id=bag_id: project.bags.get(bag_id).finished)
        names = {one.id: one.name for one in project.classes.list()}
        assert {names[one] for one, value in project.bags.get(bag_id).tags.items() if value == 1} == surfaces
