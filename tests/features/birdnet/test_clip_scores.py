"""One score per species and clip."""

from __future__ import annotations

import numpy as np
import soundfile

from miml_core.features.birdnet import (
    cut_windows,
    read_windows,
    run_windows,
    sampled_starts,
    score_clip,
    species_list,
    window_starts,
)
from miml_core.features.birdnet.clip_scores import MOST_WINDOWS
from tests.birdnet import needs_birdnet


def test_windows_are_at_most_three_quarters_of_a_second_apart_until_there_are_too_many():
    np.testing.assert_array_equal(sampled_starts(10.0), window_starts(10.0, 0.75))
    hour = sampled_starts(3600.0)
    assert len(hour) == MOST_WINDOWS
    assert (hour[0], hour[-1]) == (0.0, 3597.0)
    assert sampled_starts(0.2).tolist() == [0.0]


@needs_birdnet
def test_the_score_is_the_mean_of_the_windows_inside_the_clip(tmp_path):
    rng = np.random.default_rng(0)
    sound = rng.normal(0, 0.05, 12 * 48_000).astype(np.float32)
    soundfile.write(tmp_path / "rain.wav", sound, 48_000, subtype="FLOAT")
    logits = run_windows(cut_windows(sound[4 * 48_000 : 9 * 48_000], window_starts(5.0, 0.75)))[1].astype(float)
    expected = (1 / (1 + np.exp(-logits))).mean(axis=0)
    np.testing.assert_allclose(score_clip(tmp_path / "rain.wav", 4.0, 9.0), expected, atol=1e-4)


@needs_birdnet
def test_a_clip_shorter_than_a_window_and_a_long_one(tmp_path):
    soundfile.write(tmp_path / "click.wav", np.random.default_rng(0).normal(0, 0.05, 4_800), 24_000)
    assert np.isfinite(score_clip(tmp_path / "click.wav", 0.0, 0.2)).all()
    soundfile.write(tmp_path / "night.wav", np.zeros(600 * 16_000), 16_000, subtype="PCM_16")
    read = [len(some) for some in read_windows(tmp_path / "night.wav", sampled_starts(600.0))]
    assert sum(read) == MOST_WINDOWS


@needs_birdnet
def test_birds_are_told_from_other_animals():
    kinds = {one.scientific: (one.is_animal, one.is_bird) for one in species_list()}
    assert kinds["Parus major"] == (True, True)
    for other in ("Lithobates catesbeianus", "Gryllus rubens", "Canis lupus", "Dog"):
        assert kinds[other] == (True, False), other
    assert kinds["Engine"] == (False, False)
    assert sum(animal and not bird for animal, bird in kinds.values()) == 91
