"""The chain from picture files to labelled segments: on drawn pictures whose truth is known, and on real ones."""

import json

import numpy as np
import pytest
from PIL import Image

from miml_core.errors import BagtagError
from miml_core.evaluation.media_pictures import CutSet, annotate_from_tags, measure_pictures
from miml_core.evaluation.picture_sets import cut_and_count, find_picture_sets, read_label_map
from miml_core.media.grid import Grid
from miml_core.segments.visual import PictureSegmentSettings

CLASSES = ["void", "grass", "sky", "brick", "water"]
COLOURS = np.array([[128, 128, 128], [60, 140, 50], [150, 190, 240], [170, 70, 50], [40, 70, 130]])


def draw_set(folder, n_pictures=18):
    """Pictures of two halves of different classes, a void stripe between them."""
    rng = np.random.default_rng(0)
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
    for number in range(n_pictures):
        labels = np.zeros((60, 80), dtype=np.uint8)
        labels[:28], labels[32:] = rng.choice(4, 2, replace=False) + 1
        pixels = COLOURS[labels] + rng.normal(0, 12, (60, 80, 3)) + rng.normal(0, 15, 3)
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / "images" / f"p{number:02}.png")
        Image.fromarray(labels).save(folder / "labels" / f"p{number:02}.png")
    (folder / "classes.json").write_text(json.dumps({"classes": CLASSES}))


def test_drawn_pictures_are_labelled_from_their_tags(tmp_path):
    folder = tmp_path / "images" / "drawn"
    draw_set(folder)
    (folder / "images" / "p00.png").write_bytes(b"not a picture")
    Image.new("L", (5, 5)).save(folder / "labels" / "p01.png")
    Image.new("L", (80, 60)).save(folder / "labels" / "p02.png")
    reported = []
    figures = measure_pictures(tmp_path, lambda step, of, info: reported.append((step, of)), folds=3)["drawn"]
    assert reported[-1][0] == reported[-1][1] and [step for step, _ in reported] == sorted(step for step, _ in reported)
    assert (figures["pictures"], figures["classes"], figures["tags_per_picture"]) == (15, 4, 2.0)
    reasons = "\n".join(figures["skipped"])
    assert "p00.png is not a picture" in reasons and "p01.png has the shape (5, 5)" in reasons
    assert "p02.png: no pixel of its label map has a class" in reasons
    assert figures["segments"]["default"]["best_labelling"] > 0.97
    assert figures["accuracy"]["extended"]["accuracy"] > 0.9
    assert figures["accuracy"]["majority tag"]["accuracy"] < 0.7
    assert figures["with_truth_for"]["features"]["accuracy"] > 0.99
    for known in ("given_tags", "new_pictures"):
        for row in figures["one_by_one"].values():
            assert 0 <= row[known]["calibration_error"] < 0.35
            assert row[known]["right"] > 0.6
    assert json.loads(json.dumps(figures)) == figures


def test_sets_without_names_and_folders_that_are_no_sets(tmp_path):
    folder = tmp_path / "images" / "bare"
    draw_set(folder, n_pictures=2)
    (folder / "classes.json").unlink()
    (tmp_path / "images" / "other").mkdir()
    (bare,) = find_picture_sets(tmp_path)
    assert bare.class_name(3) == "class 3" and bare.is_class(0) and len(bare.files) == 2
    (folder / "classes.json").write_text('["grass"]')
    with pytest.raises(BagtagError, match=r"classes\.json"):
        find_picture_sets(tmp_path)
    assert measure_pictures(tmp_path / "nothing") == {}


def test_label_maps_are_read_on_a_reduced_grid(tmp_path):
    numbers = np.zeros((40, 60), dtype=np.uint8)
    numbers[20:, 30:] = 7
    Image.fromarray(numbers).save(tmp_path / "map.png")
    reduced = read_label_map(tmp_path / "map.png", Grid(6, 4, 0.0, 60.0, 0.0, 40.0))
    assert reduced.tolist() == [[0] * 6] * 2 + [[0, 0, 0, 7, 7, 7]] * 2


@pytest.mark.slow
def test_photographs(data_dir):
    found = {each.name: each for each in find_picture_sets(data_dir)}
    if "msrcv2" not in found:
        pytest.skip("needs the photographs of MSRC v2 (images/msrcv2)")
    photographs = found["msrcv2"]
    fine = PictureSegmentSettings(segments=40)
    possible = CutSet([cut_and_count(*files, fine, ()) for files in photographs.files[::3]], photographs)
    assert possible.best_labelling()["per_picture"] <= 40
    assert possible.best_labelling()["best_labelling"] >= 0.95
    defaults = PictureSegmentSettings()
    cut = CutSet([cut_and_count(*files, defaults, ("extended",)) for files in photographs.files], photographs)
    accuracy = cut.score(annotate_from_tags(cut.bags("extended")))["accuracy"]
    assert accuracy >= 0.78
    assert accuracy > cut.score(cut.majority_tag())["accuracy"] + 0.25
