"""BirdNET as an embedding of segments: time-resolved, of clips of any length and rate."""

from dataclasses import replace

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.features import embeddings
from miml_core.features.birdnet import (
    FRAME_CENTRES,
    cut_windows,
    find_species,
    resample,
    run_frames,
    score_embeddings,
    window_starts,
)
from miml_core.features.birdnet import embedding as birdnet
from miml_core.features.birdnet.files import BirdnetStatus
from miml_core.features.embeddings import Embedding, find_embedding, known_embeddings, register_embedding
from miml_core.instances import InstanceSettings, describe_regions, sound_instances
from miml_core.segments.regions import Region
from tests.birdnet import needs_birdnet

RATE = 22_050


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(embeddings, "_registered", {})


def calls(seconds: float, rate: int = RATE, at: tuple[float, ...] = (0.5, 2.9), seed: int = 0) -> np.ndarray:
    """Noise with short tones at the given seconds, each at another frequency."""
    t = np.arange(round(seconds * rate)) / rate
    sound = 0.002 * np.random.default_rng(seed).standard_normal(len(t))
    for number, start in enumerate(at):
        tone = np.sin(2 * np.pi * rate * (0.113 + 0.045 * number) * t)
        sound += 0.2 * tone * ((t >= start) & (t < start + 0.2))
    return sound.astype(np.float32)


@pytest.fixture
def clip(tmp_path):
    soundfile.write(tmp_path / "calls.wav", calls(4.0), RATE)
    return tmp_path / "calls.wav"


def settings(rate: int = RATE) -> InstanceSettings:
    return replace(InstanceSettings.for_rate(rate), embedding="birdnet-2.4")


@needs_birdnet
def test_a_timeline_is_the_frames_of_windows_inside_the_clip():
    samples = calls(4.0)
    times, frames = birdnet.birdnet_timeline(samples, RATE)
    starts = window_starts(4.0, 0.75)
    made = run_frames(cut_windows(resample(samples, RATE), starts))
    when = starts[:, None] + FRAME_CENTRES
    assert np.diff(starts).max() <= 0.75 and starts[-1] == 1.0 and len(times) == 6 * len(starts)
    assert (np.diff(times) >= 0).all() and frames.dtype == np.float32
    for window, frame in ((0, 0), (1, 3), (2, 5)):
        at = int(np.argmin(np.abs(times - when[window, frame])))
        np.testing.assert_allclose(frames[at], made[window, frame], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(birdnet.frame_times(4.0), times)


def test_frames_are_pooled_by_their_distance_from_the_segment():
    rng = np.random.default_rng(0)
    times, frames = np.sort(rng.uniform(0, 5, 40)), rng.uniform(size=(40, 7)).astype(np.float32)
    spans = [(1.0, 1.1), (2.0, 4.0), (-3.0, -2.0), (5.5, 5.6)]
    for (start, end), row in zip(spans, birdnet.pool_frames(times, frames, spans)):
        distance = np.array([max(start - time, time - end, 0.0) for time in times])
        weights = np.exp(-(distance**2) / (2 * 0.25**2)) + 1e-9
        np.testing.assert_allclose(row, np.average(frames, axis=0, weights=weights), rtol=1e-5)


@needs_birdnet
def test_the_columns_of_a_clip_are_the_pooled_timeline(clip):
    found = sound_instances(clip, 0.0, 4.0, settings())
    plain = sound_instances(clip, 0.0, 4.0, replace(settings(), embedding=None))
    assert len(found.regions) >= 2 and found.X.shape[1] == plain.X.shape[1] + 1024
    assert found.names[-1] == "BirdNET 1023"
    np.testing.assert_array_equal(found.X[:, :-1024], plain.X)
    times, frames = birdnet.birdnet_timeline(soundfile.read(clip, dtype="float32")[0], RATE)
    spans = [(found.grid.x_at(r.left), found.grid.x_at(r.left + r.mask.shape[1])) for r in found.regions]
    np.testing.assert_allclose(found.X[:, -1024:], birdnet.pool_frames(times, frames, spans), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(describe_regions(clip, 0.0, 4.0, found.grid, found.regions, settings()), found.X)


@needs_birdnet
def test_the_boxes_of_a_bag_inside_of_a_recording_are_its_own_seconds(tmp_path):
    """A bag that begins at 4 s has the embedding of the same sound in a file of its own."""
    samples = calls(4.0)
    soundfile.write(tmp_path / "long.wav", np.concatenate([calls(4.0, seed=1, at=()), samples]), RATE, subtype="FLOAT")
    soundfile.write(tmp_path / "own.wav", samples, RATE, subtype="FLOAT")
    inside, alone = (
        sound_instances(tmp_path / name, start, start + 4.0, settings())
        for name, start in (("long.wav", 4.0), ("own.wav", 0.0))
    )
    np.testing.assert_allclose(inside.X[:, -1024:], alone.X[:, -1024:], rtol=1e-4, atol=1e-5)


@needs_birdnet
@pytest.mark.parametrize("seconds", [0.2, 2.9])
def test_a_short_clip_is_one_padded_window(tmp_path, seconds):
    soundfile.write(tmp_path / "short.wav", calls(seconds, at=(0.05,)), RATE)
    grid = sound_instances(tmp_path / "short.wav", 0.0, seconds, settings()).grid
    call = Region(0, 1, np.ones((grid.height, 2), dtype=bool))
    X = describe_regions(tmp_path / "short.wav", 0.0, seconds, grid, [call], settings())
    assert X.shape[0] == 1 and np.isfinite(X).all() and X[0, -1024:].max() > 0


@needs_birdnet
@pytest.mark.parametrize("rate", [8_000, 384_000])
def test_a_clip_of_another_rate_keeps_the_hand_made_features(tmp_path, rate):
    soundfile.write(tmp_path / "other.wav", calls(1.0, rate), rate)
    found = sound_instances(tmp_path / "other.wav", 0.0, 1.0, settings(rate))
    plain = sound_instances(tmp_path / "other.wav", 0.0, 1.0, InstanceSettings.for_rate(rate))
    assert len(found.regions) and not found.X[:, -1024:].any()
    np.testing.assert_array_equal(found.X[:, :-1024], plain.X)
    assert find_embedding("birdnet-2.4", "sound").not_described("other.wav", rate).startswith("other.wav has ")
    assert find_embedding("birdnet-2.4", "sound").not_described("other.wav", 44_100) == ""


class Kept:
    """A cache in memory that counts."""

    def __init__(self):
        self.arrays, self.reads = {}, 0

    def __call__(self, first, count):
        self.key = (first, count)
        return self

    def read(self, shape):
        self.reads += 1
        found = self.arrays.get(self.key)
        return found if found is not None and found.shape == shape else None

    def write(self, values):
        self.arrays[self.key] = values


@needs_birdnet
def test_a_cached_timeline_gives_the_same_columns_without_running_the_network(clip, monkeypatch):
    caches = Kept()
    first = sound_instances(clip, 0.5, 3.9, settings(), caches)
    assert list(caches.arrays) == [(RATE // 2, round(3.4 * RATE))] and caches.arrays[caches.key].dtype == np.float16
    monkeypatch.setattr(birdnet, "run_frames", None)
    again = sound_instances(clip, 0.5, 3.9, settings(), caches)
    np.testing.assert_array_equal(again.X, first.X)
    sensitive = replace(settings(), segments=replace(settings().segments, sensitivity=1.0))
    assert sound_instances(clip, 0.5, 3.9, sensitive, caches).X.shape[1] == first.X.shape[1]
    assert len(caches.arrays) == 1


@needs_birdnet
def test_the_weights_of_classes_are_birdnets_scores():
    embedding = np.random.default_rng(0).uniform(size=(3, 1024)).astype(np.float32)
    weights = birdnet.class_weights(
        ["wren song", "creaking gate", "wren call", "Robin"],
        ["Troglodytes troglodytes", "", "Troglodytes troglodytes", "Erithacus rubecula"],
    )
    assert weights.shape == (1025, 4) and np.isnan(weights).all(axis=0).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(weights[:, 0], weights[:, 2])
    species = [find_species("", "Troglodytes troglodytes").index, find_species("European Robin").index]
    scores = embedding @ weights[:-1, [0, 3]] + weights[-1, [0, 3]]
    np.testing.assert_allclose(scores, score_embeddings(embedding, species), rtol=1e-4, atol=1e-4)
    assert birdnet.class_weights(["creaking gate"], [""]).shape == (1025, 1)


@needs_birdnet
def test_it_is_known_by_name():
    assert "birdnet-2.4" in known_embeddings()
    found = find_embedding("birdnet-2.4", "sound")
    assert len(found.names) == 1024 and found.licence == "CC BY-NC-SA 4.0"
    with pytest.raises(BagtagError, match="for sound, not for pictures"):
        find_embedding("birdnet-2.4", "picture")


def test_without_it_the_command_that_installs_it_is_given(monkeypatch, clip):
    reason = "BirdNET is not installed; install it with 'make birdnet'."
    monkeypatch.setattr("miml_core.features.birdnet.files.birdnet_status", lambda: BirdnetStatus(False, reason, ""))
    assert "birdnet-2.4" not in known_embeddings()
    with pytest.raises(BagtagError, match=f"^{reason}$"):
        sound_instances(clip, 0.0, 4.0, settings())
    with pytest.raises(BagtagError, match="There is no embedding 'odd'"):
        find_embedding("odd", "sound")


def test_a_sentence_that_an_embedding_raises_is_not_wrapped(clip):
    def refuse(clip):
        raise BagtagError("The weights are missing.")

    register_embedding(Embedding("refusing", "sound", ("one",), refuse))
    with pytest.raises(BagtagError, match=r"^The weights are missing\.$"):
        sound_instances(clip, 0.0, 4.0, replace(settings(), embedding="refusing"))
