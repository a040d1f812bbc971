"""Spectrograms: every pixel knows its second and hertz; presets, normalisations and pictures do what they document."""

import io

import numpy as np
import pytest
from PIL import Image

from miml_core.errors import BagtagError
from miml_core.media.colour_maps import COLOUR_MAPS, colour_map
from miml_core.media.rendering import render_png
from miml_core.media.spectrogram import (
    PRESETS,
    QUIETEST_DB,
    Spectrogram,
    SpectrogramSettings,
    make_spectrogram,
    preset_for_rate,
)

RATE = 32_000


def tone(pitch, start=0.0, end=1.0, level=1.0, seconds=1.0, rate=RATE):
    t = np.arange(int(seconds * rate)) / rate
    return (level * np.sin(2 * np.pi * pitch * t) * ((t >= start) & (t < end))).astype(np.float32)


@pytest.mark.parametrize("scale", ["linear", "mel"])
@pytest.mark.parametrize("pitch", [700.0, 2000.0, 5321.0, 11_000.0])
def test_a_tone_lies_on_its_row(scale, pitch):
    made = make_spectrogram(tone(pitch), RATE, SpectrogramSettings(window=0.032, hop=0.008, low=100.0, scale=scale))
    row = int(made.values.mean(axis=1).argmax())
    low, high = made.grid.y_at(row + 1), made.grid.y_at(row)
    assert low - 16 <= pitch <= high + 16
    assert abs(float(made.grid.row_at(pitch)) - (row + 0.5)) < 1.0


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("second", [0.2113, 0.5, 0.7777])
def test_a_click_lies_in_its_column(preset, second):
    rate = 96_000 if preset == "bats" else RATE
    samples = np.zeros(rate, dtype=np.float32)
    samples[round(second * rate)] = 1.0
    made = make_spectrogram(samples, rate, PRESETS[preset], start=30.0)
    energy = (10 ** (made.values / 10)).sum(axis=0)
    column = int(energy.argmax())
    assert made.grid.x_at(column) - 1e-9 <= 30.0 + second <= made.grid.x_at(column + 1) + 1e-9


def test_a_tone_begins_and_ends_where_it_does():
    settings = SpectrogramSettings(window=0.008, hop=0.002, low=100.0)
    made = make_spectrogram(tone(3000, 0.3, 0.6), RATE, settings, start=5.0)
    row = int(made.grid.row_at(3000.0))
    loud = np.flatnonzero(made.values[row] > -6)
    assert made.grid.x_at(loud[0]) == pytest.approx(5.3, abs=0.004)
    assert made.grid.x_at(loud[-1] + 1) == pytest.approx(5.6, abs=0.004)


def test_grid_and_array_agree_and_cover_the_sound():
    for scale in ("linear", "mel"):
        settings = SpectrogramSettings(scale=scale, mel_bands=40)
        made = make_spectrogram(tone(2000, seconds=0.77), RATE, settings)
        assert made.values.shape == (made.grid.height, made.grid.width) and made.values.dtype == np.float32
        assert 0.77 <= made.grid.right < 0.77 + settings.hop * 1.01
        assert made.grid.scale == scale and 0 < made.grid.bottom <= 350 and made.grid.top <= RATE / 2
    assert made.grid.height == 40


def test_a_full_scale_sine_is_at_0_decibels_and_levels_follow_amplitude():
    settings = SpectrogramSettings(window=0.032, hop=0.016, low=100.0)
    for level in (1.0, 0.1, 0.001):
        values = make_spectrogram(tone(4000, level=level), RATE, settings).values
        assert values.max() == pytest.approx(20 * np.log10(level), abs=0.1)


def test_the_band_is_kept_and_an_impossible_one_refused():
    made = make_spectrogram(tone(2000), RATE, SpectrogramSettings(low=1000.0, high=5000.0))
    assert made.grid.bottom == pytest.approx(1000, abs=86) and made.grid.top == pytest.approx(5000, abs=86)
    with pytest.raises(BagtagError, match="choose a wider band"):
        make_spectrogram(tone(2000), RATE, SpectrogramSettings(low=20_000.0))


@pytest.mark.parametrize(
    ("rate", "name"),
    [(8_000, "frogs"), (16_000, "frogs"), (22_050, "birds"), (44_100, "birds"), (48_000, "birds"), (96_000, "insects"),
     (192_000, "bats"), (250_000, "bats"), (384_000, "bats"), (500_000, "bats")],
)  # fmt: skip
def test_presets_by_sample_rate(rate, name):
    assert preset_for_rate(rate) == name
    settings = SpectrogramSettings.for_rate(rate)
    assert settings == SpectrogramSettings.preset(name)
    made = make_spectrogram(np.zeros(rate // 10, dtype=np.float32), rate, settings)
    assert made.grid.height >= 16 and made.grid.width >= 10


def test_silence_is_finite_in_every_normalisation_and_short_sound_works():
    for samples in (np.zeros(RATE, np.float32), np.zeros(1, np.float32), tone(2000)[:5]):
        for normalisation in ("none", "band", "pcen"):
            for scale in ("linear", "mel"):
                settings = SpectrogramSettings(normalisation=normalisation, scale=scale)
                assert np.isfinite(make_spectrogram(samples, RATE, settings).values).all()
    assert make_spectrogram(np.zeros(RATE, np.float32), RATE, SpectrogramSettings()).values.max() == QUIETEST_DB
    with pytest.raises(BagtagError, match="at least one sample"):
        make_spectrogram(np.zeros(0, np.float32), RATE, SpectrogramSettings())


def hissing(seconds=4.0):
    """Noise that is loud below 4 kHz and faint above, with one tone at 9 kHz."""
    rng = np.random.default_rng(0)
    n = int(seconds * RATE)
    spectrum = np.fft.rfft(rng.standard_normal(n))
    spectrum[np.fft.rfftfreq(n, 1 / RATE) > 4000] *= 0.01
    return (0.05 * np.fft.irfft(spectrum, n) + tone(9000, 2.0, 2.3, 0.01, seconds)).astype(np.float32)


def test_band_normalisation_puts_every_band_at_its_own_median():
    made = make_spectrogram(hissing(), RATE, SpectrogramSettings(normalisation="band"))
    assert np.abs(np.median(made.values, axis=1)).max() < 1e-3
    row = int(made.grid.row_at(9000.0))
    assert made.values[row, int(made.grid.column_at(2.15))] > 20


def middle_level(spectrogram, start, end):
    first, last = spectrogram.grid.column_at([start, end]).astype(int)
    return np.median(spectrogram.values[:, first:last])


def test_pcen_follows_a_change_of_gain_and_keeps_the_call():
    gain = np.where(np.arange(4 * RATE) < 2 * RATE, 1.0, 10.0)
    noise = 0.01 * np.random.default_rng(0).standard_normal(4 * RATE)
    sound = (gain * (noise + 0.2 * tone(5000, 3.5, 3.6, 1.0, 4.0))).astype(np.float32)
    plain = make_spectrogram(sound, RATE, SpectrogramSettings())
    assert middle_level(plain, 3.0, 3.4) - middle_level(plain, 1.0, 1.9) == pytest.approx(20, abs=1)
    made = make_spectrogram(sound, RATE, SpectrogramSettings(normalisation="pcen"))
    before = middle_level(made, 1.0, 1.9)
    assert middle_level(made, 3.0, 3.4) == pytest.approx(before, abs=1.0)
    assert made.values[int(made.grid.row_at(5000.0)), int(made.grid.column_at(3.52))] > before + 6


def test_settings_go_to_json_and_back_and_refuse_nonsense():
    settings = SpectrogramSettings(high=9000.0, scale="mel", colour_map="viridis")
    assert SpectrogramSettings.from_dict(settings.to_dict()) == settings
    brighter = SpectrogramSettings.from_dict({**settings.to_dict(), "loud_db": 60.0, "unknown": 1})
    assert brighter.analysis_dict() == settings.analysis_dict() and brighter != settings
    for wrong in (
        {"hop": 0.0}, {"hop": 1.0}, {"low": -1.0}, {"high": 100.0}, {"scale": "log"}, {"normalisation": "x"},
        {"mel_bands": 2}, {"loud_db": -5.0}, {"colour_map": "pink"},
    ):  # fmt: skip
        with pytest.raises(BagtagError):
            SpectrogramSettings(**wrong)
    with pytest.raises(BagtagError, match="preset"):
        SpectrogramSettings.preset("whales")


def opened(png):
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


@pytest.mark.parametrize("name", list(COLOUR_MAPS))
def test_a_picture_has_one_pixel_a_cell_in_the_colours_of_the_map(name):
    made = make_spectrogram(hissing(), RATE, SpectrogramSettings())
    settings = SpectrogramSettings(colour_map=name, flat=False, quiet_db=0.0, loud_db=30.0)
    picture = opened(render_png(made, settings))
    assert picture.shape == (*made.values.shape, 3)
    colours = np.asarray(colour_map(name)).reshape(-1, 3)
    ends = [made.values.argmin(), made.values.argmax()]
    darkest, brightest = (picture.reshape(-1, 3)[place] for place in ends)
    np.testing.assert_array_equal(darkest, colours[0])
    np.testing.assert_array_equal(brightest, colours[-1])


def test_a_wide_picture_is_reduced_without_losing_a_short_call():
    made = make_spectrogram(tone(4000, 0.5, 0.51, seconds=2.0), RATE, SpectrogramSettings())
    picture = opened(render_png(made, SpectrogramSettings(), max_width=50))
    assert picture.shape[1] <= 50 and picture.shape[0] == made.grid.height
    column = picture[int(made.grid.row_at(4000.0))].sum(axis=1).argmax()
    assert column / picture.shape[1] == pytest.approx(0.25, abs=0.03)


def test_silence_is_drawn():
    silent = make_spectrogram(np.zeros(RATE, np.float32), RATE, SpectrogramSettings())
    assert len(np.unique(opened(render_png(silent, SpectrogramSettings())))) <= 3
    assert isinstance(silent, Spectrogram)
