"""Pages without a browser: Streamlit's own test runner, a small project, jobs that are queued but never start."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Node

from miml_core.project import Project
from tests.browser.projects import picture_project, sound_project
from tests.conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def _packages_read_once() -> Iterator[None]:
    """Let all apps know what Streamlit finds in the installed packages: each would read 200 files for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person's home without anything in it."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("BAGTAG_HOME", str(home / "Bagtag"))
    monkeypatch.delenv("BAGTAG_ROOTS", raising=False)
    return home


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs stay in the queue: pages are tested here, not the work."""
    monkeypatch.setattr("miml_core.project.jobs.queue._launch", lambda store, job_id: None)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Projects that tests get copies of: making one takes longer than most tests."""
    folder = tmp_path_factory.mktemp("models")
    sound_project(folder / "garden", (5, 4, 3, 4)).close()
    picture_project(folder / "meadow").close()
    return folder


@pytest.fixture
def project(home: Path, models: Path, no_workers: None) -> Iterator[Project]:
    """Four recordings of a few calls, tagged, with predictions."""
    shutil.copytree(models / "garden", home / "garden")
    with Project.open(home / "garden" / "project", annotator="Ann") as project:
        yield project


@pytest.fixture
def pictures(home: Path, models: Path, no_workers: None) -> Iterator[Project]:
    """Two pictures of flowers, tagged, with predictions."""
    shutil.copytree(models / "meadow", home / "meadow")
    with Project.open(home / "meadow" / "project", annotator="Ann") as project:
        yield project


@pytest.fixture
def canvases(monkeypatch: pytest.MonkeyPatch) -> dict[str, SimpleNamespace]:
    """What pages asked of the canvas in their last run, by key; it shows the bag asked for, else the first."""
    asked: dict[str, SimpleNamespace] = {}

    def canvas(project: Project, bag_id: int | None = None, *, key: str, **arguments: Any) -> int:
        shown = project.bags.ids()[0] if bag_id is None else bag_id
        asked[key] = SimpleNamespace(bag_id=shown, **arguments)
        return shown

    monkeypatch.setattr("pages.widgets.canvas.canvas", canvas)
    return asked


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """The data of each part that follows the project or some work, by its name."""
    parts: dict[str, dict[str, Any]] = {}

    def component(name: str) -> Callable[..., None]:
        return lambda key, data, **callbacks: parts.update({key.removeprefix("follow-"): data})

    monkeypatch.setattr("pages.widgets.follow.browser_component", component)
    return parts


@pytest.fixture
def show(canvases: dict[str, SimpleNamespace]) -> Callable[..., AppTest]:
    """`show(project, "tag")` runs that page in a fresh tab; nothing may go wrong without an error on the page."""

    def run(project: Project | None, page: str = "library", **state: Any) -> AppTest:
        app = AppTest.from_file(str(ROOT / "pages" / "shell.py"), default_timeout=PATIENCE)
        for name, value in state.items():
            app.session_state[name.replace("__", ".")] = value
        if project is not None:
            app.session_state["session.folder"] = str(project.folder)
            app.session_state["session.page"] = page
        app.run()
        assert not app.exception
        return app

    return run


def texts(app: AppTest) -> str:
    """Everything a page shows as text."""
    kinds = ("title", "subheader", "markdown", "caption", "text", "info", "warning", "error", "success")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def place_of(app: AppTest, wanted: Node) -> tuple[int, ...]:
    """Return where on the page something is: the browser takes what has moved for something else."""

    def places(node: Node, place: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if node is wanted:
            yield place
        for index, child in getattr(node, "children", {}).items():
            yield from places(child, (*place, index))

    (place,) = places(app.main, ())
    return place


def press(app: AppTest, label: str) -> AppTest:
    """Click the one button of that label and run the page."""
    (button,) = [button for button in app.button if button.label == label]
    button.click()
    app.run()
    assert not app.exception
    return app
