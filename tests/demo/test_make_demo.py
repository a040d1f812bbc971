"""The demo project: complete after any interruption, and neither trivial nor too hard for the default model."""

import json
import time
from collections import Counter

import pytest

from miml_core.__main__ import main
from miml_core.demo import make_demo, score_demo
from miml_core.demo.media import COUNT, class_list, make_media
from miml_core.demo.truth import Truth
from miml_core.errors import BagtagError
from miml_core.exchange.tags_csv import read_tags
from miml_core.project import Project


class _Stop(Exception):
    pass


def stop_at(step):
    def progress(done, of, info):
        assert 0 <= done <= of
        if done >= step:
            raise _Stop

    return progress


def test_making_goes_on_after_interruptions(tmp_path):
    for step in (200, 480, 500):
        with pytest.raises(_Stop):
            make_demo(tmp_path / "demo", count=7, train=False, progress=stop_at(step))
    with make_demo(tmp_path / "demo", count=7, train=False) as project:
        done = project.progress()
        assert (done.n_bags, done.n_segmented, done.n_finished, done.n_errors) == (7, 7, 6, 0)
        assert done.n_segments > 20
        assert len(project.classes()) == 10
        assert project.classes()[0].scientific_name
        assert project.list_bags().bags[0].recorded_at.startswith("2025-05-03T04:30")
        assert project.current_run() is None
        names = [medium.path for medium in project.media()]
    assert all(name.startswith("recordings/") for name in names), "nothing but recordings is in the project"


def test_a_true_answer_stops_the_making(tmp_path):
    with pytest.raises(BagtagError, match="not complete"):
        make_demo(tmp_path, count=3, progress=lambda done, of, info: True)


def test_other_projects_are_left_alone(tmp_path, media_folder):
    Project.create(tmp_path / "mine").close()
    with pytest.raises(BagtagError, match="not a demo"):
        make_demo(tmp_path / "mine")
    make_media(tmp_path / "other", "sound", 1, 1)
    Project.create(tmp_path / "other").close()
    with pytest.raises(BagtagError, match="seed 1"):
        make_demo(tmp_path / "other", seed=0)
    with pytest.raises(BagtagError, match="seed 1"):
        make_demo(tmp_path / "other", kind="picture", seed=1)


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BagtagError, match="could not be made"):
        make_demo(tmp_path / "file" / "demo", count=1)


def test_score_needs_a_demo(tmp_path):
    with Project.create(tmp_path / "mine") as project, pytest.raises(BagtagError, match="not a demo"):
        score_demo(project)


@pytest.mark.slow
def test_all_files_are_made_within_a_minute_every_class_in_many_of_them(tmp_path):
    began = time.process_time()
    for kind in ("sound", "picture"):
        make_media(tmp_path / kind, kind, 0, COUNT[kind])
    assert time.process_time() - began < 60
    for kind in ("sound", "picture"):
        files = Truth.read(tmp_path / kind).files.values()
        labels = [{thing.label for thing in things} for things in files]
        counts = Counter(label for some in labels for label in some)
        assert set(counts) == {row.name for row in class_list(kind)}
        assert len(counts) >= 8 and min(counts.values()) >= 6
        tagged = read_tags(tmp_path / kind / "tags.csv")
        assert {row.file.split("/")[1]: set(row.present) for row in tagged}.items() <= dict(
            zip(Truth.read(tmp_path / kind).files, labels)
        ).items()
        assert len(files) - len(tagged) == {"sound": 10, "picture": 6}[kind]


@pytest.mark.slow
def test_tags_alone_teach_the_default_model_the_calls(tmp_path, capsys):
    assert main(["demo", str(tmp_path / "demo"), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)["sound"]
    assert figures["bags"] == 60
    scores = figures["scores"]
    assert scores["segments"] > 500
    assert scores["accuracy"] >= 0.90
    assert scores["accuracy_calls"] >= 0.85
    assert scores["majority_tag"] < 0.60 and scores["majority_tag_calls"] < 0.60
    assert scores["accuracy_untagged"] > scores["majority_tag_calls"]
