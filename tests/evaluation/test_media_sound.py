"""The chain from recordings to labelled segments: on made-up ones whose truth is known, in the layouts of real sets."""

import json

import numpy as np
import pytest
import soundfile

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.evaluation.media_sound import box_overlap, box_shared, covered, measure_sound
from miml_core.evaluation.sound_chain import segment_truth
from miml_core.evaluation.sound_sets import Event, find_box_sets, find_event_sets
from miml_core.features.birdnet import birdnet_status

RATE = 22_050
PITCHES = {"wren": 2500.0, "robin": 4500.0, "owl": 7500.0, "Unknown": 9800.0}


def call(pitch, seconds=0.3):
    t = np.arange(int(seconds * RATE)) / RATE
    return 0.3 * np.hanning(len(t)) * np.sin(2 * np.pi * pitch * t)


def write_recordings(folder, n=16):
    """Two or three kinds of calls in each recording; returns (file, start, duration, label) of every call."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    events = []
    for number in range(n):
        sound = 0.004 * rng.standard_normal(3 * RATE)
        kinds = rng.choice(list(PITCHES), 2, replace=False)
        for slot in range(5):
            label = str(rng.choice(kinds))
            start = 0.2 + 0.55 * slot
            sound[int(start * RATE) :][: int(0.3 * RATE)] += call(PITCHES[label])
            events.append((f"r{number}", start, 0.3, label))
        soundfile.write(folder / f"r{number}.wav", sound, RATE)
    return events


def write_event_set(folder, n=16):
    events = write_recordings(folder / "wav", n)
    lines = ["file,start_s,duration_s,label", *(",".join(map(str, event)) for event in events)]
    (folder / "events.csv").write_text("\n".join(lines) + "\n")


def test_made_up_recordings_are_labelled_from_their_tags(tmp_path):
    folder = tmp_path / "audio" / "field"
    write_event_set(folder)
    soundfile.write(folder / "wav" / "quiet.wav", np.zeros(RATE), RATE)
    (folder / "wav" / "r0.wav").write_bytes(b"no sound")
    reported = []
    figures = measure_sound(tmp_path, lambda step, of, info: reported.append((step, of)), folds=5)["field"]
    assert [step for step, _ in reported] == list(range(1, reported[-1][1] + 1))
    assert (figures["recordings"], figures["without_events"], figures["classes"]) == (15, 1, 3)
    assert figures["skipped"][0].startswith("r0.wav: r0.wav could not be read")
    assert figures["f1"] > 0.9 and figures["event_recall"] > 0.9
    accuracy = figures["accuracy"]
    assert accuracy["extended_without_background"] > accuracy["majority_tag"]
    assert set(figures["with_truth_for"]) == {"segments", "features", "model"} and figures["costs_most"] in (
        "segments", "features", "model",
    )  # fmt: skip
    assert all(0 <= share <= 1 for share in accuracy.values())
    features = figures["features"]
    assert features["hand_made"]["new_clips"]["segments"] > 0.8
    assert features["hand_made"]["given_tags"]["clean"] > 0.8
    for name in ("hand_made", "hand_made_with_background"):
        for known in ("new_clips", "given_tags"):
            assert 0 <= features[name][known]["calibration_error"] < 0.3
            assert features[name][known]["all"] > 0.6
    if birdnet_status().installed:
        assert features["both"]["new_clips"]["segments"] > features["embedding"]["new_clips"]["segments"]
        assert features["without_training"]["known_classes"] == 2  # wren and robin, as BirdNET shortens their names
    else:
        assert set(features) == {"hand_made", "hand_made_with_background"}
    assert json.loads(json.dumps(figures)) == figures


def test_sets_without_named_events_are_cut_all_the_same(tmp_path):
    folder = tmp_path / "audio" / "field"
    write_event_set(folder, n=2)
    (folder / "events.csv").write_text("file,start_s,duration_s,label\nr0,0.2,0.3,Unknown\n")
    figures = measure_sound(tmp_path)["field"]
    assert "not_measured" in figures and figures["events"] == 1
    (folder / "events.csv").write_text("file,start_s,duration_s,label\n")
    assert measure_sound(tmp_path)["field"]["recordings"] == 0
    (folder / "events.csv").write_text("file,start_s,duration_s,label\nr0,soon,0.3,wren\n")
    with pytest.raises(BagtagError, match=r"events\.csv, line 2"):
        find_event_sets(tmp_path)
    assert measure_sound(tmp_path / "nowhere") == {}


def test_boxes_of_audacity_and_of_whombat(tmp_path):
    events = write_recordings(tmp_path / "audio" / "drawn", 2)
    for number in range(2):
        lines = []
        for name, start, length, label in events:
            if name == f"r{number}":
                pitch = PITCHES[label]
                lines += [f"{start}\t{start + length}\t{label}", f"\\\t{pitch - 150}\t{pitch + 150}"]
        (tmp_path / "audio" / "drawn" / f"r{number}.txt").write_text("\n".join(lines))
    events = write_recordings(tmp_path / "audio" / "boxed", 2)
    boxes = [
        {"recording": name, "geometry": {"type": "BoundingBox", "coordinates": [start, PITCHES[label] - 150,
         start + length, PITCHES[label] + 150]}} for name, start, length, label in events
    ]  # fmt: skip
    data = {
        "recordings": [{"uuid": f"r{k}", "path": f"somewhere/r{k}.wav"} for k in range(2)],
        "clips": [{"recording": "r0", "start_time": 0.0, "end_time": 1.6}],
        "sound_events": boxes,
    }
    (tmp_path / "audio" / "boxed" / "project.json").write_text(json.dumps({"data": data}))
    boxed, drawn = find_box_sets(tmp_path)
    assert (boxed.name, drawn.name) == ("boxed", "drawn")
    assert sum(map(len, boxed.boxes.values())) == sum(map(len, drawn.boxes.values())) == 10
    figures = measure_sound(tmp_path)
    assert figures["drawn"]["boxes_touched"] == 1.0 and figures["drawn"]["boxes_overlapped_by_0.3"] >= 0.7
    assert figures["boxed"]["segments"] < figures["drawn"]["segments"]
    (tmp_path / "audio" / "boxed" / "project.json").write_text("{")
    with pytest.raises(BagtagError, match=r"project\.json is not JSON"):
        find_box_sets(tmp_path)


def test_shares_of_time_against_plain_counting():
    rng = np.random.default_rng(0)
    starts = rng.random((12, 2))
    spans, others = (np.column_stack([each, each + rng.random(12)]) for each in starts.T)
    fine = np.linspace(0, 2, 200_001)
    inside = np.zeros(len(fine), dtype=bool)
    for start, end in others:
        inside |= (fine >= start) & (fine <= end)
    expected = [inside[(fine >= start) & (fine <= end)].mean() for start, end in spans]
    np.testing.assert_allclose(covered(spans, others), expected, atol=1e-3)
    assert covered(spans, np.empty((0, 2))).tolist() == [0.0] * 12


def test_overlap_of_boxes():
    first = np.array([[0.0, 0.0, 2.0, 2.0]])
    second = np.array([[1.0, 1.0, 3.0, 3.0], [0.0, 0.0, 2.0, 1.0], [5.0, 5.0, 6.0, 6.0]])
    np.testing.assert_allclose(box_overlap(first, second), [[1 / 7, 0.5, 0.0]])
    np.testing.assert_allclose(box_shared(second, first)[:, 0], [1 / 4, 1.0, 0.0])
    assert box_overlap(first, np.empty((0, 4))).shape == (1, 0)


def test_a_segment_is_of_the_label_it_shares_most_time_with():
    events = [Event(0.0, 1.0, "wren"), Event(0.8, 2.0, "owl"), Event(0.9, 1.2, "wren"), Event(3.0, 4.0, "Unknown")]
    times = np.array([[0.0, 0.9], [0.9, 2.0], [3.0, 3.5], [5.0, 6.0]])
    assert segment_truth(times, events, ["owl", "wren"]).tolist() == [1, 0, BACKGROUND, BACKGROUND]
