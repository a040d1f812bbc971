"""The whole flow from the command line, without a screen."""

from __future__ import annotations

import csv
import importlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from miml_core.__main__ import COMMANDS, main
from miml_core.commands import project_commands
from miml_core.project import Project
from tests.project.conftest import add_bags, row_of_boxes
from tests.project.sounds import write_recordings, write_tags

pytestmark = pytest.mark.usefixtures("quick_workers")


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, dict[str, Any]]:
    code = main([str(word) for word in words] + ["--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else {"error": printed.err}


@pytest.mark.slow
def test_from_a_folder_of_recordings_to_a_table_of_labelled_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = write_recordings(tmp_path / "recordings", 8)
    (tmp_path / "recordings" / "broken.wav").write_bytes(b"RIFF, but not really")
    project = tmp_path / "project"
    assert run(capsys, "new", project)[0] == 0

    code, done = run(capsys, "import", project, tmp_path / "recordings")
    assert code == 3 and done["bags"] == 8
    assert [Path(each["item"]).name for each in done["failures"]] == ["broken.wav"]
    code, done = run(capsys, "import", project, tmp_path / "recordings" / "clip_000.wav")
    assert code == 0 and done["bags"] == 0 and done["known"] == 1

    code, done = run(capsys, "segment", project)
    assert code == 0 and done["segments"] >= 8 * 3

    tags = write_tags(tmp_path / "tags.csv", {**heard, "nowhere.wav": {"Low"}})
    code, done = run(capsys, "tag", project, tags, "--annotator", "Ann")
    assert code == 3 and done["n_bags"] == 8 and len(done["left_out"]) == 1

    code, done = run(capsys, "train", project, "--set", "alpha=0.01")
    assert code == 0 and done["run"] == 1

    with Project.open(project, annotator="Ann") as opened:
        first = opened.review.queue("newest", limit=1)[0]
        opened.edits.set_label(first.segment_id, -2)
    assert run(capsys, "predict", project)[1]["bags"] == 0, "the bag was predicted again when the project was closed"

    target = tmp_path / "calls.csv"
    assert run(capsys, "export", project, target)[0] == 0
    with target.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) >= 8 * 3
    by_hand = [row for row in rows if row["said_by"] == "person"]
    assert [(row["who"], row["status"]) for row in by_hand] == [("Ann", "background")]
    right = [row["label"] in heard[Path(row["file"]).name] for row in rows if row["label"]]
    assert all(right) and {row["label"] for row in rows} >= {"Low", "Middle", "High"}

    code, status = run(capsys, "status", project)
    assert status["progress"]["n_reviewed"] == 1 and status["run"]["n_corrections_since"] == 1
    assert status["run"]["scores"]["held_out_bags"] == 8 and status["runs"][0]["scores"] == status["run"]["scores"]
    assert main(["status", str(project)]) == 0
    assert "8 held-out bags: log-likelihood -" in capsys.readouterr().out
    assert run(capsys, "check", project) == (0, {"found_again": [], "problems": []})


def test_labels_that_new_segments_would_take_along_are_listed_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recordings(tmp_path / "recordings", 1)
    project = tmp_path / "project"
    started: list[Any] = []
    monkeypatch.setattr(project_commands, "run_job", lambda *args, **_: started.append(args[2:]) or 0)
    with Project.create(project, annotator="Ann") as opened:
        opened.media.add(sorted((tmp_path / "recordings").iterdir()))
        opened.edits.add_class("Wren")
        opened.segments.store(1, row_of_boxes(1))
        opened.edits.set_label(1, 1)
    assert run(capsys, "segment", project)[0] == 0 and len(started) == 1, "what is up to date is not at risk"
    code, reported = run(capsys, "segment", project, "--again")
    assert code == 1 and "clip_000.wav: segment 1 (Wren)" in reported["error"] and len(started) == 1
    code, seen = run(capsys, "segment", project, "--again", "--preview")
    assert code == 0 and seen["lost"] == ["clip_000.wav: segment 1 (Wren)"] and len(started) == 1
    assert run(capsys, "segment", project, "--again", "--yes")[0] == 0 and len(started) == 2
    (tmp_path / "recordings" / "clip_000.wav").unlink()
    assert run(capsys, "segment", project, "--again")[0] == 0, "what cannot be read stays as it is"


def test_moved_files_are_missed_and_found_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recordings(tmp_path / "old", 2)
    project = tmp_path / "project"
    with Project.create(project) as opened:
        opened.media.add(sorted((tmp_path / "old").iterdir()))
    (tmp_path / "old").rename(tmp_path / "new")
    assert run(capsys, "status", project)[1]["progress"]["n_missing"] == 2
    code, found = run(capsys, "check", project)
    assert code == 1 and [problem["kind"] for problem in found["problems"]] == ["missing", "missing"]
    code, found = run(capsys, "check", project, "--moved-to", tmp_path / "new")
    assert code == 0 and len(found["found_again"]) == 2 and found["problems"] == []
    assert run(capsys, "status", project)[1]["progress"]["n_missing"] == 0
    assert run(capsys, "check", project, "--moved-to", tmp_path / "nowhere")[0] == 1


def test_an_export_over_the_project_or_a_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    with Project.create(project) as opened:
        add_bags(opened, 1)
    recording = project / "media" / "clip 0.wav"
    before = {path: path.read_bytes() for path in (project / "project.db", recording)}
    for target, why in ((project / "project.db", "belongs to the project"), (recording, "already exists")):
        code, reported = run(capsys, "export", project, target, "--what", "all")
        assert code == 1 and why in reported["error"] and "choose another" in reported["error"]
    assert {path: path.read_bytes() for path in before} == before


def test_a_table_from_a_spreadsheet_in_another_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mark at the start, semicolons, umlauts, a bag on two lines, and files that are not there."""
    write_recordings(tmp_path / "recordings", 2)
    project = tmp_path / "project"
    with Project.create(project) as opened:
        opened.media.add(sorted((tmp_path / "recordings").iterdir()))
    table = 'file;tags\r\nclip_000.wav;"Mönchsgrasmücke; Zilpzalp"\r\nCLIP.wav;Amsel\r\nclip_000.wav;Rotkehlchen\r\n'
    for encoding in ("utf-8-sig", "latin-1"):
        (tmp_path / "tags.csv").write_bytes(table.encode(encoding))
        code, done = run(capsys, "tag", project, tmp_path / "tags.csv")
        assert code == 3 and done["n_bags"] == 1 and len(done["left_out"]) == 1 and "line 3" in done["left_out"][0]
    with Project.open(project) as opened:
        names = [one.name for one in opened.classes.list()]
        assert sorted(names) == ["Mönchsgrasmücke", "Rotkehlchen", "Zilpzalp"], "no class of a line that was left out"
        assert list(opened.bags.get(1).tags.values()) == [1, 1, 1] and opened.bags.get(1).finished


def test_what_goes_wrong_is_printed_on_standard_error_with_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert printed.out == "" and "not a Bagtag project" in printed.err
    assert main(["new", str(tmp_path / "p")]) == 0
    assert main(["new", str(tmp_path / "p")]) == 1
    assert "already a project" in capsys.readouterr().err
    assert main(["new", str(tmp_path / "q"), "--classes", str(tmp_path / "none.csv")]) == 1
    assert "could not be read" in capsys.readouterr().err and not (tmp_path / "q").exists()
    for wrong in (["nonsense"], ["new"], ["new", "x", "--kind", "smell"], []):
        with pytest.raises(SystemExit) as left:
            main(wrong)
        assert left.value.code == 2


_ALL = ("new", "import", "segment", "tag", "train", "predict", "status", "export", "check", "demo", "warm")


@pytest.mark.parametrize("command", _ALL)
def test_the_examples_are_commands(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, up to what follows two spaces or a pipe."""
    module = importlib.import_module(f"miml_core.commands.{'import_' if command == 'import' else command}")
    understood: list[Any] = []
    monkeypatch.setattr(module, "run", lambda args: understood.append(args) or 0)
    lines = [line.strip() for line in str(module.__doc__).splitlines()]
    examples = [line for line in lines if line.startswith("bagtag ")]
    for example in examples:
        words = shlex.split(re.split(r"  | \|", example)[0])
        assert main(words[1:]) == 0
    assert len(understood) == len(examples) > 0


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([command, "--help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert "example" in text.lower() and f"\nusage: bagtag {command} " in f"\n{text}"
    assert ("--json" in text) == (command != "app")
    examples = text.partition("xample")[2]
    assert f"bagtag {command}" in examples and "python -m" not in examples


def test_check_finds_and_repairs_leftovers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Project.create(tmp_path / "p").close()
    (tmp_path / "p" / "runs" / "17").mkdir(parents=True)
    code, found = run(capsys, "check", tmp_path / "p")
    assert code == 1 and found["problems"][0]["kind"] == "leftover"
    assert run(capsys, "check", tmp_path / "p", "--repair")[0] == 0
    assert run(capsys, "check", tmp_path / "p") == (0, {"found_again": [], "problems": []})
