"""Timelines in the project's cache: computed once per recording, checked when read, never more than a limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.features import embeddings
from miml_core.features.birdnet import cut_windows, resample, run_windows, window_starts
from miml_core.features.birdnet import embedding as birdnet
from miml_core.features.birdnet.files import BirdnetStatus
from miml_core.media import sound_blocks
from miml_core.project import Project
from miml_core.project.instances import timelines
from miml_core.project.instances.timelines import TimelineCaches, window_embeddings_of_bag
from miml_core.project.jobs.tasks import computing_features, segmenting
from miml_core.project.media.files import BagFile
from miml_core.project.media.fingerprint import fingerprint
from tests.birdnet import needs_birdnet
from tests.project.sounds import write_recordings
from tests.project.test_media_changes import InProcess


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "_registered", {})


@pytest.fixture
def birds(tmp_path: Path) -> Iterator[Project]:
    """A project of two short recordings that uses BirdNET."""
    write_recordings(tmp_path / "recordings", 2)
    with Project.create(tmp_path / "project") as project:
        project.media.add(sorted((tmp_path / "recordings").iterdir()))
        project.set_settings(replace(project.settings, embedding="birdnet-2.4"))
        yield project


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of windows of each run of the network."""
    made: list[int] = []
    run_frames = birdnet.run_frames

    def counted(windows: np.ndarray) -> np.ndarray:
        made.append(len(windows))
        return run_frames(windows)

    monkeypatch.setattr(birdnet, "run_frames", counted)
    return made


def kept(project: Project) -> list[Path]:
    folder = project.folder / "cache" / "timelines"
    return sorted(folder.iterdir()) if folder.is_dir() else []


@needs_birdnet
def test_each_bag_is_analysed_once_whatever_is_done_to_its_segments(birds: Project, runs: list[int]) -> None:
    segmenting.run(InProcess(birds, {}))
    assert runs == [1, 1] and len(kept(birds)) == 2
    first = birds.segments.features(1)[1]
    assert first.shape[1] == 61 + 1024 and np.abs(first[:, -1024:]).max() > 0
    segmenting.run(InProcess(birds, {"scope": "all"}))
    np.testing.assert_array_equal(birds.segments.features(1)[1], first)
    sensitive = replace(birds.settings.segments, sensitivity=0.9)
    spectrogram = replace(birds.settings.spectrogram, hop=birds.settings.spectrogram.hop / 2)
    birds.set_settings(replace(birds.settings, segments=sensitive, spectrogram=spectrogram))
    segmenting.run(InProcess(birds, {}))
    birds.edits.draw(2, [[(0.2, 1000.0), (0.5, 1000.0), (0.5, 3000.0), (0.2, 3000.0)]])
    left, right = (segment.id for segment in birds.segments.list(1)[:2])
    birds.edits.merge([left, right])
    computing_features.run(InProcess(birds, {}))
    assert birds.segments.n_to_describe() == 0
    assert window_embeddings_of_bag(birds.store, 1).shape == (1, 1024)
    assert runs == [1, 1] and len(kept(birds)) == 2


@needs_birdnet
def test_a_timeline_is_the_same_computed_or_kept(birds: Project, runs: list[int]) -> None:
    birds.set_settings(replace(birds.settings, embedding=None))
    computed = window_embeddings_of_bag(birds.store, 1)
    np.testing.assert_array_equal(window_embeddings_of_bag(birds.store, 1), computed)
    assert runs == [1]
    samples, rate = soundfile.read(birds.media.path(1), dtype="float32")
    _, frames = birdnet.birdnet_timeline(samples, rate)
    np.testing.assert_array_equal(birdnet.window_embeddings(len(samples) / rate, frames), computed)


@needs_birdnet
def test_the_embeddings_of_windows_come_from_the_timeline(tmp_path: Path, runs: list[int]) -> None:
    write_recordings(tmp_path / "recordings", 1, seconds=4.3)
    (path,) = (tmp_path / "recordings").iterdir()
    with Project.create(tmp_path / "project") as project:
        project.media.add([path])
        window_embeddings_of_bag(project.store, 1)
        found = window_embeddings_of_bag(project.store, 1)
    assert runs == [3]
    samples, rate = soundfile.read(path, dtype="float32")
    windows = cut_windows(resample(samples, rate), window_starts(4.3, 0.75))
    np.testing.assert_allclose(found, run_windows(windows)[0], rtol=2e-3, atol=1e-4)


@needs_birdnet
@pytest.mark.parametrize("damage", ["cut", "changed", "not finite", "empty"])
def test_a_damaged_file_is_computed_again(birds: Project, runs: list[int], damage: str) -> None:
    before = window_embeddings_of_bag(birds.store, 1)
    (path,) = kept(birds)
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[:-2]
    elif damage == "changed":
        content[-1] ^= 1
    elif damage == "not finite":
        numbers = np.full((6, 1024), np.inf, dtype="<f2").tobytes()
        content = bytearray(timelines._digest(numbers) + numbers)
    else:
        content = bytearray()
    path.write_bytes(content)
    np.testing.assert_array_equal(window_embeddings_of_bag(birds.store, 1), before)
    assert runs == [1, 1]
    np.testing.assert_array_equal(window_embeddings_of_bag(birds.store, 1), before)
    assert runs == [1, 1]


@needs_birdnet
def test_a_long_bag_is_analysed_by_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[int]) -> None:
    monkeypatch.setattr(sound_blocks, "BLOCK_SECONDS", 2.0)
    write_recordings(tmp_path / "recordings", 1, seconds=5.0)
    with Project.create(tmp_path / "project") as project:
        project.media.add(list((tmp_path / "recordings").iterdir()))
        project.set_settings(replace(project.settings, embedding="birdnet-2.4"))
        segmenting.run(InProcess(project, {}))
        assert runs == [1, 1, 1] and len(kept(project)) == 3
        assert window_embeddings_of_bag(project.store, 1).shape == (3, 1024) and runs == [1, 1, 1]


def test_what_is_kept_belongs_to_the_file_its_part_channel_and_embedding(tmp_path: Path) -> None:
    path = tmp_path / "dawn.wav"
    path.write_bytes(b"sound")
    caches = TimelineCaches(tmp_path, BagFile(path, fingerprint(path)[1]), "mix", "one")
    others = [
        replace(caches, file=BagFile(path, "other")),
        replace(caches, channel=0),
        replace(caches, embedding="two"),
    ]
    names = {caches(0, 5).name, caches(1, 5).name, caches(0, 6).name, *(each(0, 5).name for each in others)}
    assert (
        len(names) == 6
        and replace(caches, file=BagFile(tmp_path / "moved.wav", caches.file.fingerprint))(0, 5).name
        == caches(0, 5).name
    )
    values = np.arange(6, dtype=np.float16).reshape(2, 3)
    caches(0, 5).write(values)
    np.testing.assert_array_equal(caches(0, 5).read((2, 3)), values)
    assert caches(0, 5).read((3, 3)) is None and caches(1, 5).read((2, 3)) is None


def test_nothing_is_kept_of_a_file_that_was_replaced_while_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "dawn.wav"
    path.write_bytes(b"sound")
    cached = TimelineCaches(tmp_path, BagFile(path, fingerprint(path)[1]), "mix", "one")(0, 5)
    path.write_bytes(b"noise")
    cached.write(np.zeros((2, 3), dtype=np.float16))
    path.unlink()
    cached.write(np.zeros((2, 3), dtype=np.float16))
    assert cached.read((2, 3)) is None


def test_timelines_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "_MOST_BYTES", 5000)
    path = tmp_path / "dawn.wav"
    path.write_bytes(b"sound")
    caches = TimelineCaches(tmp_path, BagFile(path, fingerprint(path)[1]), "mix", "one")
    for first in range(2 * timelines._LOOK_EVERY + 1):
        caches(first, 5).write(np.zeros((10, 50), dtype=np.float16))
    kept_bytes = sum(path.stat().st_size for path in (tmp_path / "cache" / "timelines").iterdir())
    assert kept_bytes <= 5000 + timelines._LOOK_EVERY * 1016


@needs_birdnet
def test_recordings_of_other_rates_have_one_note_each(birds: Project, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    paths = []
    for name, rate in (("phone.wav", 8000), ("bat.wav", 384_000)):
        t = np.arange(2 * rate) / rate
        call = 0.3 * np.sin(2 * np.pi * 3000 * t) * ((t % 1 > 0.4) & (t % 1 < 0.7))
        soundfile.write(tmp_path / "recordings" / name, call + 0.001 * rng.normal(size=len(t)), rate)
        paths.append(tmp_path / "recordings" / name)
    added = birds.media.add(paths, bag_length=1.0)
    assert len(added) == 4
    context = InProcess(birds, {})
    done = segmenting.run(context)
    assert context.failures == [] and done["bags"] == 6
    assert [note["note"].partition(",")[0] for note in done["notes"]] == [
        "phone.wav has a sample rate of 8 kHz",
        "bat.wav has a sample rate of 384 kHz",
    ]
    assert done["message"].endswith("; 2 recordings have a note (see the job's log)")
    X = birds.segments.features(added[0])[1]
    assert len(X) and X[:, :-1024].any() and not X[:, -1024:].any()
    with pytest.raises(BagtagError, match=r"bat\.wav has a sample rate of 384 kHz"):
        window_embeddings_of_bag(birds.store, added[2])
    assert segmenting.run(InProcess(birds, {}))["notes"] == []


REASON = "BirdNET is not installed; install it with 'make birdnet'."


def test_without_birdnet_one_sentence_is_listed_and_nothing_is_lost(
    birds: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    birds.set_settings(replace(birds.settings, embedding=None))
    segmenting.run(InProcess(birds, {}))
    before = [birds.segments.list(bag) for bag in (1, 2)]
    birds.set_settings(replace(birds.settings, embedding="birdnet-2.4"))
    monkeypatch.setattr("miml_core.features.birdnet.files.birdnet_status", lambda: BirdnetStatus(False, REASON, ""))
    for task, params in ((segmenting, {"scope": "all"}), (segmenting, {"again": True}), (computing_features, {})):
        context = InProcess(birds, params)
        done = task.run(context)
        assert done["bags"] == done["segments"] == 0
        ((item, reason, bag_id),) = context.failures
        assert item == "2 bags, such as clip_000.wav" and reason.startswith(REASON) and bag_id is None
    assert [birds.segments.list(bag) for bag in (1, 2)] == before and birds.progress().n_segmented == 2
    context = InProcess(birds, {"bags": [2], "again": True})
    segmenting.run(context)
    assert [item for item, _, _ in context.failures] == ["clip_001.wav"]


@needs_birdnet
def test_a_job_uses_birdnet_in_its_own_processes(
    birds: Project, monkeypatch: pytest.MonkeyPatch, runs: list[int]
) -> None:
    """The spawned processes find the embedding by its name, and keep their timelines in the project."""
    from miml_core.project.jobs.tasks import processes

    monkeypatch.setattr(processes, "_ALONE_SECONDS", -1.0)
    monkeypatch.setattr(processes, "_WORTH_SECONDS", -1.0)
    write_recordings(birds.folder.parent / "more", 3, seed=1)
    birds.media.add(sorted((birds.folder.parent / "more").iterdir()))
    context = InProcess(birds, {"processes": 2})
    assert segmenting.run(context)["bags"] == 5 and context.failures == []
    assert len(runs) == 2 and len(kept(birds)) == 5
    birds.set_settings(replace(birds.settings, feature_set="paper"))
    assert computing_features.run(context)["bags"] == 5 and len(runs) == 2
    assert birds.segments.features(5)[1].shape[1] == 38 + 1024
