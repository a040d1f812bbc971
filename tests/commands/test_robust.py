"""The command line under bad input, closed pipes, Ctrl-C and poor terminals: a sentence or one JSON object."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from miml_core import __version__
from miml_core.__main__ import COMMANDS, main
from miml_core.json_text import to_json
from miml_core.project import Project
from miml_core.project.errors import NotSaved
from tests.conftest import PATIENCE
from tests.project import processes

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-m", "miml_core"]


def refuse_constant(text: str) -> Any:
    raise AssertionError(f"{text} is no JSON")


def read_json(text: str) -> Any:
    """Exactly one object on one line, without NaN."""
    assert text.count("\n") == 1
    return json.loads(text, parse_constant=refuse_constant)


def call(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    try:
        code = main([str(word) for word in words])
    except SystemExit as left:
        code = int(str(left.code))
    return code, *capsys.readouterr()


def run_program(*words: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
    env = {**os.environ, **options.pop("env", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([*PROGRAM, *map(str, words)], cwd=ROOT, env=env, timeout=PATIENCE, check=False, **streams)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    with Project.create(tmp_path / "project", name="Vögel 鸟") as made:
        made.edits.add_class("Zaunkönig")
    return tmp_path / "project"


WRONG_CALLS = [
    ("status",),
    ("nonsense",),
    ("status", "p", "--nonsense"),
    ("new", "p", "--kind", "smell"),
    ("status", ""),
    ("status", "a\0b"),
    ("import", "p", "x", "--bag-length", "1e400"),
    ("import", "p", "x", "--bag-length", "nan"),
    ("import", "p", "x", "--bag-length", "-3"),
    ("import", "p", "x", "--overlap", "inf"),
    ("segment", "p", "--processes", "0"),
    ("segment", "p", "--processes", "9" * 5000),
    ("train", "p", "--seed", "-1"),
    ("train", "p", "--seed", "1.5"),
    ("predict", "p", "--run", "99999999999999999999"),
    ("export", "p", "x", "--min-probability", "7"),
    ("demo", "p", "--seed", "99999999999999999999"),
]


@pytest.mark.parametrize("words", WRONG_CALLS)
def test_a_wrong_call_is_a_sentence_or_one_object(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *words)
    assert code == 2 and out == "" and "error: " in err and len(err) < 2000
    code, out, err = call(capsys, *words, "--json")
    assert code == 2 and err == ""
    assert read_json(out)["kind"] == "usage"


def test_usage_errors_name_the_program_that_was_started(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = call(capsys, "new")
    assert err.startswith("usage: bagtag new ") and "bagtag new: error: " in err and "miml_core" not in err
    err = run_program("new").stderr.decode()
    assert err.startswith("usage: python -m miml_core new ") and "python -m miml_core new: error: " in err


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "--version") == (0, f"bagtag {__version__}\n", "")
    done = run_program("--version")
    assert (done.returncode, done.stdout.decode().strip()) == (0, f"bagtag {__version__}")


def test_the_command_bagtag_is_started_like_the_module(project: Path) -> None:
    """As the script that pip writes, into a pipe that is closed: without a traceback."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["bagtag"]
    module, function = declared.split(":")
    script = [sys.executable, "-c", f"import sys; from {module} import {function}; sys.exit({function}())"]
    done = subprocess.run([*script, "new"], cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2 and done.stderr.startswith(b"usage: bagtag new ")
    ours, theirs = os.pipe()
    os.close(ours)
    words = [*script, "status", str(project)]
    done = subprocess.run(words, cwd=ROOT, stdout=theirs, stderr=subprocess.PIPE, timeout=PATIENCE, check=False)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "words", [("bench", "--data", "d", "--folds", "-1"), ("bench", "--data", "d", "--seed", "x"),
              ("bench-media", "--data", "d", "--jobs", "-7"), ("bench-media", "--data", "", "--json", "f")]
)  # fmt: skip
def test_benchmarks_refuse_numbers_out_of_range(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, *words)
    assert code == 2 and out == "" and "error: " in err


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "1e400", "9" * 30, "[" * 100_000])
def test_a_parameter_of_a_model_is_finite(project: Path, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "train", project, "--set", f"alpha={value}", "--json")
    assert code == 1 and "must be a finite number" in read_json(out)["error"]


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (NotSaved("The disk is full."), 1, "not_saved"),
        (KeyboardInterrupt(), 130, "stopped"),
        (PermissionError(13, "Permission denied", "/x"), 1, "file"),
        (MemoryError(), 1, "memory"),
        (ZeroDivisionError("a bug"), 1, "bug"),
    ],
)
def test_every_error_is_one_object(
    error: BaseException, code: int, kind: str, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: object) -> int:
        raise error

    monkeypatch.setattr("miml_core.commands.status.run", fail)
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("BAGTAG_DEBUG", raising=False)
    found, out, err = call(capsys, "status", tmp_path, "--json")
    assert (found, read_json(out)["kind"], err) == (code, kind, "")
    found, out, err = call(capsys, "status", tmp_path)
    assert (found, out) == (code, "") and err.startswith("bagtag: ") and "Traceback" not in err
    if kind == "bug":
        assert "errors.log" in err
        assert "ZeroDivisionError: a bug" in (tmp_path / "state" / "errors.log").read_text()
        monkeypatch.setenv("BAGTAG_DEBUG", "1")
        assert "Traceback" in call(capsys, "status", tmp_path)[2]


def test_a_failed_job_is_one_object_with_its_failures(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "import", project, project / "nowhere", "--json")
    reported = read_json(out)
    assert code == 1 and err == ""
    assert (
        reported["kind"] == "job_failed"
        and "nowhere" in reported["error"]
        and reported["failures"] == []
        and reported["job"] == 1
    )


def test_a_project_that_is_a_file_or_cannot_be_read_is_a_sentence(
    project: Path, tmp_path: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = call(capsys, "status", project / "project.db", "--json")
    assert code == 1 and "is a file" in read_json(out)["error"]
    code, out, _ = call(capsys, "status", tmp_path / ("x" * 300), "--json")
    assert code == 1 and read_json(out)["kind"] in ("file", "refused")


def test_json_never_has_a_number_that_is_not_finite() -> None:
    value = {"a": [float("nan"), np.float32("inf"), 1.5], "b": np.array([1.0, np.nan]), 3: (-float("inf"), Path("x"))}
    assert json.loads(to_json(value), parse_constant=refuse_constant) == {
        "a": [None, None, 1.5], "b": [1.0, None], "3": [None, "x"],
    }  # fmt: skip


def test_scores_that_are_not_finite_are_null_in_status_and_routes(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pages.widgets.routes.json_response import JSONResponse

    with Project.open(project) as opened, opened.store.write() as connection:
        connection.exec_driver_sql(
            "INSERT INTO runs (model, params, seed, state, started_at, classes, feature_key, annotator, scores, curves,"
            " background, message, n_bags, n_segments, n_corrections)"
            " VALUES ('ored-lr', '{}', 0, 'done', 0, '[]', '', '', '{\"held_out_bags\": NaN}', '{}', 0, '', 0, 0, 0)"
        )
    code, out, _ = call(capsys, "status", project, "--json")
    assert code == 0 and read_json(out)["runs"][0]["scores"] == {"held_out_bags": None}
    body = bytes(JSONResponse({"p": float("nan"), "name": "v\udcf6gel"}).body)
    assert json.loads(body, parse_constant=refuse_constant) == {"p": None, "name": "v\udcf6gel"}


def test_nobody_reads_on(project: Path) -> None:
    """`status | head -0`: the pipe is closed before anything is written."""
    for words in (["status", project], ["status", project, "--json"], ["--help"], ["nonsense", "--json"]):
        ours, theirs = os.pipe()
        os.close(ours)
        done = run_program(*words, stdout=theirs)
        os.close(theirs)
        assert (done.returncode, done.stderr) == (0 if "--help" in words else 141, b""), words


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_an_output_that_cannot_be_written_is_reported(project: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_program("status", project, stdout=full)
    assert done.returncode == 1
    expected = b"written: No space left on device. Check the path, its permissions and the free space.\n"
    assert done.stderr.startswith(b"bagtag: ") and done.stderr.endswith(expected)


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
def test_closed_streams_are_no_reason_to_fail(project: Path) -> None:
    words = " ".join(f"'{word}'" for word in [*PROGRAM, "status", project])
    done = subprocess.run(
        ["sh", "-c", f"{words} <&- >&-"], cwd=ROOT, stderr=subprocess.PIPE, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (
        subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], cwd=ROOT, timeout=PATIENCE, check=False).returncode == 0
    )


def test_a_terminal_that_knows_only_ascii_shows_every_name(project: Path, tmp_path: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/v\xf6gel"))
    project.rename(strange)
    env = {"PYTHONIOENCODING": "ascii", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = run_program("status", strange, env=env)
    assert done.returncode == 0 and b"Zaunk\\xf6nig" in done.stdout and b"v\\udcf6gel" in done.stdout
    reported = read_json(run_program("status", strange, "--json", env=env).stdout.decode("ascii"))
    assert reported["name"] == "Vögel 鸟" and reported["project"] == str(strange)
    reported = read_json(run_program("status", strange, "--json", env={"PYTHONIOENCODING": "utf-8"}).stdout.decode())
    assert reported["name"] == "Vögel 鸟" and reported["project"] == str(strange)


STOP_WHEN_IMPORTING = """
import os, signal, sys, runpy
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
sys.argv = ["miml_core", *sys.argv[1:]]
runpy.run_module("miml_core", run_name="__main__", alter_sys=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("name", ["argparse", "miml_core.commands.status", "sqlalchemy"])
def test_ctrl_c_while_modules_are_loaded(name: str, project: Path, as_json: bool) -> None:
    words, out, err = (["--json"], b'"kind": "stopped"', b"") if as_json else ([], b"", b"bagtag: stopped\n")
    program = [sys.executable, "-c", STOP_WHEN_IMPORTING.format(name=name), "status", str(project), *words]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 130, done.stderr
    assert out in done.stdout and done.stderr == err


HELD_WORKER = """
import os, sys, time
class Hold:
    def find_spec(self, name, path=None, target=None):
        if name == "miml_core.project.jobs.tasks.importing":
            open(os.environ["WORKER_HELD"], "w").close()
            while os.path.exists(os.environ["WORKER_HELD"]):
                time.sleep(0.01)
sys.meta_path.insert(0, Hold())
"""


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
def test_ctrl_c_while_a_job_runs_stops_it(project: Path, tmp_path: Path) -> None:
    recordings, hold, held = tmp_path / "recordings", tmp_path / "hold", tmp_path / "held"
    environment = {"PYTHONPATH": str(hold), "WORKER_HELD": str(held)}
    for folder in (recordings, hold):
        folder.mkdir()
    (recordings / "1.wav").write_bytes(b"RIFF, but not really")
    (hold / "sitecustomize.py").write_text(HELD_WORKER)
    words = [*PROGRAM, "import", project, recordings, "--json"]
    program = subprocess.Popen(words, cwd=ROOT, env={**os.environ, **environment}, stdout=-1, stderr=-1)
    with Project.open(project) as opened:
        wait_until(held.exists)
        (job,) = opened.jobs.list()
        program.send_signal(signal.SIGINT)
        wait_until(lambda: opened.jobs.get(job.id).cancelling)
        held.unlink()
        out, err = program.communicate(timeout=PATIENCE)
        assert (program.returncode, read_json(out.decode())["kind"], err) == (130, "stopped", b"")
        assert not opened.jobs.list(active=True)


def wait_until(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def call_as_nobody(command: str, folder: str, result: processes.Connection) -> None:
    """Run a command as a user who may not write the project; once before, to import what this user may not read."""
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        main([command, folder, "--json"])
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = main([command, folder, "--json"])
    result.send((code, out.getvalue()))


@pytest.mark.skipif(os.name == "nt", reason="needs users")
@pytest.mark.parametrize("command", ["status", "check"])
def test_a_read_only_project_is_reported(command: str, project: Path) -> None:
    project.chmod(0o555)
    (project / "project.db").chmod(0o444)
    for parent in project.parents:
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    ours, theirs = processes.pipe()
    processes.start(call_as_nobody, command, str(project), theirs)
    code, out = ours.recv()
    project.chmod(0o755)
    assert code == 1 and "read-only" in read_json(out)["error"]


def test_every_command_refuses_a_folder_that_is_no_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"import": ["x"], "tag": ["x"], "export": ["x"], "export-model": ["x.bagtag"], "import-labels": ["x"]}
    more |= {"pack": ["x.zip"], "merge": ["x"], "report": ["x.html"]}
    without_project = {"app", "new", "demo", "warm", "bench", "bench-media", "bench-economy", "apply", "sample"}
    without_project |= {"unpack"}
    for command in COMMANDS.keys() - without_project:
        code, out, err = call(capsys, command, tmp_path, *more.get(command, []), "--json")
        assert (code, err) == (1, "") and "not a Bagtag project" in read_json(out)["error"], command
