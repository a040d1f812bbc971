"""Sound segments: loud regions are found, settings have their effect, and real recordings reach their figures."""

import numpy as np
import pytest

from miml_core import BagtagError
from miml_core.evaluation.media_sound import box_figures, in_parallel, segment_boxes, time_agreement
from miml_core.evaluation.sound_sets import find_box_sets, find_event_sets
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import Spectrogram, SpectrogramSettings, make_spectrogram
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.acoustic_kernels import measure

RATE = 22_050


def calls(times, *, noise=0.005, level=0.2):
    t = np.arange(4 * RATE) / RATE
    sound = noise * np.random.default_rng(0).standard_normal(len(t))
    for start, end in times:
        sound += level * np.sin(2 * np.pi * 4000 * t) * ((t > start) & (t < end))
    return make_spectrogram(sound.astype(np.float32), RATE, SpectrogramSettings.for_rate(RATE))


def spans(spectrogram, **settings):
    regions = find_sound_segments(spectrogram, SoundSegmentSettings(**settings))
    grid = spectrogram.grid
    return [(float(grid.x_at(region.box[1])), float(grid.x_at(region.box[3]))) for region in regions]


def test_calls_are_found_where_they_are():
    found = [span for span in spans(calls([(0.5, 0.8), (2.0, 2.6)])) if span[1] - span[0] > 0.1]
    assert len(found) == 2
    for (start, end), (true_start, true_end) in zip(sorted(found), [(0.5, 0.8), (2.0, 2.6)]):
        assert start == pytest.approx(true_start, abs=0.05)
        assert end == pytest.approx(true_end, abs=0.05)


def test_every_setting_has_its_effect():
    faint = calls([(1.0, 1.5)], level=0.004)
    assert len(spans(faint, sensitivity=1.0)) >= len(spans(faint, sensitivity=0.0))
    both = calls([(0.5, 0.53), (2.0, 2.6)])
    assert all(end - start > 0.08 for start, end in spans(both, smallest_call=0.1))
    trill = calls([(1.0 + 0.1 * k, 1.05 + 0.1 * k) for k in range(5)])
    apart, bridged = (len(spans(trill, gap=gap)) for gap in (0.0, 0.2))
    assert bridged < apart
    with pytest.raises(BagtagError, match="sensitivity"):
        SoundSegmentSettings(sensitivity=2.0)


def chirp(t, start, end, low, high):
    """A call that sweeps from one pitch to another, soft at both ends."""
    inside = (t >= start) & (t < end)
    since = (t[inside] - start) / (end - start)
    sound = np.zeros(len(t))
    phase = 2 * np.pi * (end - start) * (low * since + (high - low) * since**2 / 2)
    sound[inside] = 0.2 * np.sin(np.pi * since) ** 0.5 * np.sin(phase)
    return sound


def test_calls_at_the_same_time_are_parted_by_pitch_and_at_the_same_pitch_by_energy():
    t = np.arange(3 * RATE) / RATE
    noise = 0.002 * np.random.default_rng(0).standard_normal(len(t))
    together = chirp(t, 1.0, 1.4, 2500, 3000) + chirp(t, 1.1, 1.5, 5000, 4200)
    after = chirp(t, 1.0, 1.2, 3000, 3000) + chirp(t, 1.22, 1.4, 3000, 3000)
    for sound, count in ((together, 2), (after, 2)):
        made = make_spectrogram((sound + noise).astype(np.float32), RATE, SpectrogramSettings.for_rate(RATE))
        large = [region for region in find_sound_segments(made, SoundSegmentSettings(gap=0.0)) if region.area > 60]
        assert len(large) == count


def test_echolocation_calls_that_run_into_each_other_are_parted_and_echoes_left_out():
    rate = 250_000
    t = np.arange(rate // 5) / rate
    noise = 0.001 * np.random.default_rng(0).standard_normal(len(t))
    calls = chirp(t, 0.050, 0.054, 60_000, 40_000) + chirp(t, 0.120, 0.124, 60_000, 40_000)
    echoes = 0.1 * np.roll(calls, round(0.007 * rate))
    made = make_spectrogram((calls + echoes + noise).astype(np.float32), rate, SpectrogramSettings.for_rate(rate))
    found = find_sound_segments(made, SoundSegmentSettings.for_rate(rate))
    starts = [float(made.grid.x_at(region.left)) for region in found]
    assert starts == pytest.approx([0.050, 0.120], abs=0.002)


def test_silence_and_one_sample_have_no_segments():
    for sound in (np.zeros(RATE, np.float32), np.zeros(1, np.float32)):
        silent = make_spectrogram(sound, RATE, SpectrogramSettings.for_rate(RATE))
        assert find_sound_segments(silent, SoundSegmentSettings()) == []


def test_pixels_that_touch_at_a_corner_are_one_segment():
    """A call that rises by one row per column."""
    values = np.full((40, 60), -80, np.float32)
    for column in range(20, 40):
        values[column - 10, column] = -20
    made = Spectrogram(values, Grid(60, 40, 0.0, 0.6, 8000.0, 0.0), 16000)
    (call,) = find_sound_segments(made, SoundSegmentSettings())
    assert call.box[1] <= 20 and call.box[3] >= 40


def test_pieces_are_measured():
    labels = np.zeros((6, 12), np.int32)
    labels[1:3, 2:9] = 1
    labels[4, 10] = 2
    loudness = np.where(labels > 0, 2.0, 1.0).astype(np.float32)
    loudness[1, 4] = 7.0
    boxes, areas, peaks, runs = measure(labels, 2, loudness, 5)
    assert boxes.tolist() == [[1, 2, 3, 9], [4, 10, 5, 11]] and areas.tolist() == [14, 1]
    assert peaks.tolist() == [7.0, 2.0]
    assert runs == pytest.approx([(7 + 4 * 2) / 5, (2 + 3 * 1) / 4])


def weather(kind, seconds=5):
    """Sounds that are no calls."""
    rng = np.random.default_rng(1)
    n = seconds * RATE
    t = np.arange(n) / RATE
    noise = rng.standard_normal(n)
    if kind == "steady insect":
        return 0.02 * noise + 0.2 * np.sin(2 * np.pi * 6000 * t) * (1 + 0.2 * np.sin(2 * np.pi * 60 * t))
    if kind == "wind":
        low = np.cumsum(noise) - np.cumsum(noise).mean()
        return 0.5 * low / np.abs(low).max() + 0.002 * noise
    if kind == "clipped":
        return np.clip(3 * noise, -1, 1)
    drops = (rng.random(n) < 200 / RATE) * rng.exponential(0.02, n)
    return 0.05 * noise + np.convolve(drops, rng.standard_normal(60) * np.exp(-np.arange(60) / 15), "same")


@pytest.mark.parametrize("kind", ["steady insect", "wind", "clipped", "rain"])
def test_weather_is_no_call(kind):
    """At most one segment per second; a call in it is found."""
    sound = weather(kind)
    spectrogram = make_spectrogram(sound.astype(np.float32), RATE, SpectrogramSettings.for_rate(RATE))
    assert len(find_sound_segments(spectrogram, SoundSegmentSettings())) <= 5
    t = np.arange(len(sound)) / RATE
    sound = sound + 0.3 * np.sin(2 * np.pi * 3500 * t) * ((t > 2) & (t < 2.3))
    found = spans(make_spectrogram(sound.astype(np.float32), RATE, SpectrogramSettings.for_rate(RATE)))
    assert any(start < 2.1 and end > 2.2 for start, end in found)


@pytest.mark.parametrize("rate", [8_000, 16_000, 48_000, 96_000, 250_000, 384_000])
def test_every_common_rate(rate):
    """A call in the middle of the preset's band is found, and hardly anything else."""
    settings = SpectrogramSettings.for_rate(rate)
    t = np.arange(rate) / rate
    pitch = (settings.low + min(settings.high or rate, rate / 2)) / 2
    sound = 0.01 * np.random.default_rng(0).standard_normal(rate)
    sound += 0.3 * np.sin(2 * np.pi * pitch * t) * ((t > 0.5) & (t < 0.52))
    spectrogram = make_spectrogram(sound.astype(np.float32), rate, settings)
    grid = spectrogram.grid
    found = find_sound_segments(spectrogram, SoundSegmentSettings.for_rate(rate))
    boxes = [region.box for region in found]
    hits = [box for box in boxes if grid.x_at(box[1]) < 0.515 and grid.x_at(box[3]) > 0.505]
    assert any(grid.y_at(box[2]) < pitch < grid.y_at(box[0]) for box in hits)
    assert len(boxes) <= len(hits) + 2


def test_clips_shorter_than_a_window():
    for samples in (2, 50, 400):
        sound = np.random.default_rng(0).standard_normal(samples).astype(np.float32)
        short = make_spectrogram(sound, RATE, SpectrogramSettings.for_rate(RATE))
        assert find_sound_segments(short, SoundSegmentSettings()) == []


@pytest.mark.slow
def test_events_of_field_recordings(data_dir):
    """All 240. The constants were chosen among round ones with these recordings in sight, halves compared."""
    events = next((one.events for one in find_event_sets(data_dir) if one.name == "nips4bplus"), None)
    if events is None:
        pytest.skip("needs audio/nips4bplus")
    paths = [path for path in events if events[path]]
    times = [boxes[:, [0, 2]] for boxes in in_parallel(segment_boxes, paths, jobs=2)]
    assert time_agreement(times, [events[path] for path in paths])["f1"] >= 0.90


@pytest.mark.slow
def test_boxes_of_bats_and_of_a_spinetail(data_dir):
    figures = {one.name: box_figures(one) for one in find_box_sets(data_dir)}
    assert figures["bats"]["boxes_overlapped_by_0.3"] >= 0.85
    assert figures["bats"]["precision"] > 0.55
    assert figures["examples"]["boxes_touched"] == 1.0
