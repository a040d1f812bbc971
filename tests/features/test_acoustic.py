"""Features of sound segments: by hand where they can be, finite and independent of gain everywhere."""

import numpy as np
import pytest
from scipy.fft import dct

from miml_core import BagtagError
from miml_core.features.acoustic import (
    LOUDEST_DB,
    PAPER_NAMES,
    noise_reduced,
    paper_features,
    sound_feature_names,
    sound_features,
)
from miml_core.features.cepstra import N_BANDS, N_DEVIATIONS, N_OF_WHOLE, _bands
from miml_core.media.spectrogram import SpectrogramSettings, make_spectrogram
from miml_core.segments.acoustic import find_sound_segments
from miml_core.segments.regions import Region

RATE = 22_050


def song(gain: float = 1.0) -> np.ndarray:
    """A rising sweep and a low tone in faint noise."""
    t = np.arange(3 * RATE) / RATE
    sweep = np.sin(2 * np.pi * (3000 * t + 500 * t**2)) * ((t > 0.5) & (t < 0.9))
    tone = np.sin(2 * np.pi * 1200 * t) * ((t > 1.6) & (t < 2.2))
    noise = np.random.default_rng(0).standard_normal(len(t))
    return (gain * (0.2 * sweep + 0.2 * tone + 0.002 * noise)).astype(np.float32)


def spectrogram(gain: float = 1.0):
    return make_spectrogram(song(gain), RATE, SpectrogramSettings.for_rate(RATE))


def column(X, name, feature_set="extended"):
    return X[:, sound_feature_names(feature_set).index(name)]


def test_there_are_38_names_in_the_papers_order_and_more_beside_them():
    assert len(PAPER_NAMES) == 38
    names = sound_feature_names("extended")
    assert names[:38] == sound_feature_names("paper")
    assert len(set(names)) == len(names) > 38
    with pytest.raises(BagtagError, match="feature set"):
        sound_feature_names("other")


def test_the_papers_features_of_a_known_shape():
    """A block of equal intensity, 2 rows x 4 columns, in an otherwise silent spectrogram of 10 rows."""
    reduced = np.zeros((10, 12), np.float32)
    reduced[4:6, 3:7] = 0.5
    (row,) = paper_features(reduced, [Region(4, 3, np.ones((2, 4), bool))])
    values = dict(zip(PAPER_NAMES, row))
    assert values["frequency gini"] == pytest.approx(1 - 2 * 0.5**2)
    assert values["time gini"] == pytest.approx(1 - 4 * 0.25**2)
    assert values["intensity mean"] == pytest.approx(0.5)
    assert values["intensity deviation"] == pytest.approx(0.0, abs=1e-6)
    assert values["area"] == 8
    assert values["area / box"] == pytest.approx(1.0)
    assert values["time third moment"] == pytest.approx(0.0, abs=1e-9)
    assert row[22:].sum() == pytest.approx(1.0)


def test_nothing_depends_on_the_gain():
    regions = find_sound_segments(spectrogram(), _settings())
    assert regions
    quiet, loud = sound_features(spectrogram(0.1), regions), sound_features(spectrogram(), regions)
    np.testing.assert_allclose(quiet, loud, rtol=2e-3, atol=2e-3)


def test_cepstra_against_plain_sums():
    drawn = spectrogram()
    regions = find_sound_segments(drawn, _settings())
    X = sound_features(drawn, regions)[:, 38:]
    amplitude = 10 ** (noise_reduced(drawn).astype(float) * LOUDEST_DB / 20) - 1
    first, share = _bands(drawn.grid)
    weights = np.zeros((N_BANDS, drawn.grid.height))
    weights[first, np.arange(drawn.grid.height)] += share[:, 0]
    weights[first + 1, np.arange(drawn.grid.height)] += share[:, 1]
    for region, row in zip(regions, X):
        top, left, bottom, right = region.box
        by_band = weights[:, top:bottom] @ (amplitude[top:bottom, left:right] * region.mask)
        whole = dct(20 * np.log10(by_band.mean(axis=1) + 0.03), norm="ortho")
        columns = dct(20 * np.log10(by_band + 0.03), axis=0, norm="ortho")
        np.testing.assert_allclose(row[:N_OF_WHOLE], whole[:N_OF_WHOLE], atol=1e-3)
        np.testing.assert_allclose(row[N_OF_WHOLE:], columns[:N_DEVIATIONS].std(axis=1), atol=1e-2)


def test_cepstra_distinguish_a_sweep_from_a_tone():
    drawn = spectrogram()
    grid = drawn.grid

    def over(start, end):
        left, right = int(grid.column_at(start)), int(grid.column_at(end))
        mask = noise_reduced(drawn)[:, left:right] > 0.3
        rows = np.flatnonzero(mask.any(axis=1))
        return Region(int(rows[0]), left, mask[rows[0] : rows[-1] + 1])

    X = sound_features(drawn, [over(0.55, 0.85), over(1.65, 2.15)])
    sweep, tone = column(X, "cepstrum 2 deviation")
    assert sweep > 3 * tone
    higher, lower = column(X, "cepstrum 1")
    assert abs(higher - lower) > 5


def test_one_pixel_and_silence_are_finite():
    drawn = spectrogram()
    pixel = np.ones((1, 1), bool)
    corners = [Region(0, 0, pixel), Region(drawn.grid.height - 1, drawn.grid.width - 1, pixel)]
    assert np.isfinite(sound_features(drawn, corners)).all()
    silent = make_spectrogram(np.zeros(RATE, np.float32), RATE, SpectrogramSettings.for_rate(RATE))
    assert np.isfinite(sound_features(silent, [Region(2, 2, np.ones((5, 9), bool))])).all()
    assert sound_features(drawn, []).shape == (0, len(sound_feature_names()))


@pytest.mark.parametrize(("top", "left", "filled"), [(-1, 0, True), (0, 10_000, True), (0, 0, False)])
def test_regions_that_are_empty_or_outside_are_refused(top, left, filled):
    with pytest.raises(BagtagError, match="outside its recording"):
        sound_features(spectrogram(), [Region(top, left, np.full((2, 2), filled))])


def _settings():
    from miml_core.segments.acoustic import SoundSegmentSettings

    return SoundSegmentSettings.for_rate(RATE)
