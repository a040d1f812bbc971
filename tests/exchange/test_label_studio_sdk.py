"""Label Studio's own library reads what we write, and we read what it writes.

`label-studio-sdk` needs an older NumPy than Bagtag and is therefore not installed with it. In an environment of its own
(`pip install label-studio-sdk`, and Bagtag's packages first on `PYTHONPATH`) these tests run.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from miml_core.exchange import FORMATS, SegmentRow
from miml_core.exchange.label_studio_tasks import labeling_config
from miml_core.exchange.masks import row_region
from miml_core.exchange.reading import read_labels
from tests.exchange.examples import NASTY_NAMES, PICTURES, SOUND, SOUNDS

sdk = pytest.importorskip("label_studio_sdk", reason="label-studio-sdk needs an older NumPy than Bagtag")


@pytest.mark.parametrize("rows", [SOUNDS, PICTURES], ids=["sounds", "pictures"])
def test_predictions_are_valid_for_the_configuration_that_comes_with_them(rows: list[SegmentRow]) -> None:
    from label_studio_sdk.converter.brush import decode_rle
    from label_studio_sdk.label_interface import LabelInterface

    interface = LabelInterface(labeling_config(rows))
    interface.validate()
    tasks = json.loads(FORMATS["label-studio"].write_bytes(rows)[1])
    assert all(interface.validate_task({"data": task["data"]}) for task in tasks)
    predictions = [prediction for task in tasks for prediction in task["predictions"]]
    assert [interface.validate_prediction(each, return_errors=True) for each in predictions] == [[]] * len(predictions)
    regions = [region for each in predictions for region in each["result"]]
    assert len(regions) == len(rows)
    for region in regions:
        if region["type"] == "brushlabels":
            painted = np.reshape(decode_rle(region["value"]["rle"]), (9, 12, 4))[..., 3] > 0
            assert (painted == row_region(PICTURES[2]).within((0, 0, 9, 12))).all()


def test_a_configuration_with_any_names_is_valid() -> None:
    from label_studio_sdk.label_interface import LabelInterface

    names = [name for name in NASTY_NAMES if name.isprintable()]
    rows = [SegmentRow("a.wav", start_s=0.0, end_s=1.0, label=name, status="confirmed") for name in names]
    assert set(LabelInterface(labeling_config(rows)).get_control("label").labels) == set(names)


def test_regions_that_the_library_makes_are_read(tmp_path: Path) -> None:
    from label_studio_sdk.converter.brush import mask2rle
    from label_studio_sdk.label_interface import LabelInterface
    from label_studio_sdk.label_interface.objects import PredictionValue

    control = LabelInterface(labeling_config([SOUND])).get_control("label")
    made = PredictionValue(
        model_version="m1", score=0.75, result=[control.label(label="Copper trill", start=1.5, end=2.25, channel=0)]
    )
    mask = np.zeros((9, 12), dtype=np.uint8)
    mask[2:5, 3:8] = 255
    brush = {"type": "brushlabels", "original_width": 12, "original_height": 9,
             "value": {"format": "rle", "rle": mask2rle(mask), "brushlabels": ["reed"]}}  # fmt: skip
    tasks = [{"data": {"audio": "/data/local-files/?d=a.wav"}, "predictions": [made.model_dump()]},
             {"data": {"image": "pond.png"}, "annotations": [{"result": [brush]}]}]  # fmt: skip
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    table = read_labels([tmp_path / "tasks.json"])
    sound, picture = table.rows
    assert table.problems == [] and (sound.start_s, sound.end_s, sound.label) == (1.5, 2.25, "Copper trill")
    assert (sound.status, sound.probability, sound.who) == ("predicted", 0.75, "m1")
    assert (row_region(picture).within((0, 0, 9, 12)) == (mask > 0)).all() and picture.label == "reed"
