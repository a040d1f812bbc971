"""The start page."""

import numpy as np
import pytest
import soundfile

from miml_core import BagtagError
from miml_core.project import Project
from pages.widgets.app.recent_projects import known_projects
from pages.widgets.start.start_cards import project_folder
from tests.pages.conftest import press, texts


@pytest.fixture
def recordings(home):
    folder = home / "Aufnahmen 鸟"
    folder.mkdir()
    for name in ("Zaunkönig.wav", "b.wav"):
        soundfile.write(folder / name, np.zeros(8000, dtype=np.float32), 8000)
    return folder


def test_without_a_project_there_are_three_cards(home, show):
    app = show(None)
    assert [one.value.split(": ")[1] for one in app.subheader] == [
        "Open the demo",
        "Open a project",
        "New project",
    ]
    assert next(button for button in app.button if button.label == "Create project").disabled


def test_a_folder_becomes_a_project_that_imports_it(recordings, show, no_workers, home):
    app = show(None)
    app.text_input(key="start.new.folder").set_value(str(recordings)).run()
    assert "2 sound files" in texts(app) and texts(app).count("CC BY-NC-SA 4.0") == 1
    press(app, "Create project")
    with Project.open(home / "Bagtag" / recordings.name) as made:
        jobs = made.jobs.list()[::-1]
        assert made.kind == "sound"
        assert [job.kind for job in jobs] == ["import", "segment"]
        assert jobs[0].params["paths"] == [str(recordings)]
        assert jobs[0].params["bag_length"] == 10
    assert known_projects() == [home / "Bagtag" / recordings.name]
    assert app.session_state["session.folder"] == str(home / "Bagtag" / recordings.name)


def test_a_folder_outside_is_refused_in_a_sentence(show, home):
    app = show(None)
    app.text_input(key="start.new.folder").set_value("/etc").run()
    assert "outside the folders that Bagtag may use" in texts(app)
    assert not [button for button in app.button if button.label == "Create project"]


def test_a_known_project_opens_with_one_click(project, show):
    from pages.widgets.app.recent_projects import remember

    remember(project.folder)
    app = show(None)
    app.button(key=f"start.known.{project.folder.resolve()}").click().run()
    assert app.session_state["session.folder"] == str(project.folder.resolve())


def test_a_damaged_project_leads_back_to_the_start_page_with_a_sentence(home, show):
    from pages.widgets.app.recent_projects import remember

    folder = home / "Bagtag" / "broken"
    folder.mkdir(parents=True)
    (folder / "project.db").write_bytes(b"this is no database" * 100)
    remember(folder)
    app = show(None)
    app.button(key=f"start.known.{folder.resolve()}").click().run()
    assert len(app.error) == 1
    assert [one.value for one in app.title] == ["Bagtag"]


@pytest.mark.parametrize("name", ["", "..", " . "])
def test_a_project_needs_a_name_that_can_be_a_folder(tmp_path, name):
    with pytest.raises(BagtagError):
        project_folder(tmp_path, name)


def test_a_project_never_takes_a_folder_with_something_in_it(tmp_path):
    (tmp_path / "wood").mkdir()
    assert project_folder(tmp_path, "wood") == tmp_path / "wood"
    (tmp_path / "wood" / "file").write_bytes(b"")
    with pytest.raises(BagtagError, match="already"):
        project_folder(tmp_path, "wood")
    assert project_folder(tmp_path, "a/b: c") == tmp_path / "a-b- c"


@pytest.fixture
def making(home, monkeypatch):
    """The demo as it is being generated: nothing is, the test says how far it is."""
    from pages.widgets.start import start_cards
    from pages.widgets.start.demo import DemoWork

    made = DemoWork("sound", home / "Bagtag" / "demo-sound", share=0.3)
    monkeypatch.setattr(start_cards, "start_demo", lambda kind, new: made)
    return made


def demo_is_ready(making):
    Project.create(making.folder).close()
    making.share, making.over = 1.0, True


def test_a_demo_that_is_ready_waits_for_its_click_and_opens_at_the_review(making, show):
    app = press(show(None), "Birds at dawn")
    assert "Generating the demo" in app.get("progress")[0].proto.text
    demo_is_ready(making)
    app.run()
    assert "session.folder" not in app.session_state, "the poller opens nothing: something else may have been begun"
    press(app, "Open it")
    assert app.session_state["session.folder"] == str(making.folder)


def test_a_demo_that_exists_opens_at_once(making, show):
    demo_is_ready(making)
    app = press(show(None), "Birds at dawn")
    assert app.session_state["session.folder"] == str(making.folder)


def test_a_stopped_or_failed_demo_can_be_started_again(making, show):
    app = press(show(None), "Birds at dawn")
    making.over = True
    assert "Birds at dawn" in [button.label for button in app.run().button]
    making.over, making.problem = False, None
    app = press(app, "Birds at dawn")
    making.over, making.problem = True, "The disk is full."
    assert [error.value for error in app.run().error] == [r"The disk is full\."]
    assert "Birds at dawn" in [button.label for button in press(app, "Back").button]
