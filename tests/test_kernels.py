"""Compiling the numba kernels in the background, and telling how far that is."""

import json
import os
import subprocess
import sys

import pytest

from miml_core import kernels


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path))
    monkeypatch.setattr(kernels, "_stamp", lambda: tmp_path / "kernels.ready")
    return tmp_path


def test_every_module_with_kernels_is_listed():
    folder = kernels._PACKAGE
    used = {path.name.removesuffix("_kernels.py") for path in folder.rglob("*_kernels.py")} - {"lab"}
    assert used == {module.rpartition(".")[2] for module in kernels.MODULES}


def test_nothing_is_left_to_be_compiled_when_sounds_pictures_and_models_are_used():
    done = subprocess.run([sys.executable, "-m", "tests.warmed_kernels"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_they_are_ready_after_all_were_compiled_and_not_before(state, monkeypatch):
    monkeypatch.setattr(kernels, "MODULES", ("miml_core.posterior",))
    assert not kernels.are_ready()
    steps = []
    kernels.compile_all(lambda done, of, info: steps.append((done, of)))
    assert kernels.are_ready() and steps == [(0, 1)]


def test_a_compilation_is_seen_while_its_process_lives(state):
    assert kernels.compilation() is None
    (state / "kernels.json").write_text(json.dumps({"pid": os.getpid(), "done": 3, "of": 9}))
    assert kernels.compilation() == kernels.Compilation(3, 9)
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    (state / "kernels.json").write_text(json.dumps({"pid": ended.pid, "done": 3, "of": 9}))
    assert kernels.compilation() is None
    for odd in ("", "[]", "{}", '{"pid": "x"}'):
        (state / "kernels.json").write_text(odd)
        assert kernels.compilation() is None


def test_nothing_is_started_when_they_are_ready(state, monkeypatch):
    started = []
    monkeypatch.setattr(kernels.subprocess, "Popen", lambda command, **_: started.append(command))
    kernels.compile_in_background()
    (state / "kernels.ready").touch()
    kernels.compile_in_background()
    assert len(started) == 1 and started[0][-2:] == ["warm", "--background"]
