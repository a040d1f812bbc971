"""Which files are found, their sites and days, and how the work is divided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core.archive.plan import Task, plan_tasks
from miml_core.archive.recordings import (
    FoundFile,
    HeaderCache,
    RecordingFile,
    SitePattern,
    find_recordings,
    read_headers,
)
from miml_core.errors import BagtagError


def recordings(n: int, seconds: float = 60.0, day: str = "2024-05-01") -> list[RecordingFile]:
    return [
        RecordingFile(f"survey/marsh/{k:05d}.wav", f"/data/{k}", 100, 1, f"mark {k}", seconds, f"{day}T00:00:00")
        for k in range(n)
    ]


def plan(found: list[RecordingFile], task_seconds: float = 600.0, clip_seconds: float = 10.0) -> list[Task]:
    return list(
        plan_tasks(found, model_id="model", clip_seconds=clip_seconds, task_seconds=task_seconds, sites=SitePattern())
    )


def clips(tasks: list[Task]) -> list[tuple[str, int]]:
    return sorted((s.recording.file, k) for task in tasks for s in task.stretches for k in range(s.first, s.last))


def test_every_clip_is_in_one_task():
    found = recordings(300) + [replace(one, file=f"survey/hill/{k}.wav") for k, one in enumerate(recordings(5, 7205.0))]
    tasks = plan(found)
    assert clips(tasks) == sorted(set(clips(tasks))) and len(clips(tasks)) == 300 * 6 + 5 * 721
    assert len({task.name for task in tasks}) == len(tasks)
    assert all(task.seconds <= 2 * 600 + 60 for task in tasks)
    assert 300 * 60 / 600 / 2 <= sum(task.site == "marsh" for task in tasks) <= 300 * 60 / 600 * 2
    assert sum(s.is_end for task in tasks for s in task.stretches) == len(found)


def test_another_file_changes_its_own_group_only():
    found = recordings(500)
    before = {task.name for task in plan(found)}
    added = {task.name for task in plan(sorted([*found, *recordings_named("survey/marsh/00250a.wav")], key=by_name))}
    changed = {task.name for task in plan([*found[:250], replace(found[250], fingerprint="new"), *found[251:]])}
    assert len(before - changed) == len(changed - before) == 1
    assert len(before - added) <= 3 < len(before & added)
    assert {task.name for task in plan(found)} == before


def recordings_named(name: str) -> list[RecordingFile]:
    return [replace(recordings(1)[0], file=name)]


def by_name(recording: RecordingFile) -> str:
    return recording.file


def test_a_recording_across_midnight_has_two_days():
    night = replace(recordings(1, 3600.0)[0], recorded_at="2024-05-01T23:45:00")
    tasks = plan([night])
    assert sorted({task.day for task in tasks}) == ["2024-05-01", "2024-05-02"]
    assert sum(task.seconds for task in tasks if task.day == "2024-05-01") == pytest.approx(900)


def test_files_with_problems_and_without_time_are_planned():
    bad = replace(recordings(1)[0], problem="It is damaged.", duration=0.0, recorded_at="")
    (task,) = plan([bad])
    assert (task.day, task.seconds, task.stretches[0].first, task.stretches[0].last) == ("unknown", 0.0, 0, 0)


def test_pictures_are_grouped_by_number():
    tasks = plan([replace(one, duration=0.0) for one in recordings(100)], task_seconds=10.0, clip_seconds=0.0)
    assert 5 <= len(tasks) <= 30 and len(clips(tasks)) == 100


def write(path: Path, seconds: float = 0.1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.zeros(int(8000 * seconds)), 8000)
    return path


def test_headers_of_found_files(tmp_path):
    write(tmp_path / "survey" / "marsh" / "20240501_043000.wav", 1.5)
    write(tmp_path / "survey" / "marsh" / ".hidden.wav")
    write(tmp_path / "survey" / "first.flac")
    (tmp_path / "survey" / "bad.wav").write_bytes(b"")
    (tmp_path / "survey" / "notes.txt").write_text("wren")
    found = find_recordings([tmp_path / "survey"], "sound")
    bad, first, marsh = sorted(read_headers(found, "sound"), key=lambda one: one.file)
    assert marsh.file == "survey/marsh/20240501_043000.wav" and marsh.recorded_at == "2024-05-01T04:30:00"
    assert marsh.duration == 1.5 and marsh.utc_offset is None and not marsh.problem
    assert bad.problem.startswith("bad.wav is empty") and not bad.again
    assert first.day_at(0.0) == "unknown"
    assert [SitePattern().of(one) for one in (bad, first, marsh)] == ["survey", "survey", "marsh"]


def test_sites_of_recorders_and_patterns():
    recording = replace(recordings(1)[0], file="survey/S01_20240501.wav", recorder_site="North marsh")
    assert SitePattern().of(recording) == "North marsh"
    assert SitePattern(r"(S\d+)_").of(recording) == "S01"
    for wrong, sentence in (("S(", "not a valid regular expression"), ("S01", "needs a group")):
        with pytest.raises(BagtagError, match=sentence):
            SitePattern(wrong)


def test_folders_that_cannot_be_used(tmp_path):
    write(tmp_path / "a" / "survey" / "x.wav")
    write(tmp_path / "b" / "survey" / "x.wav")
    (tmp_path / "empty").mkdir()
    for folders, sentence in (
        ([tmp_path / "none"], "There is no folder"),
        ([tmp_path / "empty"], "has no recordings"),
        ([tmp_path / "a" / "survey", tmp_path / "b" / "survey"], "have the same name"),
    ):
        with pytest.raises(BagtagError, match=sentence):
            find_recordings(folders, "sound")


def test_headers_are_kept_while_files_stay_the_same(tmp_path):
    headers = [*recordings(3), replace(recordings(1)[0], path="/away", problem="not reachable", again=True)]
    HeaderCache(tmp_path).write(headers)
    asked = [FoundFile(one.file, one.path, one.size, one.changed) for one in headers]
    asked[1] = replace(asked[1], changed=2)
    known, unknown = HeaderCache(tmp_path).split(asked)
    assert known == [headers[0], headers[2]] and unknown == [asked[1], asked[3]]
    (tmp_path / ".files.parquet").write_bytes(b"damaged")
    assert HeaderCache(tmp_path).split(asked) == ([], asked)
