"""Sound segments: what stands out is found, knobs do what they say, and real recordings reach their figures."""

import numpy as np
import pytest

from miml_core import BagtagError
from miml_core.evaluation.media_sound import _found, _hear, _measure_boxes
from miml_core.evaluation.sound_sets import find_box_sets, find_event_sets
from miml_core.media.spectrogram import SpectrogramSettings, make_spectrogram
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments

RATE = 22_050


def calls(times, *, noise=0.005, level=0.2):
    t = np.arange(4 * RATE) / RATE
    sound = noise * np.random.default_rng(0).standard_normal(len(t))
    for start, end in times:
        sound += level * np.sin(2 * np.pi * 4000 * t) * ((t > start) & (t < end))
    return make_spectrogram(sound.astype(np.float32), RATE, SpectrogramSettings.for_rate(RATE))


def spans(spectrogram, **knobs):
    regions = find_sound_segments(spectrogram, SoundSegmentSettings(**knobs))
    grid = spectrogram.grid
    return [(float(grid.x_at(region.box[1])), float(grid.x_at(region.box[3]))) for region in regions]


def test_calls_are_found_where_they_are():
    found = [span for span in spans(calls([(0.5, 0.8), (2.0, 2.6)])) if span[1] - span[0] > 0.1]
    assert len(found) == 2
    for (start, end), (true_start, true_end) in zip(sorted(found), [(0.5, 0.8), (2.0, 2.6)]):
        assert start == pytest.approx(true_start, abs=0.05)
        assert end == pytest.approx(true_end, abs=0.05)


def test_every_knob_does_what_it_says():
    faint = calls([(1.0, 1.5)], level=0.004)
    assert len(spans(faint, sensitivity=1.0)) >= len(spans(faint, sensitivity=0.0))
    both = calls([(0.5, 0.53), (2.0, 2.6)])
    assert all(end - start > 0.08 for start, end in spans(both, smallest_call=0.1))
    trill = calls([(1.0 + 0.1 * k, 1.05 + 0.1 * k) for k in range(5)])
    apart, bridged = (len(spans(trill, gap=gap)) for gap in (0.0, 0.2))
    assert bridged < apart
    with pytest.raises(BagtagError, match="sensitivity"):
        SoundSegmentSettings(sensitivity=2.0)


def test_silence_and_one_sample_have_no_segments():
    for sound in (np.zeros(RATE, np.float32), np.zeros(1, np.float32)):
        silent = make_spectrogram(sound, RATE, SpectrogramSettings.for_rate(RATE))
        assert find_sound_segments(silent, SoundSegmentSettings()) == []


@pytest.mark.slow
def test_events_of_field_recordings(data_dir):
    """A third of the recordings, to be quick; `bench-media` measures all."""
    (recordings,) = [one for one in find_event_sets(data_dir) if one.name == "nips4bplus"]
    paths = [path for path, events in recordings.events.items() if events][::3]
    events = [recordings.events[path] for path in paths]
    found, right = _found([_hear(path, some) for path, some in zip(paths, events)], events)
    recall, precision = np.mean(found), np.mean(right)
    assert 2 * recall * precision / (recall + precision) >= 0.88


@pytest.mark.slow
def test_boxes_of_bats_and_of_a_spinetail(data_dir):
    bats, spinetail = (_measure_boxes(one, lambda: None, 1) for one in find_box_sets(data_dir))
    assert bats["boxes_overlapped_by_0.3"] >= 0.85
    assert bats["precision"] > 0.5
    assert spinetail["boxes_touched"] == 1.0
