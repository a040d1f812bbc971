"""The demo project: complete after any interruption, and neither trivial nor too hard for the default model."""

import json
import signal
from collections import Counter

import pytest

from miml_core.__main__ import main
from miml_core.demo import make_demo, score_demo
from miml_core.demo.media import COUNT, class_list, make_media
from miml_core.demo.truth import Truth
from miml_core.errors import BagtagError
from miml_core.exchange.tags_csv import read_tags
from miml_core.project import Project
from tests.demo.figures import check_figures


class _Stop(Exception):
    pass


def stop_at(step):
    def progress(done, of, info):
        assert 0 <= done <= of
        if done >= step:
            raise _Stop

    return progress


def test_making_goes_on_after_interruptions(tmp_path, quick_workers):
    for step in (200, 480, 500):
        with pytest.raises(_Stop):
            make_demo(tmp_path / "demo", count=7, train=False, progress=stop_at(step))
    with make_demo(tmp_path / "demo", count=7, train=False) as project:
        done = project.progress()
        assert (done.n_bags, done.n_segmented, done.n_finished, done.n_errors) == (7, 7, 6, 0)
        assert done.n_segments > 20
        assert len(project.classes.list()) == 10
        assert project.classes.list()[0].scientific_name
        assert project.bags.list().bags[0].recorded_at.startswith("2025-05-03T04:30")
        assert project.runs.current() is None
        names = [medium.path for medium in project.media.list()]
    assert all(name.startswith("recordings/") for name in names), "nothing but recordings is in the project"


def test_returning_true_from_progress_stops_the_demo(tmp_path):
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


def test_a_place_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BagtagError, match="could not be created"):
        make_demo(tmp_path / "file" / "demo", count=1)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
@pytest.mark.parametrize("kind", ["sound", "picture"])
def test_a_full_disk_is_reported(tmp_path, kind):
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(BagtagError, match="could not be created"):
            make_demo(tmp_path / "demo", kind, count=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "demo" / "truth.json").exists(), "it is not taken for complete"


def test_score_needs_a_demo(tmp_path):
    with Project.create(tmp_path / "mine") as project, pytest.raises(BagtagError, match="not a demo"):
        score_demo(project)


@pytest.fixture(scope="module")
def whole_demos(tmp_path_factory):
    """The files of both demos as people get them."""
    folder = tmp_path_factory.mktemp("whole")
    for kind in ("sound", "picture"):
        make_media(folder / kind, kind, 0, COUNT[kind])
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "n_untagged"), [("sound", 10), ("picture", 6)])
def test_every_class_is_in_many_files_and_tags_are_true(whole_demos, kind, n_untagged):
    files = Truth.read(whole_demos / kind).files
    labels = {name: {thing.label for thing in things} for name, things in files.items()}
    counts = Counter(label for some in labels.values() for label in some)
    assert set(counts) == {row.name for row in class_list(kind)}
    assert len(counts) >= 8 and min(counts.values()) >= 6
    tagged = {row.file.split("/")[1]: set(row.present) for row in read_tags(whole_demos / kind / "tags.csv")}
    assert tagged.items() <= labels.items()
    assert len(files) - len(tagged) == n_untagged


@pytest.mark.slow
def test_tags_alone_teach_the_default_model(whole_demos, capsys):
    """The demo of sounds; `tests/test_package.py` makes that of pictures."""
    assert main(["demo", str(whole_demos / "sound"), "--json"]) == 0
    check_figures(json.loads(capsys.readouterr().out)["sound"], "sound", 500)
