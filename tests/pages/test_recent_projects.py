"""Known projects: one folder that cannot be read, does not respond or is no path never hides the others."""

from __future__ import annotations

import ctypes
import json
import os
import threading
import time
from pathlib import Path

import pytest

from miml_core import BagtagError
from miml_core.demo.unfinished import MARKER
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.app.recent_projects import KnownProject, known_projects, list_known, remember
from pages.widgets.folders.paths import allowed_roots, existing_folder, subfolders
from pages.widgets.folders.reachable import call_with_timeout
from pages.widgets.library.add_media import count_media
from tests.conftest import PATIENCE
from tests.pages.conftest import texts


@pytest.fixture
def good(home):
    Project.create(home / "good").close()
    remember(home / "good")
    return home / "good"


@pytest.fixture
def unreachable_folder(home, monkeypatch):
    """A folder below which every call of the file system blocks until the test is over."""
    folder = home / "dead mount"
    folder.mkdir()
    release = threading.Event()

    def block(function):
        def blocking(path=".", *args, **kwargs):
            if not isinstance(path, int) and Path(os.fsdecode(path)).is_relative_to(folder):
                release.wait(PATIENCE)
            return function(path, *args, **kwargs)

        return blocking

    for name in ("stat", "lstat", "scandir", "listdir", "mkdir", "readlink"):
        monkeypatch.setattr(os, name, block(getattr(os, name)))
    yield folder
    release.set()


def write_recent(home, paths):
    (home / "Bagtag").mkdir(exist_ok=True)
    (home / "Bagtag" / "recent.json").write_text(json.dumps(paths))


def test_a_dead_mount_is_shown_as_not_reachable_and_the_others_open(good, unreachable_folder, home, show):
    write_recent(home, [str(unreachable_folder), str(good)])
    assert list_known() == [KnownProject(unreachable_folder, False), KnownProject(good, True)]
    app = show(None)
    assert app.button(key=f"start.known.{unreachable_folder}").disabled
    assert "not reachable" in app.button(key=f"start.known.{unreachable_folder}").label
    app.button(key=f"start.known.{good}").click().run()
    assert app.session_state["session.folder"] == str(good)


def test_looking_at_a_dead_mount_again_starts_no_more_threads(good, unreachable_folder, home):
    write_recent(home, [str(unreachable_folder), str(good)])
    list_known()
    blocked = [one.name for one in threading.enumerate() if "dead mount" in one.name]
    assert blocked
    for _ in range(5):
        assert known_projects() == [good]
    assert [one.name for one in threading.enumerate() if "dead mount" in one.name] == blocked


def test_a_folder_is_reachable_although_the_process_stood_still(tmp_path):
    def look():
        time.sleep(0.02)
        ctypes.PyDLL(None).usleep(500_000)  # PyDLL keeps the interpreter's lock: no thread runs
        time.sleep(0.02)
        return "found"

    assert call_with_timeout(tmp_path, look, seconds=0.3) == "found"


def test_a_project_goes_nowhere_else_while_its_default_place_does_not_respond(
    unreachable_folder, home, monkeypatch, show
):
    monkeypatch.setenv("BAGTAG_HOME", str(unreachable_folder / "Bagtag"))
    (home / "wood").mkdir()
    (home / "wood" / "a.wav").write_bytes(b"")
    app = show(None)
    app.text_input(key="start.new.folder").set_value(str(home / "wood")).run()
    assert app.text_input(key="start.new.parent").value == str(unreachable_folder / "Bagtag")
    assert next(button for button in app.button if button.label == "Create project").disabled


def test_no_folder_choice_waits_for_a_dead_mount(good, unreachable_folder, home, monkeypatch, show):
    monkeypatch.setenv("BAGTAG_ROOTS", str(unreachable_folder))
    assert allowed_roots() == [home]
    for look in (lambda: existing_folder(unreachable_folder, [home]), lambda: subfolders(unreachable_folder, [home])):
        with pytest.raises(BagtagError, match="does not respond"):
            look()
    assert count_media(unreachable_folder) == ({"sound": 0, "picture": 0}, False)
    assert count_media(home) == ({"sound": 0, "picture": 0}, False)
    assert existing_folder(home, [home]) == home, "what is blocked is a folder below it"
    app = show(None)
    app.text_input(key="start.new.folder").set_value(str(unreachable_folder)).run()
    assert "does not respond" in texts(app)


def test_a_project_that_does_not_open_keeps_nobody_from_opening_another(good, home, monkeypatch):
    slow = home / "slow"
    Project.create(slow).close()
    begun, release, real = threading.Event(), threading.Event(), Project.open

    def open_slowly(folder, **more):
        if Path(folder) == slow:
            begun.set()
            release.wait(PATIENCE)
        return real(folder, **more)

    monkeypatch.setattr(Project, "open", open_slowly)
    opened = []
    threads = [threading.Thread(target=lambda f=f: opened.append(open_once(f).folder)) for f in (slow, good)]
    threads[0].start()
    assert begun.wait(PATIENCE)
    threads[1].start()
    threads[1].join(PATIENCE)
    assert opened == [good]
    release.set()
    threads[0].join(PATIENCE)
    assert opened == [good, slow]


def test_opening_a_dead_project_is_an_error(unreachable_folder, home, monkeypatch):
    from pages.widgets.app.session import open_project

    monkeypatch.setattr("pages.widgets.app.session._OPEN_SECONDS", 0.2)
    with pytest.raises(BagtagError, match="does not respond"):
        open_project(unreachable_folder)


def test_an_unreadable_folder_is_shown_as_not_reachable(good, home, monkeypatch, show):
    """As nobody but its owner sees it; the tests may run as root, who may read everything."""
    locked = home / "locked"
    real = os.stat

    def stat(path, *args, **kwargs):
        if not isinstance(path, int) and Path(os.fsdecode(path)).is_relative_to(locked):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", stat)
    write_recent(home, [str(locked), str(good)])
    app = show(None)
    assert app.button(key=f"start.known.{locked}").disabled
    assert not app.button(key=f"start.known.{good}").disabled
    assert not app.error


@pytest.mark.parametrize(
    "content",
    [
        '["/a\\u0000b", 7, null, {"a": 1}, "relative", "", "\\ud800", "/%s", "GOOD"]' % ("x" * 300),
        '["/%s", "GOOD"]' % ("y/" * 3000),
        '["GOOD"',
        "[" * 100_000,
        '{"GOOD": 1}',
        "\x00\x01",
    ],
)
def test_a_damaged_list_is_survived(good, home, content, show):
    (home / "Bagtag" / "recent.json").write_text(content.replace("GOOD", str(good)))
    whole = content.startswith("[") and content.endswith("]")
    assert known_projects() == ([good] if whole else [])
    assert len(list_known()) == len(known_projects())
    assert not show(None).error


def test_a_project_whose_name_is_not_valid_text_is_listed_and_opens(home, show):
    folder = Path(os.fsdecode(os.fsencode(home) + b"/v\xf6gel"))
    Project.create(folder).close()
    remember(folder)
    assert known_projects() == [folder]
    app = show(None)
    (button,) = [button for button in app.button if button.key.startswith("start.known")]
    button.click().run()
    assert app.session_state["session.folder"] == str(folder)
    assert len(key_of(folder)) == 16


def test_an_unfinished_demo_is_no_project_to_open(good, home):
    half = home / "Bagtag" / "demo-sound"
    Project.create(half).close()
    (half / MARKER).touch()
    remember(half)
    assert known_projects() == [good]
    (half / MARKER).unlink()
    assert known_projects() == [half, good]
