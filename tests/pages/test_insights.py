"""The Insights page: sources, filters, empty states, the list of a cell, what is remembered."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from miml_core.insights import Choice, activity, open_source
from miml_core.project import Project
from miml_core.project.media import access
from miml_core.project.queries.review_queue import ARCHIVE_SAMPLE
from pages.widgets.insights import listing, plots, report
from pages.widgets.segment_selections import find_selection
from tests.conftest import PATIENCE
from tests.insights.generated_archive import CLASSES, MODEL, SITES, make_archive
from tests.pages.conftest import press, texts


@pytest.fixture
def timed(project: Project) -> Project:
    """The project with times of its recorder."""
    with project.store.write() as connection:
        connection.execute(text("UPDATE media SET recorded_from = 'file name'"))
        connection.execute(text("UPDATE bags SET recorded_at = '2024-05-0' || id || 'T04:10:00+02:00'"))
    return project


@pytest.fixture
def archive(home: Path) -> Path:
    make_archive(home / "archive")
    return home / "archive"


def use(project: Project, archive: Path) -> None:
    project.set_preference("insights", {"source": "archive", "archive": str(archive)})


def charts(app: AppTest) -> list[dict]:
    return [json.loads(one.proto.spec) for one in app.get("plotly_chart")]


def test_without_predictions_the_page_says_what_to_do(home, no_workers, show):
    with Project.create(home / "empty") as empty:
        assert "There is nothing to count yet" in texts(show(empty, "insights"))


def test_without_times_other_plots_can_be_shown(project, show):
    app = show(project, "insights")
    assert "No recording has a time" in texts(app)
    assert "4 of 4 recordings have no time" in texts(app)
    app.session_state["insights.plot"] = "classes"
    assert len(charts(app.run())) == 1 and not app.exception
    for plot in ("co_occurrence", "probability", "per_clip"):
        app.session_state["insights.plot"] = plot
        app.run()
        assert not app.exception and not app.error, plot


def test_activity_of_a_project(timed, show):
    app = show(timed, "insights")
    heat, _rhythm = charts(app)
    assert "detections, 0.0 hours recorded" in texts(app)
    assert {trace["type"] for trace in heat["data"]} == {"heatmap", "scatter"}
    assert "clocks: UTC+2." in texts(app)
    assert any(trace.get("name") == "no recording" for trace in heat["data"])
    (field,) = [one for one in app.text_input if one.label == "Latitude, longitude"]
    heat, _ = charts(field.set_value("43.6, 3.9").run())
    assert {"sunrise", "sunset"} <= {trace.get("name") for trace in heat["data"]}
    assert timed.place is not None and "Sunrise and sunset are those of 43" in texts(app)


@pytest.mark.parametrize("plot", ["sites", "classes", "accumulation", "co_occurrence", "probability", "per_clip"])
def test_an_archive_of_strange_names(project, archive, show, plot):
    use(project, archive)
    app = show(project, "insights", insights__plot=plot, insights__threshold=0.2)
    assert not app.error and len(charts(app)) == 1
    (chart,) = charts(app)
    shown = json.dumps([chart["layout"], [[one.get("hovertext"), one.get("name")] for one in chart["data"]]])
    assert "<b>owl" not in shown
    if plot == "classes":
        assert "&lt;b&gt;owl&lt;/b&gt;" in shown and SITES[0] in shown
    assert "clocks, which differ" in texts(app) and "no time" in texts(app)


def test_class_and_sites_are_chosen(project, archive, show):
    use(project, archive)
    app = show(project, "insights", insights__threshold=0.0)
    (box,) = [one for one in app.selectbox if one.label == "Class"]
    app = box.set_value(CLASSES[1]).run()
    (sites,) = [one for one in app.multiselect if one.label == "Sites"]
    app = sites.set_value([SITES[1]]).run()
    assert not app.exception and not app.error and len(charts(app)) == 2


def test_an_archive_elsewhere_or_empty(project, archive, show, tmp_path):
    use(project, tmp_path)  # outside of all roots: a project of somebody else may name any folder
    assert "Choose the folder that" in texts(show(project, "insights"))
    empty = archive.parent / "none"
    (empty / "models").mkdir(parents=True)
    (empty / "models" / f"{MODEL}.bagtag").write_bytes(b"")
    use(project, empty)
    assert "The archive is empty" in texts(show(project, "insights"))


def test_the_archive_that_was_chosen_is_remembered(project, archive, show):
    app = show(project, "insights", insights__source="archive", insights__folder=str(archive.parent))
    app = press(app, "Use this archive")
    assert project.get_preference("insights") is None, "a folder that is no archive is refused"
    app.session_state["insights.folder"] = str(archive)
    press(app, "Use this archive")
    assert project.get_preference("insights")["archive"] == str(archive)
    assert "hours recorded" in texts(show(project, "insights"))


def test_a_report_is_made_in_the_background_and_saved(project, archive, show):
    use(project, archive)
    app = show(project, "insights")
    press(app, "Create the report")
    (maker,) = [one for one in threading.enumerate() if one.name == "_Report"] or [threading.current_thread()]
    if maker is not threading.current_thread():
        maker.join(PATIENCE)
    app.run()
    (save,) = [one for one in app.get("download_button") if one.proto.label.startswith("Save the report")]
    assert save.proto.url and not [one for one in app.button if one.label == "Create the report"]
    (box,) = [one for one in app.selectbox if one.label == "Class"]
    app = box.set_value(CLASSES[0]).run()
    assert [one for one in app.button if one.label == "Create the report"], "a report of another choice is not offered"


def test_pictures_are_counted_as_pictures(pictures, show, monkeypatch):
    with pictures.store.write() as connection:
        connection.execute(text("UPDATE media SET recorded_from = 'camera'"))
        connection.execute(text("UPDATE bags SET recorded_at = '2024-05-0' || id || 'T10:10:00'"))
    app = show(pictures, "insights", insights__threshold=0.0)
    heat, _ = charts(app)
    assert any(trace.get("name") == "no picture" for trace in heat["data"]) and "2 pictures" in texts(app)
    assert "the pictures do not state" in texts(app) and "record" not in texts(app).lower()
    monkeypatch.setattr(plots, "_show", lambda name, *_: ["2024-05-01", 10] if name == "activity" else None)
    app = show(pictures, "insights", insights__threshold=0.0)
    (table,) = [one.value for one in app.dataframe]
    assert list(table.columns) == ["class", "probability", "checked", "picture"] and len(table)


def test_counts_per_effort_are_offered_where_they_are_drawn(timed, show):
    app = show(timed, "insights", insights__per_effort=True)
    for plot, is_offered in (("probability", False), ("sites", True)):
        app.session_state["insights.plot"] = plot
        app.run()
        assert [one.value for one in app.toggle] == ([True] if is_offered else [])


def test_a_cell_of_a_project_opens_on_the_wall(timed, show, monkeypatch):
    monkeypatch.setattr(plots, "_show", lambda name, *_: ["2024-05-01", 4] if name == "activity" else None)
    app = show(timed, "insights", insights__threshold=0.0)
    assert "2024\\-05\\-01, 04\\:00 to 05\\:00" in texts(app)
    press(app, "Show on the wall")
    request = app.session_state["wall.request"]
    selection = find_selection(timed, request.fields["query"]["selection"])
    assert set(selection.segment_ids) <= {one.id for one in timed.segments.list(1)} and selection.segment_ids


def test_recordings_of_an_archive_are_heard_only_from_chosen_folders(project, archive, show, monkeypatch):
    use(project, archive)
    found = activity(open_source(archive=archive), None, 0.0)
    day, hour = np.argwhere(found.counts)[0]
    listed: list[tuple] = []

    def choose_first(rows: list[tuple], columns: tuple[str, ...]) -> int:
        listed[:] = rows
        return 0

    monkeypatch.setattr("pages.widgets.insights.listing._table", choose_first)
    monkeypatch.setattr(plots, "_show", lambda name, *_: [str(found.dates[day]), hour] if name == "activity" else None)
    app = show(project, "insights", insights__threshold=0.0)
    assert "is not on this computer" in texts(app) and not app.get("audio")
    recording = archive.parent / "disk" / listed[0][4]
    recording.parent.mkdir(parents=True)
    soundfile.write(recording, np.zeros(200 * 8000), 8000, subtype="PCM_U8")
    access.allow_folder(archive, archive.parent / "disk" / "survey")
    app = show(project, "insights", insights__threshold=0.0)
    assert not app.error and len(app.get("audio")) == 1


def test_clocks_of_half_hours_can_be_chosen(project, archive, show):
    use(project, archive)
    app = show(project, "insights")
    assert {"not known", "UTC", "UTC-3:30", "UTC+5:30", "UTC+5:45"} <= set(app.selectbox(key="insights.clock").options)
    app.selectbox(key="insights.clock").set_value(330).run()
    assert project.get_preference("insights")["clock"] == 330


def test_a_row_stays_selected_in_the_same_list_only(monkeypatch):
    keys: list[str] = []
    nothing = {"selection": {"rows": []}}
    monkeypatch.setattr(listing.st, "dataframe", lambda *_, key, **__: keys.append(key) or nothing)
    monkeypatch.setattr(listing.st, "caption", lambda text: None)
    first, second, third = ((name, 0.9, "", "a.wav", 1.0) for name in ("wren", "robin", "owl"))
    for rows in ([first, second], [first, second], [first, third]):
        assert listing._table(rows, ("class", "probability", "checked", "recording", "at_s")) is None
    assert keys[0] == keys[1] != keys[2]


def test_counts_beside_the_checked_sample(project, archive, show):
    use(project, archive)
    assert "Draw a sample of the archive" in texts(show(project, "insights"))
    ids = [one.id for one in project.segments.list(1)][:3]
    record = {"archive": str(archive), "model": MODEL, "seed": 0, "strata": [["wren", 0.4, 50, 3]], "segments": ids}
    project.set_preference(ARCHIVE_SAMPLE, {**record, "stratum_of": [0, 0, 0]})
    app = show(project, "insights", insights__threshold=0.5)
    (table,) = [one for one in app.dataframe if "precision" in one.value.columns]
    assert table.value["class"].tolist() == ["wren"] and table.value["precision"].tolist() == ["no answers"]


def test_a_large_archive_is_read_beside_the_page(project, archive, show, monkeypatch):
    monkeypatch.setattr("pages.widgets.insights.source._READ_AT_ONCE", 0)
    go_on = threading.Event()

    def slowly(**given):
        go_on.wait(PATIENCE)
        return open_source(**given)

    monkeypatch.setattr("pages.widgets.insights.source.open_source", slowly)
    use(project, archive)
    app = show(project, "insights")
    assert [one.label for one in app.button if one.key == "insights.stop"] == ["Stop"] and not charts(app)
    (thread,) = [one for one in threading.enumerate() if one.name == "_Reading"]
    go_on.set()
    thread.join(PATIENCE)
    assert len(charts(app.run())) == 2


def test_the_button_of_an_archive_that_was_read_runs_the_whole_page(project, archive, show, monkeypatch):
    """It is part of a fragment: without that, a click would only draw the button again."""
    asked: list[str] = []
    monkeypatch.setattr("pages.widgets.insights.source._READ_AT_ONCE", 0)
    monkeypatch.setattr("pages.widgets.insights.source._start_reading", lambda archive, key: None)
    use(project, archive)
    app = show(project, "insights")
    monkeypatch.setattr("pages.widgets.insights.source.st.rerun", lambda: asked.append("app"))
    press(app, "Show the archive")
    assert asked == ["app"]


def test_a_report_that_was_stopped_is_made_again_from_the_beginning(timed, monkeypatch):
    state: dict[str, report._Report] = {}
    go_on = threading.Event()

    def make(*_, progress, **__) -> str:
        go_on.wait(PATIENCE)
        progress(1, 2, {})
        return "made"

    def join() -> None:
        for thread in [one for one in threading.enumerate() if one.name == "_Report"]:
            thread.join(PATIENCE)

    monkeypatch.setattr(report, "st", SimpleNamespace(session_state=state))
    monkeypatch.setattr(report, "make_report", make)
    wanted = report._Report(project=timed, source=open_source(project=timed), choice=Choice(), sun=None)
    wanted.began -= 60  # the page was drawn a minute before the click
    report._begin(wanted)
    state[report._WORK].end()
    go_on.set()
    join()
    assert state[report._WORK].over and state[report._WORK].content is None
    report._begin(wanted)
    join()
    work = state[report._WORK]
    assert work.content == b"made" and work.subject == wanted.subject
    assert work.began > wanted.began + 30, "the time left is computed from the click on"
