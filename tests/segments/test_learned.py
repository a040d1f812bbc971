"""The segmenter that learns from edits."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import maximum_filter, uniform_filter

from miml_core.errors import BagtagError
from miml_core.evaluation.media_sound import covered
from miml_core.evaluation.sound_sets import Event, find_event_sets
from miml_core.media.audio import read_audio
from miml_core.media.grid import Grid
from miml_core.media.spectrogram import PRESETS, Spectrogram, make_spectrogram, read_spectrogram
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.learned import _NEVER, Example, LearnedSegmenter, _best_levels
from miml_core.segments.pixel_features import BOXES, SPREADS, STEP, PixelView
from miml_core.segments.pixel_forest import _arrays
from miml_core.segments.regions import Region

RATE = 22050
CALL, HUM = 5000.0, 2000.0


def recording(seed: int) -> Spectrogram:
    """Four seconds with four calls at 5 kHz and four hums at 2 kHz."""
    rng = np.random.default_rng(seed)
    sound = 0.01 * rng.normal(size=4 * RATE)
    t = np.arange(RATE // 5) / RATE
    for slot in range(8):
        pitch = CALL if slot % 2 else HUM
        start = int((0.1 + 0.48 * slot + 0.1 * rng.random()) * RATE)
        sound[start : start + len(t)] += 0.1 * np.hanning(len(t)) * np.sin(2 * np.pi * pitch * t)
    return make_spectrogram(sound.astype(np.float32), RATE, PRESETS["birds"])


def is_call(region: Region, grid: Grid) -> bool:
    return abs(float(grid.y_at((region.box[0] + region.box[2]) / 2)) - CALL) < 800


def judged(spectrogram: Spectrogram, *, whole: bool = True) -> Example:
    """A person keeps the calls and deletes the rest."""
    found = find_sound_segments(spectrogram, SoundSegmentSettings())
    kept = [region for region in found if is_call(region, spectrogram.grid)]
    return Example(spectrogram, kept, [region for region in found if region not in kept], whole)


@pytest.fixture(scope="module")
def segmenter() -> LearnedSegmenter:
    return LearnedSegmenter.train([judged(recording(seed)) for seed in range(4)])


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_deleted_elsewhere_is_not_found_and_calls_are(whole: bool) -> None:
    trained = LearnedSegmenter.train([judged(recording(seed), whole=whole) for seed in range(4)])
    new = recording(9)
    built_in = find_sound_segments(new, trained.settings)
    found = trained.find(new)
    calls = [region for region in built_in if is_call(region, new.grid)]
    assert len(built_in) > len(calls) >= 4
    assert all(is_call(region, new.grid) for region in found)
    assert len(found) >= 4


def test_a_file_gives_the_same_segmenter_back(segmenter: LearnedSegmenter, tmp_path: Path) -> None:
    segmenter.save(tmp_path / "one.npz")
    again = LearnedSegmenter.load(tmp_path / "one.npz")
    assert (again.settings, again.levels, again.pixel) == (segmenter.settings, segmenter.levels, segmenter.pixel)
    assert all((again.trees[name] == array).all() for name, array in segmenter.trees.items())
    mine, theirs = segmenter.find(recording(9)), again.find(recording(9))
    assert len(mine) == len(theirs) and all(a.equals(b) for a, b in zip(mine, theirs))
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]


def test_foreign_and_broken_files_are_refused(segmenter: LearnedSegmenter, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign.npz"
    np.savez(foreign, header=np.zeros(3))
    text = tmp_path / "text.npz"
    text.write_text("no arrays")
    circle = tmp_path / "circle.npz"
    left = np.zeros_like(segmenter.trees["left"])
    LearnedSegmenter(segmenter.settings, {**segmenter.trees, "left": left}, segmenter.levels, segmenter.pixel).save(
        circle
    )
    for path in (foreign, text, circle):
        with pytest.raises(BagtagError, match="not a complete learned segmenter"):
            LearnedSegmenter.load(path)
    with pytest.raises(BagtagError, match="There is no learned segmenter"):
        LearnedSegmenter.load(tmp_path / "none.npz")


def test_another_window_is_refused(segmenter: LearnedSegmenter) -> None:
    sound = np.zeros(RATE, dtype=np.float32)
    with pytest.raises(BagtagError, match="another window or hop"):
        segmenter.find(make_spectrogram(sound, RATE, PRESETS["frogs"]))


def test_silence_has_no_segments(segmenter: LearnedSegmenter) -> None:
    assert segmenter.find(make_spectrogram(np.zeros(RATE, dtype=np.float32), RATE, PRESETS["birds"])) == []


def test_only_calls_teach_nothing() -> None:
    lonely = judged(recording(0))
    with pytest.raises(BagtagError, match="examples of calls and of other sounds"):
        LearnedSegmenter.train([Example(lonely.spectrogram, lonely.kept, [])])


def test_equal_seeds_give_equal_trees(segmenter: LearnedSegmenter) -> None:
    again = LearnedSegmenter.train([judged(recording(seed)) for seed in range(4)])
    assert (again.trees["threshold"] == segmenter.trees["threshold"]).all()


def test_the_arrays_predict_as_the_forest_they_came_from() -> None:
    from sklearn.ensemble import ExtraTreesClassifier

    from miml_core.segments.learned_kernels import mean_leaf

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    forest = ExtraTreesClassifier(5, max_depth=6, random_state=0).fit(X, y)
    trees = _arrays([tree.tree_ for tree in forest.estimators_])
    names = ("roots", "feature", "threshold", "left", "right", "value")
    assert mean_leaf(X, *[trees[name] for name in names]) == pytest.approx(forest.predict_proba(X)[:, 1], abs=1e-6)


def test_patches_against_plain_filters() -> None:
    view = PixelView(recording(0))
    height, width = view.raw.shape
    rng = np.random.default_rng(0)
    rows, columns = rng.integers(15, height - 15, 200), rng.integers(35, width - 35, 200)
    X = view.at(rows, columns)
    assert X[:, 0] == pytest.approx(view.raw[rows, columns])
    for k, box in enumerate(BOXES):
        mean = uniform_filter(view.raw.astype(float), box)[rows, columns]
        assert X[:, 1 + k] == pytest.approx(mean, abs=1e-3)
    first = 1 + len(BOXES)
    for k, box in enumerate(SPREADS):
        mean, square = (uniform_filter(view.raw.astype(float) ** power, box)[rows, columns] for power in (1, 2))
        assert X[:, first + k] == pytest.approx(square - mean**2, abs=0.05)
    highest = maximum_filter(view.contrast, (15, 15))[rows, columns]
    near = view.contrast[rows, columns]
    assert X[:, first + 3] == pytest.approx(highest - near, abs=1e-4)
    assert X[:, first + 4] == pytest.approx(view.contrast[rows, columns + STEP] - near, abs=1e-4)
    corners = view.at(np.array([0, height - 1]), np.array([0, width - 1]))
    assert np.isfinite(corners).all()


def test_nothing_changes_unless_held_out_examples_clearly_improve() -> None:
    rng = np.random.default_rng(0)
    is_call = rng.random(400) < 0.9
    faint = np.arange(400) >= 300
    assert _best_levels(rng.random(400), is_call, faint) == (0.0, _NEVER)
    reported = np.where(is_call, 0.7, 0.3) + 0.1 * rng.random(400)
    ordinary, of_faint = _best_levels(reported, is_call, faint)
    assert 0.3 < ordinary <= 0.7 and 0.3 < of_faint <= 0.7
    few = np.arange(400) >= 395
    assert _best_levels(reported, is_call, few)[1] == _NEVER


@pytest.mark.slow
def test_it_improves_on_the_built_in_way_on_recordings_held_back(data_dir: Path) -> None:
    """Bats: learnt on every other recording, tried on the others; a box is found at an IoU of .3."""
    settings = SoundSegmentSettings.for_rate(300_000)
    by_recording = bat_examples(data_dir / "audio" / "bats")
    learn_from = [example for recording in by_recording[0::2] for example in recording]
    held_back = [example for recording in by_recording[1::2] for example in recording]
    trained = LearnedSegmenter.train(learn_from, settings)
    before = f1([(find_sound_segments(example.spectrogram, settings), example.kept) for example in held_back])
    after = f1([(trained.find(example.spectrogram), example.kept) for example in held_back])
    print(f"F1 of boxes: built in {before:.3f}, learned {after:.3f}")
    assert after >= before + 0.02


@pytest.mark.slow
def test_what_people_delete_at_a_site_is_not_found_in_its_other_recordings(data_dir: Path) -> None:
    """Field recordings with the beeps of one machine in them, which the person deletes; half are held back."""
    recordings = [one for one in find_event_sets(data_dir) if one.name == "nips4bplus"]
    if not recordings:
        pytest.skip("needs audio/nips4bplus")
    site = [SiteRecording(*each, seed) for seed, each in enumerate(list(recordings[0].events.items())[::8])]
    learn_from, held_back = site[0::2], site[1::2]
    trained = LearnedSegmenter.train([one.judged() for one in learn_from])
    before = site_f1(held_back, lambda spectrogram: find_sound_segments(spectrogram, SoundSegmentSettings()))
    after = site_f1(held_back, trained.find)
    print(f"F1 of events at a site with a beeper: built in {before:.3f}, learned {after:.3f}")
    assert after >= before + 0.05


class SiteRecording:
    """A field recording of known events with a machine's beeps added, sometimes faint, sometimes loud."""

    def __init__(self, path: Path, events: list[Event], seed: int) -> None:
        rng = np.random.default_rng(seed)
        samples, rate = read_audio(path)
        t = np.arange(len(samples)) / rate
        loudness = np.sqrt(np.mean(samples**2))
        self.events = np.array([(event.start, event.end) for event in events])
        starts = np.cumsum(rng.uniform(0.4, 0.7, 20))
        self.beeps = np.array([(start, start + 0.12) for start in starts[starts < t[-1] - 0.12]]).reshape(-1, 2)
        for start, end in self.beeps:
            beep = (t >= start) & (t < end)
            since = t[beep] - start
            tone = np.sin(2 * np.pi * (2600 * since + 1500 * since**2)) * np.sin(np.pi * since / 0.12)
            samples[beep] += (loudness * 10 ** (rng.uniform(0, 14) / 20) * tone).astype(np.float32)
        self.spectrogram = make_spectrogram(samples, rate, PRESETS["birds"])

    def times(self, regions: list[Region]) -> np.ndarray:
        edges = np.array([region.box for region in regions], dtype=float).reshape(-1, 4)
        return np.column_stack([self.spectrogram.grid.x_at(edges[:, 1]), self.spectrogram.grid.x_at(edges[:, 3])])

    def is_beep(self, regions: list[Region]) -> np.ndarray:
        grid = self.spectrogram.grid
        low, high = (np.array([float(grid.y_at(region.box[edge])) for region in regions]) for edge in (2, 0))
        return (covered(self.times(regions), self.beeps) > 0.5) & (low > 2200) & (high < 3500)

    def is_call(self, regions: list[Region]) -> np.ndarray:
        return (covered(self.times(regions), self.events) >= 0.5) & ~self.is_beep(regions)

    def judged(self) -> Example:
        found = find_sound_segments(self.spectrogram, SoundSegmentSettings())
        right = self.is_call(found)
        kept = [region for region, ok in zip(found, right) if ok]
        return Example(self.spectrogram, kept, [region for region, ok in zip(found, right) if not ok])


def site_f1(recordings: list[SiteRecording], find: Callable[[Spectrogram], list[Region]]) -> float:
    """Of the share of events found and the share of segments that are calls."""
    found: list[bool] = []
    right: list[bool] = []
    for one in recordings:
        regions = find(one.spectrogram)
        calls = one.is_call(regions)
        right += calls.tolist()
        times = one.times([region for region, ok in zip(regions, calls) if ok])
        found += (covered(one.events, times) >= 0.3).tolist()
    recall, precision = np.mean(found), np.mean(right)
    return float(2 * recall * precision / (recall + precision))


def bat_examples(folder: Path) -> list[list[Example]]:
    """The clips of each recording, with the boxes drawn in them."""
    if not folder.is_dir():
        pytest.skip("needs audio/bats")
    data = json.loads((folder / "example_annotation_project.json").read_text())["data"]
    names = {each["uuid"]: Path(each["path"]).name for each in data["recordings"]}
    boxes = defaultdict(list)
    for event in data["sound_events"]:
        boxes[event["recording"]].append(event["geometry"]["coordinates"])
    examples = defaultdict(list)
    for clip in data["clips"]:
        where = clip["recording"]
        spectrogram = read_spectrogram(
            folder / "audio" / names[where], clip["start_time"], clip["end_time"], PRESETS["bats"]
        )
        drawn = [box_region(box, spectrogram.grid) for box in boxes[where]]
        examples[where].append(Example(spectrogram, [region for region in drawn if region], [], whole=True))
    return list(examples.values())


def box_region(box: list[float], grid: Grid) -> Region | None:
    left, right = np.clip(np.round(grid.column_at([box[0], box[2]])), 0, grid.width).astype(int)
    top, bottom = np.clip(np.round(grid.row_at([box[3], box[1]])), 0, grid.height).astype(int)
    if left >= right or top >= bottom:
        return None
    return Region(int(top), int(left), np.ones((bottom - top, right - left), dtype=bool))


def f1(pairs: list[tuple[list[Region], list[Region]]]) -> float:
    """Of the share of boxes found and the share of segments that find one."""
    found, n_true, right, n_found = 0, 0, 0, 0
    for segments, truth in pairs:
        overlaps = np.array([[box_iou(a.box, b.box) for a in segments] for b in truth])
        alike = overlaps.reshape(len(truth), len(segments)) >= 0.3
        found, right = found + alike.any(axis=1).sum(), right + alike.any(axis=0).sum()
        n_true, n_found = n_true + len(truth), n_found + len(segments)
    recall, precision = found / n_true, right / max(1, n_found)
    return float(2 * recall * precision / max(recall + precision, 1e-9))


def box_iou(a: tuple[int, int, int, int], b: tuple[int, int, int, int]) -> float:
    shared = max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1]))
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)
