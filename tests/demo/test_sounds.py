"""The soundscapes: the same from the same seed, and their truth where the sound is."""

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from miml_core.demo.calls import RATE, SPECIES, Voice
from miml_core.demo.media import make_media
from miml_core.demo.sounds import SECONDS, make_soundscape, recording_name
from miml_core.demo.truth import TrueRegion, Truth, _Place
from miml_core.media.recording_time import time_in_name


@pytest.mark.parametrize("kind", ["sound", "picture"])
def test_same_seed_same_bytes(kind, tmp_path):
    def stored(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        make_media(tmp_path / name, kind, seed, 2)
    assert stored(tmp_path / "a") == stored(tmp_path / "b")
    assert not set(stored(tmp_path / "a").values()) & set(stored(tmp_path / "c").values()) - {
        (tmp_path / "a" / "species.csv").read_bytes()
    }


def test_recordings_are_ten_seconds_named_as_by_a_recorder(media_folder):
    paths = sorted((media_folder / "recordings").iterdir())
    assert [path.name for path in paths] == sorted({recording_name(number) for number in range(7)})
    assert {soundfile.info(path).duration for path in paths} == {SECONDS}
    times = [time_in_name(path.name) for path in paths]
    assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(minutes=10)}
    assert len({recording_name(number) for number in range(60)}) == 60


def test_calls_stay_inside_their_recording_and_nothing_is_clipped():
    for number in range(6):
        made = make_soundscape(number, 1)
        assert np.abs(made.samples).max() < 1
        for event in made.events:
            assert 0 <= event.start_s < event.end_s <= SECONDS


@pytest.mark.parametrize("species", SPECIES, ids=lambda species: species.name)
def test_outlines_hold_the_energy_of_the_call(species):
    call = species.sing(np.random.default_rng(0), Voice(1.0, 1.0))
    size, hop = 512, 128
    frames = np.lib.stride_tricks.sliding_window_view(np.pad(call.samples, size // 2), size)[::hop]
    power = np.abs(np.fft.rfft(frames * np.hanning(size), axis=1)).T ** 2
    cell = np.array([hop / RATE, RATE / size])
    place = _Place(np.zeros(2), (np.array(power.shape[::-1]) - 0.5) * cell, cell)
    inside = TrueRegion(species.name, call.outlines).inside(place, union=True)
    assert power[inside].sum() > 0.9 * power.sum()
    assert inside.mean() < 0.6


def test_species_call_in_different_ways():
    """No two species share pitch, bandwidth and length alike."""
    described = []
    for species in SPECIES:
        points = np.concatenate(
            [np.asarray(ring) for ring in species.sing(np.random.default_rng(1), Voice(1, 1)).outlines]
        )
        low, high = points[:, 1].min(), points[:, 1].max()
        described.append(
            [np.log2(high / low), np.log2((low + high) / 2), np.log2(np.ptp(points[:, 0])), np.log2(len(points))]
        )
    described = np.asarray(described)
    distance = np.abs(described[:, None] - described[None]).max(axis=2) + 9 * np.eye(len(SPECIES))
    assert distance.min() > 0.3


def box(left, bottom, right, top):
    return [[(left, bottom), (right, bottom), (right, top), (left, top)]]


def test_a_segment_is_what_fills_most_of_it():
    truth = Truth(
        "sound", 0, {"a": [TrueRegion("low", box(1, 1000, 3, 2000)), TrueRegion("high", box(2, 3000, 3, 5000))]}
    )
    assert truth.label_of("a", box(1, 1000, 2, 2000)) == "low"
    assert truth.label_of("a", box(2, 1500, 3, 5000)) == "high"
    assert truth.label_of("a", box(4, 1000, 5, 2000)) is None
    assert truth.label_of("a", box(0, 1000, 6, 2000)) == "low", "a third of it"
    assert truth.label_of("a", box(0, 1000, 10, 2000)) is None, "a fifth of it"
    assert truth.label_of("a", box(1.5, 1500, 1.5001, 1500.1)) == "low", "smaller than a cell"


def test_the_truth_is_read_back(media_folder):
    truth = Truth.read(media_folder)
    assert truth.kind == "sound" and truth.seed == 0
    made = make_soundscape(3, 0)
    assert [thing.label for thing in truth.files[made.name]] == [event.label for event in made.events]
