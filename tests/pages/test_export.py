"""What is exported, where to, and the exports made so far."""

import io
import zipfile

from miml_core import BACKGROUND
from pages.widgets.exports_list import _content
from tests.pages.conftest import press, texts


def test_nothing_confirmed_says_what_to_do(project, show):
    for bag in project.bag_ids():
        project.correct([segment.id for segment in project.segments(bag)], None)
    app = show(project, "export")
    assert "No segment fits this choice yet" in texts(app)
    assert next(button for button in app.button if button.label == "Export").disabled


def test_confirmed_segments_are_previewed_and_exported(project, show):
    first, second = project.segments(project.bag_ids()[2])[:2]
    project.correct(first.id, project.find_class("Robin").id)
    project.correct(second.id, BACKGROUND)
    app = show(project, "export")
    rows = app.dataframe[0].value
    assert {"Robin", "background"} <= set(rows["Label"])
    press(app, "Export")
    (job,) = project.jobs()
    assert job.kind == "export" and job.params["format"] == "csv" and job.params["what"] == "confirmed"
    assert job.params["path"].startswith(str(project.folder / "exports"))


def test_predictions_below_the_threshold_stay_out(project, show):
    app = show(project, "export")
    app.radio(key="export.what").set_value("predicted").run()
    app.slider(key="export.p").set_value(1.0).run()
    assert "predicted" not in str([table.value for table in app.dataframe])
    app.slider(key="export.p").set_value(0.0).run()
    assert "predicted" in set(app.dataframe[0].value["Status"])


def test_only_formats_of_the_projects_kind_are_offered(project, pictures, show):
    sound = show(project, "export").selectbox(key="export.format").options
    picture = show(pictures, "export").selectbox(key="export.format").options
    assert "Raven selection tables" in sound and "COCO JSON" not in sound
    assert "COCO JSON" in picture and "Raven selection tables" not in picture


def test_a_folder_of_files_is_downloaded_as_one_archive(tmp_path):
    (tmp_path / "out" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "deep" / "Vögel.txt").write_text("1")
    with zipfile.ZipFile(io.BytesIO(_content(tmp_path / "out"))) as archive:
        assert archive.namelist() == ["deep/Vögel.txt"]
