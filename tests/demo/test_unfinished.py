"""Half-made demos: gone on with or removed, never taken for something else, and nobody's files go with them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from miml_core.demo import make_demo
from miml_core.demo.unfinished import MARKER, is_half_made, making, remove_half_made
from miml_core.errors import BagtagError
from miml_core.file_lock import Locked, hold_lock
from miml_core.project import Project
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
    assert is_half_made(folder)
    with pytest.raises(Locked, match="Another Bagtag process is creating a demo"):
        make_demo(folder, count=3, train=False)
    os.kill(maker.pid or 0, signal.SIGKILL)
    maker.join()
    assert is_half_made(folder)
    media = {path: path.stat().st_mtime_ns for path in (folder / "recordings").iterdir()}
    with make_demo(folder, count=3, train=False) as project:
        assert project.progress().n_segmented == 3
    assert not is_half_made(folder)
    assert {path: path.stat().st_mtime_ns for path in (folder / "recordings").iterdir()} == media, "not made twice"


def test_files_of_others_are_neither_overwritten_nor_removed(tmp_path: Path) -> None:
    (tmp_path / "tags.csv").write_text("mine")
    with pytest.raises(BagtagError, match="other files"):
        make_demo(tmp_path, count=1)
    remove_half_made(tmp_path)
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
        remove_half_made(folder)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [MARKER, "notes.txt", "runs"]
    assert not (tmp_path / "two").exists()


def test_a_demo_in_use_is_never_marked_again(tmp_path: Path) -> None:
    make_demo(tmp_path / "demo", count=1, train=False).close()
    with pytest.raises(_Stop):
        make_demo(tmp_path / "demo", count=1, progress=stop_at(0))
    assert not is_half_made(tmp_path / "demo")


def test_a_lock_is_held_by_one_and_ends_with_the_block(tmp_path: Path) -> None:
    with hold_lock(tmp_path / "lock"), pytest.raises(Locked), hold_lock(tmp_path / "lock"):
        pass
    with hold_lock(tmp_path / "lock"), making(tmp_path / "other"):
        assert is_half_made(tmp_path / "other")


def wait_until(condition, seconds=60.0):
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
    works = demo._Works()
    monkeypatch.setattr(demo, "_works", lambda: works)
    return demo


def test_the_app_goes_on_with_what_a_killed_server_left(tmp_path, quick_demo):
    workshop = tmp_path / "home" / ".demo-sound-unfinished"
    with pytest.raises(_Stop):
        make_demo(workshop, count=2, train=False, progress=stop_at(470))
    made = sorted((workshop / "recordings").iterdir())[0].stat().st_mtime_ns
    making_ = quick_demo.start_demo("sound")
    wait_until(lambda: making_.over)
    assert making_.problem is None and making_.folder == tmp_path / "home" / "demo-sound"
    assert not workshop.exists() and not is_half_made(making_.folder)
    assert sorted((making_.folder / "recordings").iterdir())[0].stat().st_mtime_ns == made
    assert quick_demo.existing_demo("sound") == making_.folder


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
    making_ = quick_demo.start_demo("sound")
    making_.end()
    wait_until(lambda: making_.over)
    assert making_.problem is None and not (tmp_path / "home" / ".demo-sound-unfinished").exists()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("miml_core.demo.media.write_tags", full)
    making_ = quick_demo.start_demo("sound")
    wait_until(lambda: making_.over)
    assert "No space left on device" in (making_.problem or "")
    assert [path.name for path in (tmp_path / "home").iterdir()] == [".demo-sound.lock"]
