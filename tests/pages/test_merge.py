"""Packing on the Export page, unpacking on the start page; merging a copy and its conflicts on the Import page."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.packing.pack import pack
from miml_core.project.review_records import Conflict
from pages.widgets.confirmation import pending_question
from pages.widgets.exchange import merge_preview
from tests.conftest import PATIENCE
from tests.pages.conftest import press, texts


@pytest.fixture
def copy(project: Project, tmp_path: Path) -> Path:
    """A packed copy in which Bob labelled the first segment, and the second one otherwise than Ann."""
    segments = [one.id for one in project.segments.list(project.bags.ids()[0])]
    classes = [one.id for one in project.classes.list()]
    folder = Path(shutil.copytree(project.folder, tmp_path / "bob" / "project"))
    project.edits.set_label(segments[1], classes[0])
    with Project.open(folder, annotator="Bob") as other:
        other.edits.set_label(segments[0], classes[0])
        other.edits.set_label(segments[1], classes[1])
        return pack(other.store, tmp_path / "bob.zip").path


def test_the_project_is_packed_by_a_job(project, show):
    app = show(project, "export", export__which="project")
    assert "history, runs and settings in one zip file" in texts(app)
    app.checkbox(key="export.pack_media").check().run()
    press(app, "Pack this project")
    (job,) = project.jobs.list()
    assert job.kind == "pack" and job.params["media"] is True
    target = Path(job.params["path"])
    assert target.parent == project.folder / "exports" and target.suffix == ".zip"


def test_a_copy_is_previewed_merged_reviewed_and_undone(project, show, copy, canvases):
    app = show(project, "import_labels", import__source="copy")
    assert "No copy chosen yet" in texts(app)
    app.file_uploader[0].set_value(("bob.zip", copy.read_bytes(), "application/zip")).run()
    assert not app.exception and not app.error
    numbers = {metric.label: metric.value for metric in app.metric}
    assert (numbers["New labels"], numbers["Conflicts"]) == ("1", "1") and "by Bob" in texts(app)
    assert "All labels" in app.dataframe[0].value["Class"].tolist()
    press(app, "Merge: 2 new answers, 1 conflict" if numbers["New tags"] == "1" else "Merge: 1 new answer, 1 conflict")
    assert project.edits.history()[0].act == "merge_copy"
    assert "1 segment with two labels" in texts(app)
    (row,) = next(table.value for table in app.dataframe if "Here" in table.value).to_dict("records")
    assert row["Here"].endswith("(Ann)") and row["In the copy"].endswith("(Bob)")
    press(app, "Review the segments")
    assert canvases["review.canvas"].queue == {"order": "conflicts"}
    (conflict,) = project.review.conflicts()
    assert project.bags.get(conflict.bag_id).id in project.bags.ids(show="conflicts")
    app = show(project, "import_labels", import__source="copy")
    press(app, "Undo this merge")
    assert project.review.conflicts() == [] and "No copy chosen yet" in texts(app)


@pytest.fixture
def tag_conflict(project: Project, tmp_path: Path) -> Conflict:
    """A conflict of a tag: Bob removed it in his copy, Ann gave a segment a label of it."""
    bag_id = project.bags.ids()[0]
    class_id = next(one for one, value in project.bags.get(bag_id).tags.items() if value > 0)
    folder = Path(shutil.copytree(project.folder, tmp_path / "bob" / "project"))
    project.edits.set_label(project.segments.list(bag_id)[0].id, class_id)
    with Project.open(folder, annotator="Bob") as other:
        other.edits.tag(bag_id, class_id, -1, confirm=True)
        packed = pack(other.store, tmp_path / "bob.zip").path
    project.edits.merge_copy(project.edits.preview_merge(packed))
    (conflict,) = [one for one in project.review.conflicts() if one.class_id == class_id]
    return conflict


def test_the_second_click_of_a_double_click_does_not_confirm(project, show, tag_conflict):
    ids = [one.id for one in project.review.conflicts()]
    drawn = (ids, 0, {"selection": {"rows": [ids.index(tag_conflict.id)]}})
    app = show(project, "import_labels", import__source="copy", import__conflicts__drawn=drawn)
    take = app.button(key="import.take")
    take.click().run()
    assert "clears that label too" in texts(app)
    assert app.button(key="import.take").disabled
    take.click().run()  # it was on its way when the question was drawn
    assert tag_conflict.id in [one.id for one in project.review.conflicts()], "the question was not answered"
    press(app, "Use them anyway")
    assert tag_conflict.id not in [one.id for one in project.review.conflicts()]
    assert project.bags.get(tag_conflict.bag_id).tags[tag_conflict.class_id] == -1


def test_a_question_about_a_conflict_is_not_answered_for_others(project, tag_conflict, monkeypatch):
    selected = [tag_conflict.id]
    monkeypatch.setattr("streamlit.session_state", {})
    monkeypatch.setattr(merge_preview, "selected_ids", lambda key: selected)
    merge_preview._take(project)
    asked = (tag_conflict.id,)
    assert pending_question(merge_preview._TAKE, project, asked)
    selected = [tag_conflict.id, tag_conflict.id + 1]
    with pytest.raises(BagtagError, match="selection has changed"):
        merge_preview._take_anyway(project, asked)
    assert pending_question(merge_preview._TAKE, project, asked) is None, "it lapsed"
    selected = [tag_conflict.id]
    merge_preview._take_anyway(project, asked)
    assert tag_conflict.id in [one.id for one in project.review.conflicts()], "no question is open"


def test_a_folder_with_the_copy_is_chosen_and_anything_else_is_explained(project, show, copy, home):
    (home / "from bob").mkdir()
    shutil.copy(copy, home / "from bob" / "bob.zip")
    (home / "from bob" / "notes.zip").write_bytes(b"no zip")
    state = {"import__source": "copy", "import__merge_from": "folder"}
    app = show(project, "import_labels", **state, import__merge_folder=str(home / "from bob"))
    app.selectbox(key="import.merge_name").select("bob.zip").run()
    assert {metric.label: metric.value for metric in app.metric}["Conflicts"] == "1"
    app.selectbox(key="import.merge_name").select("notes.zip").run()
    assert "not a zip file" in texts(app) and not app.exception
    app = show(project, "import_labels", **state, import__merge_folder=str(project.folder))
    assert "This is the project itself" in texts(app)


def test_a_packed_project_is_unpacked_on_the_start_page_and_opened(show, copy, home):
    (home / "bob.zip").write_bytes(copy.read_bytes())
    (home / "notes.zip").write_bytes(b"no zip")
    app = show(None, start__unpack__folder=str(home))
    for name, expected in (("notes.zip", "not a zip file"), ("bob.zip", "Unpacked to")):
        app.selectbox(key="start.unpack.file").select(name).run()
        press(app, "Unpack")
        end = time.monotonic() + PATIENCE
        while expected not in texts(app) and time.monotonic() < end:
            time.sleep(0.05)
            app.run()
        assert expected in texts(app)
        if name == "notes.zip":
            press(app, "Back")
    press(app, "Open it")
    assert app.session_state["session.folder"] == str(home / "Bagtag" / "bob")
    with Project.open(home / "Bagtag" / "bob") as made:
        assert made.progress().n_bags == 4
