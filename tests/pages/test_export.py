"""What is exported, where to, and the exports made so far."""

import io
import json
import shutil
import zipfile
from datetime import date
from pathlib import Path

from sqlalchemy import insert, update

from miml_core import BACKGROUND, installation
from miml_core.project.db.schema import bags
from miml_core.project.db.schema import jobs as table
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import exporting
from tests.pages.conftest import place_of, press, texts


def test_with_nothing_confirmed_the_page_explains_what_to_do(project, show):
    for bag in project.bags.ids():
        project.edits.set_label([segment.id for segment in project.segments.list(bag)], None)
    app = show(project, "export")
    assert "No segment matches this choice yet" in texts(app)
    assert next(button for button in app.button if button.label == "Export").disabled


def test_confirmed_segments_are_previewed_and_exported(project, show):
    first, second = project.segments.list(project.bags.ids()[2])[:2]
    project.edits.set_label(first.id, project.classes.find("Robin").id)
    project.edits.set_label(second.id, BACKGROUND)
    app = show(project, "export")
    rows = app.dataframe[0].value
    assert {"Robin", "background"} <= set(rows["Label"])
    press(app, "Export")
    (job,) = project.jobs.list()
    assert job.kind == "export" and job.params["format"] == "csv" and job.params["what"] == "confirmed"
    assert job.params["path"].startswith(str(project.folder / "exports"))


def test_predictions_below_the_threshold_stay_out(project, show):
    app = show(project, "export")
    app.radio(key="export.what").set_value("predicted").run()
    app.slider(key="export.p").set_value(1.0).run()
    assert "predicted" not in str([table.value for table in app.dataframe])
    app.slider(key="export.p").set_value(0.0).run()
    assert "predicted" in set(app.dataframe[0].value["Status"])


def test_padding_rate_and_days_are_chosen_on_the_page(project, show):
    app = show(project, "export")
    app.radio(key="export.what").set_value("all").run()
    app.selectbox(key="export.format").set_value("birdnet-training").run()
    app.number_input(key="export.padding.birdnet-training.s").set_value(0.25).run()
    assert app.selectbox(key="export.rate.birdnet-training").value == 48_000
    app.date_input(key="export.since").set_value(date(1990, 5, 1)).run()
    press(app, "Export")
    (job,) = project.jobs.list()
    assert (job.params["padding"], job.params["rate"], job.params["since"]) == (0.25, 48_000, "1990-05-01")
    app.date_input(key="export.until").set_value(date(1990, 5, 2)).run()
    assert "No segment matches this choice yet" in texts(app)


def test_filters_keep_their_place_whatever_is_chosen_above_them(project, show):
    app = show(project, "export")
    place = place_of(app, app.expander[0])
    app.selectbox(key="export.format").set_value("birdnet-training").run()
    assert app.number_input(key="export.padding.birdnet-training.s") and place_of(app, app.expander[0]) == place
    app.radio(key="export.what").set_value("predicted").run()
    assert app.slider(key="export.p") and place_of(app, app.expander[0]) == place


def test_only_formats_of_the_projects_kind_are_offered(project, pictures, show):
    sound = show(project, "export").selectbox(key="export.format").options
    picture = show(pictures, "export").selectbox(key="export.format").options
    assert "Raven selection tables" in sound and "COCO JSON" not in sound
    assert "COCO JSON" in picture and "Raven selection tables" not in picture


def test_what_is_chosen_on_the_page_is_recorded_and_may_be_written(project, show):
    """Nothing is recorded before Export is pressed."""
    app = show(project, "export")
    elsewhere = project.folder.parent / "tables"
    elsewhere.mkdir()
    app.text_input(key="export.folder").set_value(str(elsewhere)).run()
    app.radio(key="export.what").set_value("all").run()
    assert installation.allowed_folders(project.folder, "export") == []
    press(app, "Export")
    assert installation.allowed_folders(project.folder, "export") == [elsewhere]


def test_a_refused_place_is_explained_on_the_page(project, show):
    app = show(project, "export")
    (project.folder / "runs").mkdir(exist_ok=True)
    app.text_input(key="export.folder").set_value(str(project.folder / "runs")).run()
    app.radio(key="export.what").set_value("all").run()
    press(app, "Export")
    assert "belongs to the project" in texts(app).replace("\\", "")
    assert project.jobs.list() == [] and installation.allowed_folders(project.folder, "export") == []


def test_a_link_in_the_place_of_the_exports_folder_is_not_offered(project, show):
    (project.folder / "exports").symlink_to(project.folder.parent.parent)
    app = show(project, "export")
    assert app.text_input(key="export.folder").value == str(project.folder.parent)


def test_only_files_of_the_export_are_offered_and_zipped(project, show):
    target = project.folder / "exports" / "raven"
    target.mkdir(parents=True)
    (target / "diary.txt").write_text("private")
    with project.store.write() as connection:
        connection.execute(update(bags).where(bags.c.id == 1).values(segment_key=None))
    _write_export(project, target, "raven")
    (one,) = project.exports.list()
    assert one.content() == one.content(), "the address of the download follows from the content"
    with zipfile.ZipFile(io.BytesIO(one.content())) as archive:
        assert archive.namelist() == [
            *(f"garden_{n}.wav.selections.txt" for n in range(1, 5)),
            "bagtag.provenance.json",
        ]
    assert one.file_name == "raven.zip"
    app = show(project, "export")
    assert "segments of 1 bag were missing" in texts(app)
    assert str(target) in texts(app) and len(app.get("download_button")) == 1
    shutil.rmtree(target)
    app = show(project, "export")
    assert "the file no longer exists" in texts(app) and not app.get("download_button")


def test_files_that_a_foreign_database_names_are_not_offered(project, show):
    secret = project.folder.parent / "secret.csv"
    secret.write_text("private")
    params = {"format": "csv", "path": str(secret), "what": "all"}
    for result in ({"files": [str(secret)]}, {"files": [str(secret.parent)]}, {}):
        _insert_done(project, params, result)
    _insert_done(project, {**params, "format": "papyrus"}, {"files": [str(secret)]})
    app = show(project, "export")
    assert not app.get("download_button") and str(secret) not in texts(app)
    assert "2 exports not listed" in texts(app)


def test_the_page_looks_at_no_file_of_a_large_export(project, show, monkeypatch):
    """Ten thousand files: their sizes are those recorded when they were written."""
    folder = project.folder / "exports" / "many"
    folder.mkdir(parents=True)
    names = [folder / f"{n}.txt" for n in range(10_000)]
    for name in names:
        name.write_bytes(b"12")
    installation.record_exports(project.folder, names)
    _insert_done(project, {"format": "raven", "path": str(folder)}, {"files": [str(name) for name in names]})
    looked: list[str] = []
    lstat, exists = Path.stat, Path.exists
    monkeypatch.setattr(Path, "stat", lambda path, **how: looked.append(path.name) or lstat(path, **how))
    monkeypatch.setattr(Path, "exists", lambda path: looked.append(path.name) or exists(path))
    (one,) = project.exports.list()
    assert len(one.files) == 10_000 and one.size == 20_000 and one.is_there()
    assert "many" in looked and not [name for name in looked if name.endswith(".txt")]


def _write_export(project, target, format):
    params = {"format": format, "path": str(target), "what": "all"}
    installation.allow_folder(project.folder, target.parent, "export")
    job = _insert_done(project, params, {}, state="running")
    result = exporting.run(JobContext(project.store, job))
    with project.store.write() as connection:
        job_queue.finish(connection, job, "done", result.pop("message"), result)


def _insert_done(project, params, result, state="done"):
    row = {"kind": "export", "lane": "export", "message": "", "created_at": 0.0, "finished_at": 0.0, "annotator": ""}
    with project.store.write() as connection:
        values = {**row, "state": state, "params": json.dumps(params), "result": json.dumps(result)}
        return connection.execute(insert(table).values(**values)).inserted_primary_key[0]
