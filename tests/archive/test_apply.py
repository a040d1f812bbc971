"""Results of a model on an archive, without a cluster: each task in this process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from miml_core.archive import run
from miml_core.archive.bundle import ModelBundle, read_bundle
from miml_core.archive.reading import choose_model, open_table, summarise
from miml_core.archive.results import results_of
from miml_core.archive.run import ApplyOptions, ApplyProgress, apply_model
from miml_core.errors import BagtagError
from tests.archive.conftest import CLIP_SECONDS, N_PER_SITE, do_here, make_survey
from tests.conftest import ROOT
from tests.project.sounds import RATE

N_FILES = 2 * N_PER_SITE


@pytest.fixture(autouse=True, scope="module")
def _without_cluster() -> Iterator[None]:
    """Do the tasks in this process; `test_kills.py` has those on Dask."""
    with pytest.MonkeyPatch.context() as patch:
        do_here(patch)
        yield


def apply(bundle_file: Path, folder: Path, archive: Path, **options) -> ApplyProgress:
    return apply_model(bundle_file, [folder], archive, ApplyOptions(task_seconds=15.0, **options))


def content(archive: Path) -> dict[str, bytes]:
    """The data set: paths and bytes of its files."""
    return {str(path.relative_to(archive)): path.read_bytes() for path in sorted(archive.glob("*/site=*/**/*.parquet"))}


@pytest.mark.skipif(sys.platform != "linux", reason="is about the allocator of Linux")
def test_a_worker_of_dask_keeps_freed_memory():
    code = (
        "import resource, numpy as np\n"
        "from miml_core.archive.work import prepare_process\n"
        "def faults():\n"
        "    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "    for _ in range(50): np.ones(2**18)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before\n"
        "first = faults(); prepare_process(); faults(); print(first, faults())"
    )
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    before, after = map(int, found)
    assert after < before / 10


@pytest.fixture(scope="module")
def applied(bundle_file, survey, tmp_path_factory):
    archive = tmp_path_factory.mktemp("applied") / "archive"
    done = apply(bundle_file, survey, archive)
    return archive, done


def test_segments_are_those_that_the_model_finds(bundle_file, survey, applied):
    archive, done = applied
    bundle = read_bundle(bundle_file)
    rows = open_table(archive, "segments", bundle.id).to_table().to_pylist()
    path = survey / "hill" / "20240502_010000.wav"
    mine = sorted((row for row in rows if row["file"] == f"survey/hill/{path.name}"), key=lambda row: row["start"])
    expected = []
    for start in (0.0, CLIP_SECONDS):
        found = bundle.instances(path, start, start + CLIP_SECONDS)
        proba = bundle.model.predict_proba(np.float32(found.X))
        for region, row in zip(found.regions, proba):
            top, left, bottom, right = region.box
            order = np.argsort(-row)
            names = [*(one.name for one in bundle.classes), None]
            times = float(found.grid.x_at(left)), float(found.grid.x_at(right))
            low, high = sorted(np.float32(found.grid.y_at([top, bottom])).tolist())
            best = names[order[0]], float(np.float32(row[order[0]])), names[order[1]], float(np.float32(row[order[1]]))
            expected.append((*times, low, high, *best, start))
    columns = ("start", "end", "low", "high", "class", "probability", "second", "second_probability", "clip_start")
    assert [tuple(row[column] for column in columns) for row in mine] == sorted(expected)
    assert {row["site"] for row in mine} == {"hill"} and {row["day"] for row in mine} == {"2024-05-02"}
    assert mine[0]["time"].isoformat(timespec="milliseconds")[:14] == "2024-05-02T01:"
    assert {row["model"] for row in rows} == {bundle.id} and done.segments == len(rows)


def test_clips_have_probabilities_of_tags(bundle_file, applied):
    archive, _ = applied
    bundle = read_bundle(bundle_file)
    table = open_table(archive, "clips", bundle.id).to_table()
    assert len(table) == 2 * N_FILES and {len(tags) for tags in table["tags"].to_pylist()} == {len(bundle.classes)}
    tags = np.array(table["tags"].to_pylist())
    assert ((tags >= 0) & (tags <= 1)).all() and (tags > 0.9).any(axis=1).mean() > 0.8
    assert sum(table["segments"].to_pylist()) == open_table(archive, "segments", bundle.id).count_rows()


def test_failures_are_rows(bundle_file, applied):
    archive, done = applied
    found = summarise(archive, read_bundle(bundle_file).id)
    (bad,) = found.failures
    assert bad[0] == "survey/marsh/20240501_230000.wav" and "could not be read as sound" in bad[1]
    assert done.failures == found.failures and found.files == N_FILES
    assert found.hours == pytest.approx(N_FILES * 2 * CLIP_SECONDS / 3600)


def test_progress_reaches_the_end(applied):
    _, done = applied
    assert (done.files, done.stage) == (done.of_files, "done") and done.of_files == N_FILES + 1
    assert done.seconds == pytest.approx(done.of_seconds) == pytest.approx(N_FILES * 2 * CLIP_SECONDS)


def test_a_second_run_does_nothing(bundle_file, survey, applied, monkeypatch):
    archive, _ = applied
    before = content(archive)
    monkeypatch.setattr(run, "do_task", pytest.fail)
    again = apply(bundle_file, survey, archive)
    assert content(archive) == before and again.done_before == pytest.approx(again.of_seconds) and not again.segments


def test_tasks_of_any_size_give_the_same_rows(bundle_file, survey, applied, tmp_path):
    archive, _ = applied
    apply_model(bundle_file, [survey], tmp_path / "other", ApplyOptions(task_seconds=60.0))
    model_id = read_bundle(bundle_file).id
    assert len(list(results_of(tmp_path / "other", model_id))) < len(list(results_of(archive, model_id)))
    for table in ("segments", "clips"):
        rows = [
            sorted(map(str, open_table(one, table, model_id).to_table().to_pylist()))
            for one in (archive, tmp_path / "other")
        ]
        assert rows[0] == rows[1]


@pytest.fixture
def own(tmp_path, bundle_file, survey, applied):
    """A copy of the recordings and of the archive, to change."""
    shutil.copytree(survey, tmp_path / "survey")
    shutil.copytree(applied[0], tmp_path / "archive")
    return tmp_path / "survey", tmp_path / "archive"


def test_moved_recordings_keep_their_results(bundle_file, own):
    survey, archive = own
    before = content(archive)
    done = apply(bundle_file, survey, archive)
    assert content(archive) == before and not done.segments
    assert json.loads((archive / "folders.json").read_text()) == {"survey": str(survey)}


def test_changed_removed_and_new_files(bundle_file, own, tmp_path):
    survey, archive = own
    marsh = survey / "marsh"
    (marsh / "20240501_000000.wav").unlink()
    shutil.copy(marsh / "20240502_010000.wav", marsh / "20240503_020000.wav")  # another content
    shutil.copy(marsh / "20240502_010000.wav", marsh / "20240504_000000.wav")  # a new day
    (marsh / "20240501_230000.wav").unlink()
    before = content(archive)
    with pytest.raises(BagtagError, match=r"2 files of which the archive has results .*marsh/20240501_000000\.wav"):
        apply(bundle_file, survey, archive)
    assert content(archive) == before
    apply(bundle_file, survey, archive, remove_missing=True)
    apply(bundle_file, survey, tmp_path / "fresh")
    assert content(archive) == content(tmp_path / "fresh") != before
    assert len(before.keys() & content(archive).keys()) > len(before) / 3


def test_other_folders_and_models_keep_their_results(bundle_file, own, tmp_path):
    survey, archive = own
    before = content(archive)
    shutil.copytree(survey / "hill", tmp_path / "valley")
    apply(bundle_file, tmp_path / "valley", archive)
    both = content(archive)
    assert before.items() < both.items()
    other = bundle_file.parent / "other.bagtag"
    from tests.archive.test_bundle import change

    change(other, bundle_file, clip_seconds=1.2)
    apply(other, tmp_path / "valley", archive)
    assert both.items() < content(archive).items()
    with pytest.raises(BagtagError, match="choose one of them with"):
        choose_model(archive)
    assert choose_model(archive, read_bundle(other).id[:6]) == read_bundle(other).id


def test_leftovers_of_interrupted_tasks_are_removed(bundle_file, own, survey):
    changed, archive = own
    before = content(archive)
    segments = next((archive / "segments").glob("site=*/day=*/*.parquet"))
    temporary = segments.with_name(".writing-0123")
    temporary.write_bytes(b"half")
    stray = segments.with_name(f"{read_bundle(bundle_file).id}-{'0' * 20}.parquet")
    shutil.copy(segments, stray)  # of a task that was never completed and is not planned any more
    done = next((archive / "clips").glob("site=*/day=*/*.parquet"))
    done.unlink()  # a task that was interrupted before its last file
    apply(bundle_file, changed, archive)
    assert content(archive) == before and not temporary.exists() and not stray.exists()


def test_failures_that_may_pass_are_tried_again(bundle_file, own, monkeypatch):
    survey, archive = own
    before = content(archive)
    path = survey / "hill" / "20240501_000000.wav"
    task = next(one for one in before if one.startswith("clips/site=hill/day=2024-05-01"))
    (archive / task).unlink()
    original, away = run.do_task, path.with_suffix(".away")

    def lose_file(*arguments):
        path.rename(away)
        try:
            return original(*arguments)
        finally:
            away.rename(path)

    monkeypatch.setattr(run, "do_task", lose_file)
    lost = apply(bundle_file, survey, archive)
    if path.name not in {Path(file).name for file, _ in lost.failures}:
        pytest.fail("the file was not in the task")
    monkeypatch.setattr(run, "do_task", original)
    apply(bundle_file, survey, archive)
    assert content(archive) == before


def test_the_traceback_of_an_unexpected_error_is_logged(bundle_file, survey, tmp_path, monkeypatch, caplog):
    instances = ModelBundle.instances

    def fail_at_one(self, path, start, end):
        if path.name == "20240502_010000.wav" and start > 0:
            raise ZeroDivisionError("by zero")
        return instances(self, path, start, end)

    monkeypatch.setattr(ModelBundle, "instances", fail_at_one)
    done = apply(bundle_file, survey / "hill", tmp_path / "archive")
    reason = "20240502_010000.wav could not be processed (ZeroDivisionError: by zero)."
    assert ("hill/20240502_010000.wav", reason) in done.failures
    (logged,) = caplog.records
    assert logged.exc_info[0] is ZeroDivisionError
    assert logged.getMessage().endswith(f"20240502_010000.wav could not be processed from {CLIP_SECONDS} s on")


def test_a_recording_that_ends_early_keeps_what_was_read(bundle_file, tmp_path):
    survey = tmp_path / "survey"
    make_survey(survey)
    for path in survey.rglob("*.wav"):
        if path.name != "20240502_010000.wav":
            path.unlink()
    path = survey / "hill" / "20240502_010000.wav"
    samples, _ = soundfile.read(path)
    soundfile.write(path.with_suffix(".flac"), samples, RATE)
    path.unlink()
    flac = path.with_suffix(".flac")
    flac.write_bytes(flac.read_bytes()[: int(flac.stat().st_size * 0.55)])
    apply(bundle_file, survey, tmp_path / "archive")
    found = summarise(tmp_path / "archive", read_bundle(bundle_file).id)
    assert found.files == 2 and found.segments > 6


@pytest.mark.parametrize("site", ["Côte d'Or 50%", "a.b..", "=x=", "山" * 100])
def test_sites_of_any_name(bundle_file, survey, tmp_path, site):
    for k in range(2):
        folder = tmp_path / "survey" / site[:80]
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(survey / "hill" / f"2024050{1 + k}_0{k}0000.wav", folder)
    done = apply(bundle_file, tmp_path / "survey", tmp_path / "archive")
    clips = open_table(tmp_path / "archive", "clips", read_bundle(bundle_file).id).to_table().to_pylist()
    (found,) = {row["site"] for row in clips}
    assert site.startswith(found) and len(clips) == 4 and done.segments
    assert not apply(bundle_file, tmp_path / "survey", tmp_path / "archive").segments


def test_an_archive_is_not_put_into_a_folder_of_something_else(bundle_file, survey, tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(BagtagError, match="has files of something else"):
        apply(bundle_file, survey, tmp_path)


def test_the_clips_file_names_classes_and_files(bundle_file, applied):
    archive, _ = applied
    result = next(iter(results_of(archive, read_bundle(bundle_file).id)))
    about = json.loads(pq.read_schema(result.path(archive, "clips")).metadata[b"bagtag"])
    assert about["classes"] == ["Low", "Middle", "High"] and all(
        file.startswith("survey/") for file, _ in about["files"]
    )


def test_the_command_prints_counts_and_failures(bundle_file, survey, applied, capsys):
    from miml_core.__main__ import main

    archive, done = applied
    words = ["apply", str(bundle_file), str(survey), "--out", str(archive)]
    assert main([*words, "--json"]) == 3
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["segments"] == done.segments and [one["item"] for one in outcome["failures"]] == [
        "survey/marsh/20240501_230000.wav"
    ]
    assert main(words) == 3
    printed = capsys.readouterr()
    assert f"segments in {N_FILES} files (0.03 hours)" in printed.out and "could not be read as sound" in printed.err
    assert main([*words, "--site-pattern", "(", "--json"]) == 1
    assert "is not a valid regular expression" in json.loads(capsys.readouterr().out)["error"]


def test_pictures_are_applied_too(tmp_path):
    from PIL import Image

    from miml_core import BagSet
    from miml_core.archive.bundle import BundleClass, write_bundle
    from miml_core.instances import InstanceSettings, picture_instances
    from miml_core.models import MODELS

    rng = np.random.default_rng(0)
    folder = tmp_path / "photos"
    folder.mkdir()
    for k in range(6):
        pixels = rng.integers(0, 40, (60, 80, 3), dtype=np.uint8)
        pixels[:, 40:] += np.array([200, 20, 20] if k % 2 else [20, 20, 200], dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"2024050{1 + k // 3}_12000{k}.png")
    settings = InstanceSettings()
    found = [picture_instances(path, settings).X for path in sorted(folder.iterdir())]
    tags = [[1, -1] if k % 2 else [-1, 1] for k in range(6)]
    bags = BagSet(np.concatenate(found), np.cumsum([0, *map(len, found)]), tags, ["red", "blue"])
    MODELS["ored-lr"](alpha=0.01, background=True, leak=0.01).fit(bags).save(tmp_path / "model.npz")
    model_id = write_bundle(
        tmp_path / "model.bagtag",
        kind="picture",
        classes=[BundleClass("red"), BundleClass("blue")],
        settings=settings,
        clip_seconds=0.0,
        model_file=(tmp_path / "model.npz").read_bytes(),
        segmenter_file=None,
        provenance={},
    )
    done = apply_model(tmp_path / "model.bagtag", [folder], tmp_path / "archive")
    clips = open_table(tmp_path / "archive", "clips", model_id).to_table().to_pylist()
    assert done.files == len(clips) == 6 and {row["day"] for row in clips} == {"2024-05-01", "2024-05-02"}
    segments = open_table(tmp_path / "archive", "segments", model_id).to_table().to_pylist()
    assert len(segments) == sum(len(X) for X in found) and max(row["end"] for row in segments) == 80
    assert {row["time"].isoformat() for row in segments} == {row["time"].isoformat() for row in clips}
    assert {row["class"] for row in segments} >= {"red", "blue"}
