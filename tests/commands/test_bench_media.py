"""`bench-media` from the command line: figures printed and written, what is missing named."""

import json

import pytest

from miml_core.__main__ import main
from tests.evaluation.test_media_pictures import draw_set
from tests.evaluation.test_media_sound import write_event_set


def test_figures_are_printed_and_written(tmp_path, capsys):
    draw_set(tmp_path / "images" / "drawn", n_pictures=8)
    options = ["--json", str(tmp_path / "out.json"), "--jobs", "1", "--folds", "2"]
    assert main(["bench-media", "--data", str(tmp_path), *options]) == 0
    printed = capsys.readouterr().out
    assert "sound: left out" in printed and "pictures: drawn" in printed and "best labelling" in printed
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["pictures"]["drawn"]["pictures"] == 8


def test_sound_and_pictures_in_one_run_with_their_comparisons(tmp_path, capsys):
    draw_set(tmp_path / "images" / "drawn", n_pictures=8)
    write_event_set(tmp_path / "audio" / "field", n=6)
    options = ["--json", str(tmp_path / "out.json"), "--jobs", "1", "--folds", "2"]
    assert main(["bench-media", "--data", str(tmp_path), *options]) == 0
    printed = capsys.readouterr().out
    assert "sound: field" in printed and "pictures: drawn" in printed
    for line in ("f1", "accuracy, paper", "accuracy, extended", "costs most"):
        assert line in printed
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["sound"]["field"]["recordings"] == 6 and written["pictures"]["drawn"]["pictures"] == 8


@pytest.mark.parametrize(
    "wrong", [["--data", "missing"], ["--data", ".", "--json", "no/folder/out.json"], ["--data", "."]]
)
def test_wrong_calls_end_with_a_sentence(tmp_path, monkeypatch, capsys, wrong):
    monkeypatch.chdir(tmp_path)
    assert main(["bench-media", *wrong]) == 1
    assert capsys.readouterr().err.startswith("bagtag: ")
