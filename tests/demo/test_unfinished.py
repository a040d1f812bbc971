"""Half-made demos: gone on with or removed, never taken for something else, and nobody's files go with them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from miml_core.demo import make_demo
from miml_core.demo.unfinished import MARKER, hold_unfinished, is_unfinished, remove_unfinished
from miml_core.errors import BagtagError
from miml_core.file_lock import Locked, hold_lock
from miml_core.project import Project
from tests.conftest import PATIENCE
from tests.project import processes

pytestmark = pytest.mark.usefixtures("quick_workers")


class _Stop(Exception):
    pass


def stop_at(step):
    def progress(done, of, info):
        if done >= step:
            raise _Stop

    return progress


def make_and_hold(folder: str, reported: processes.Connection) -> None:
    """Make a demo up to its tags and stay there."""

    def progress(done, of, info):
        if done >= 460:
            reported.send(done)
            threading.Event().wait()

    make_demo(folder, count=3, train=False, progress=progress)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a kill")
def test_a_killed_making_is_marked_and_gone_on_with(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    ours, theirs = processes.pipe()
    maker = processes.start(make_and_hold, str(folder), theirs)
    assert ours.recv() >= 460
    assert is_unfinished(folder)
    with pytest.raises(Locked, match="Another Bagtag process is creating a demo"):
        make_demo(folder, count=3, train=False)
    os.kill(maker.pid or 0, signal.SIGKILL)
    maker.join()
    assert is_unfinished(folder)
    media = {path: path.stat().st_mtime_ns for path in (folder / "recordings").iterdir()}
    with make_demo(folder, count=3, train=False) as project:
        assert project.progress().n_segmented == 3
    assert not is_unfinished(folder)
    assert {path: path.stat().st_mtime_ns for path in (folder / "recordings").iterdir()} == media, "not made twice"


def test_files_of_others_are_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("mine")
    with pytest.raises(BagtagError, match="other files"):
        make_demo(tmp_path, count=1)
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tags.csv"]
    assert (tmp_path / "tags.csv").read_text() == "mine"


def test_removing_takes_only_what_the_making_left(tmp_path: Path) -> None:
    for name, other in (("one", True), ("two", False)):
        folder = tmp_path / name
        with pytest.raises(_Stop):
            make_demo(folder, count=2, train=False, progress=stop_at(470))
        assert Project.is_project(folder)
        if other:
            (folder / "notes.txt").write_text("mine")
            (folder / "runs").rmdir() if (folder / "runs").exists() else None
            (folder / "runs").symlink_to(tmp_path)
        remove_unfinished(folder)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [MARKER, "notes.txt", "runs"]
    assert not (tmp_path / "two").exists()


def test_a_demo_in_use_is_never_marked_again(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo", count=1, train=False).close()
    with pytest.raises(_Stop):
        make_demo(tmp_path / "demo", count=1, progress=stop_at(0))
    assert not is_unfinished(tmp_path / "demo")


def test_a_lock_is_held_by_one_and_ends_with_the_block(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "lock"), pytest.raises(Locked), hold_lock(tmp_path / "lock"):
        pass
    with hold_lock(tmp_path / "lock"), hold_unfinished(tmp_path / "other"):
        assert is_unfinished(tmp_path / "other")


def wait_until(condition, seconds=PATIENCE):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def quick_demo(tmp_path, monkeypatch):
    """The app's demo, of two recordings and without a model, in a home of its own."""
    from pages.widgets.start import demo

    monkeypatch.setenv("BAGTAG_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(
        "miml_core.demo.make_demo",
        lambda folder, kind, progress: make_demo(folder, kind, progress=progress, count=2, train=False),
    )
    works = demo._DemoWorks()
    monkeypatch.setattr(demo, "_demo_works", lambda: works)
    return demo


def test_the_app_goes_on_with_what_a_killed_server_left(tmp_path, quick_demo):
    workshop = tmp_path / "home" / ".demo-sound-unfinished"
    with pytest.raises(_Stop):
        make_demo(workshop, count=2, train=False, progress=stop_at(470))
    made = sorted((workshop / "recordings").iterdir())[0].stat().st_mtime_ns
    work = quick_demo.start_demo("sound")
    wait_until(lambda: work.over)
    assert work.problem is None and work.folder == tmp_path / "home" / "demo-sound"
    assert not workshop.exists() and not is_unfinished(work.folder)
    assert sorted((work.folder / "recordings").iterdir())[0].stat().st_mtime_ns == made
    assert quick_demo.existing_demo("sound") == work.folder


def test_a_second_server_waits_and_opens_what_the_first_made(tmp_path, quick_demo):
    lock = tmp_path / "home" / ".demo-sound.lock"
    lock.parent.mkdir()
    with hold_lock(lock):
        waiting = quick_demo.start_demo("sound")
        make_demo(tmp_path / "home" / "demo-sound", count=1, train=False).close()
        assert not waiting.over
    wait_until(lambda: waiting.over)
    assert waiting.problem is None and waiting.folder == tmp_path / "home" / "demo-sound"


def test_a_stopped_or_failed_making_leaves_nothing(tmp_path, quick_demo, monkeypatch):
    work = quick_demo.start_demo("sound")
    work.end()
    wait_until(lambda: work.over)
    assert work.problem is None and not (tmp_path / "home" / ".demo-sound-unfinished").exists()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("miml_core.demo.media.write_tags", full)
    work = quick_demo.start_demo("sound")
    wait_until(lambda: work.over)
    assert "No space left on device" in (work.problem or "")
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".demo-sound.lock"]
