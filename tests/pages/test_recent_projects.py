"""Known projects: one folder that cannot be read, does not respond or is no path never hides the others."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from miml_core import BagtagError
from miml_core.demo.unfinished import MARKER
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of, open_once
from pages.widgets.folders.paths import allowed_roots, existing_folder, subfolders
from pages.widgets.library.add_media import count_media
from pages.widgets.start.recent_projects import Known, known_projects, list_known, remember
from tests.pages.conftest import texts


@pytest.fixture
def good(home):
    Project.create(home / "good").close()
    remember(home / "good")
    return home / "good"


@pytest.fixture
def dead(home, monkeypatch):
    """A folder below which every call of the file system blocks until the test is over."""
    folder = home / "dead mount"
    folder.mkdir()
    release = threading.Event()

    def block(function):
        def blocking(path=".", *args, **kwargs):
            if not isinstance(path, int) and Path(os.fsdecode(path)).is_relative_to(folder):
                release.wait(60)
            return function(path, *args, **kwargs)

        return blocking

    for name in ("stat", "lstat", "scandir", "listdir", "mkdir", "readlink"):
        monkeypatch.setattr(os, name, block(getattr(os, name)))
    yield folder
    release.set()


def write_recent(home, paths):
    (home / "Bagtag").mkdir(exist_ok=True)
    (home / "Bagtag" / "recent.json").write_text(json.dumps(paths))


def test_a_dead_mount_is_shown_as_not_reachable_and_the_others_open(good, dead, home, show):
    write_recent(home, [str(dead), str(good)])
    assert list_known() == [Known(dead, False), Known(good, True)]
    app = show(None)
    assert app.button(key=f"start.known.{dead}").disabled
    assert "not reachable" in app.button(key=f"start.known.{dead}").label
    app.button(key=f"start.known.{good}").click().run()
    assert app.session_state["session.folder"] == str(good)


def test_looking_at_a_dead_mount_again_starts_no_more_threads(good, dead, home):
    write_recent(home, [str(dead), str(good)])
    list_known()
    n_threads = threading.active_count()
    for _ in range(5):
        assert known_projects() == [good]
    assert threading.active_count() == n_threads


def test_no_folder_choice_waits_for_a_dead_mount(good, dead, home, monkeypatch, show):
    monkeypatch.setenv("BAGTAG_ROOTS", str(dead))
    assert allowed_roots() == [home]
    for look in (lambda: existing_folder(dead, [home]), lambda: subfolders(dead, [home])):
        with pytest.raises(BagtagError, match="does not respond"):
            look()
    assert count_media(dead) == ({"sound": 0, "picture": 0}, False)
    app = show(None)
    app.text_input(key="start.new.folder").set_value(str(dead)).run()
    assert "does not respond" in texts(app)


def test_a_project_that_does_not_open_keeps_nobody_from_opening_another(good, home, monkeypatch):
    slow = home / "slow"
    Project.create(slow).close()
    begun, release, real = threading.Event(), threading.Event(), Project.open

    def open_slowly(folder, **more):
        if Path(folder) == slow:
            begun.set()
            release.wait(60)
        return real(folder, **more)

    monkeypatch.setattr(Project, "open", open_slowly)
    opened = []
    threads = [threading.Thread(target=lambda f=f: opened.append(open_once(f).folder)) for f in (slow, good)]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    threads[1].join(60)
    assert opened == [good]
    release.set()
    threads[0].join(60)
    assert opened == [good, slow]


def test_opening_a_dead_project_is_an_error(dead, home, monkeypatch):
    from pages.widgets.app.session import open_project

    monkeypatch.setattr("pages.widgets.app.session._OPEN_SECONDS", 0.2)
    with pytest.raises(BagtagError, match="does not respond"):
        open_project(dead)


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


def test_a_half_made_demo_is_no_project_to_open(good, home):
    half = home / "Bagtag" / "demo-sound"
    Project.create(half).close()
    (half / MARKER).touch()
    remember(half)
    assert known_projects() == [good]
    (half / MARKER).unlink()
    assert known_projects() == [half, good]
