"""Single detections of a cell, and whether their recordings may be opened here."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest
import soundfile

from miml_core.errors import BagtagError
from miml_core.insights import Choice, open_source
from miml_core.insights.listing import count_detections, find_recording, most_probable, read_listed
from miml_core.insights.sun import recorded_place
from miml_core.media.recording_place import Place
from miml_core.project.media import access
from tests.insights.generated_archive import CLASSES, SITES, make_archive


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "archive"
    rows = make_archive(folder, seed=2, n_files=12)
    return open_source(archive=folder), rows


@pytest.mark.parametrize("site", [None, SITES[1]])
def test_the_most_probable_detections_of_a_cell(survey, site):
    source, rows = survey
    time = next(row["time"] for row in rows["segments"] if row["time"] and row["class"] and site in (None, row["site"]))
    sites = None if site is None else (site,)
    choice = Choice(None, 0.0, sites, time.date(), time.date(), time.hour)
    expected = [
        row
        for row in rows["segments"]
        if row["class"] and row["time"] and (row["time"].date(), row["time"].hour) == (time.date(), time.hour)
        and site in (None, row["site"])
    ]  # fmt: skip
    expected.sort(key=lambda row: -row["probability"])
    assert count_detections(source, choice) == len(expected) > 0
    listed = read_listed(source, most_probable(source, choice, limit=3))
    assert [(one.file, one.start, one.class_name) for one in listed] == [
        (row["file"], row["start"], row["class"]) for row in expected[:3]
    ]
    assert [one.clip_start for one in listed] == [row["clip_start"] for row in expected[:3]]


def test_a_class_like_a_query_is_listed(survey):
    source, rows = survey
    found = read_listed(source, most_probable(source, Choice(CLASSES[1], 0.0), limit=1000))
    assert len(found) == sum(row["class"] == CLASSES[1] for row in rows["segments"])
    assert {one.class_name for one in found} == {CLASSES[1]}


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An archive, recordings in two folders elsewhere, and a state folder of their own."""
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))
    archive, survey, moved = tmp_path / "a" / "archive", tmp_path / "disk" / "survey", tmp_path / "other" / "copies"
    archive.mkdir(parents=True)
    for folder in (survey, moved):
        (folder / "marsh").mkdir(parents=True)
        (folder / "marsh" / "1.wav").write_bytes(b"sound")
    (archive / "folders.json").write_text(json.dumps({"survey": str(survey), "etc": "/etc"}))
    return archive, survey, moved


def test_recordings_are_opened_only_below_chosen_folders(places):
    archive, survey, _moved = places
    with pytest.raises(BagtagError, match="not chosen on this computer"):
        find_recording(archive, "survey/marsh/1.wav")
    access.allow_folder(archive, survey)
    assert find_recording(archive, "survey/marsh/1.wav") == survey / "marsh" / "1.wav"
    for name in ("etc/passwd", "survey/../../secret", "survey/marsh/2.wav", "survey", ""):
        with pytest.raises(BagtagError):
            find_recording(archive, name)
    (survey / "marsh" / "out.wav").symlink_to("/etc/passwd")
    with pytest.raises(BagtagError):
        find_recording(archive, "survey/marsh/out.wav")


def test_the_place_is_what_a_recording_states(survey, tmp_path, monkeypatch):
    source, rows = survey
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))
    assert recorded_place(source) is None
    note = b"GUANO|Version: 1.0\nLoc Position: 43.6 3.9\n"
    for file in {row["file"] for row in rows["clips"]}:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.zeros(80), 8000)
        path.write_bytes(path.read_bytes() + b"guan" + struct.pack("<I", len(note)) + note)
    assert recorded_place(source) is None, "the folder was not chosen"
    access.allow_folder(source.archive, tmp_path / "survey")
    assert recorded_place(source) == Place(43.6, 3.9)


def test_moved_recordings_are_found_in_the_folder_that_was_chosen(places):
    archive, _survey, moved = places
    (archive / "folders.json").write_text("[]")
    with pytest.raises(BagtagError, match="has been moved"):
        find_recording(archive, "survey/marsh/1.wav")
    access.allow_folder(archive, moved)
    assert find_recording(archive, "survey/marsh/1.wav") == moved / "marsh" / "1.wav"
