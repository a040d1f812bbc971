"""The report: self-contained, escaped, with model, effort, checks and plots; also from the command line."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import numpy as np
import pytest

from miml_core.__main__ import main
from miml_core.archive.sampling import Stratum, estimate_classes
from miml_core.errors import BagtagError
from miml_core.insights import Choice, activity, open_source
from miml_core.insights.checks import checked_counts
from miml_core.insights.report import make_report
from miml_core.insights.sun import clock_offset, clock_text, sun_times
from miml_core.insights.tables import activity_table, to_csv
from miml_core.media.recording_place import Place
from tests.browser.projects import sound_project
from tests.insights.generated_archive import CLASSES, MODEL, SITES, make_archive


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive") / "<i>archive"
    make_archive(folder)
    return folder


def test_a_report_of_an_archive_is_self_contained_and_escaped(archive):
    text = make_report(open_source(archive=archive), Choice(threshold=0.3), place=Place(43.6, 3.9), utc_offset=60)
    body = text[text.index("<body>") :]
    assert "default-src 'none'" in text and text.count("Content-Security-Policy") == 1
    assert not re.findall(r"(?:src|href)=[\"']?(?!data:)[a-z]+:", body) and "<script src" not in text
    assert "<i>archive" not in body and "&lt;i&gt;archive" in body
    assert "<b>owl" not in body and "&lt;b&gt;owl&lt;/b&gt;" in body
    for part in ("Data and effort", "Calibration", "Sample check", "Versions", "duckdb", MODEL, "hours, 120 clips"):
        assert part in body
    for plot in ("Activity of all classes", "Daily rhythm of wren", "Sites and days", "Accumulation", "Probability"):
        assert f"<h3>{plot}</h3>" in body
    assert len(re.findall("Plotly.newPlot", body)) == body.count('class="plot"') > 10


def test_a_report_counts_its_parts_and_is_cancelled_by_an_exception(archive):
    source, steps = open_source(archive=archive), []
    make_report(source, progress=lambda step, of, info: steps.append((step, of)))
    assert [step for step, _ in steps] == sorted(step for step, _ in steps) and len(steps) > 10
    assert steps[-1][0] == steps[-1][1], "all parts were counted"
    steps.clear()

    def stop(step, of, info):
        steps.append(step)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        make_report(source, progress=stop)
    assert steps == [1]


def test_a_report_of_pictures_speaks_of_pictures(archive):
    source = replace(open_source(archive=archive), kind="picture")
    text = make_report(source, Choice(threshold=0.3))
    body = text[text.index("<body>") :]
    assert "Grey: no pictures." in body and "no picture" in body and "cameras' clocks" in html.unescape(body)
    assert "no recording" not in body and "recorder" not in body and "Days with a picture" in body


def test_the_command_writes_a_report_of_an_archive_and_of_a_project(archive, tmp_path, capsys):
    target = tmp_path / "survey.html"
    assert main(["report", str(archive), str(target), "--class", CLASSES[1], "--threshold", "0.2", "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["source"] == "archive" and outcome["threshold"] == 0.2
    assert "Robin&#x27;); DROP TABLE" in target.read_text()
    assert main(["report", str(archive), str(target)]) == 1, "an existing file is not replaced"
    assert main(["report", str(archive), str(tmp_path / "survey.txt")]) == 1
    assert main(["report", str(archive), str(tmp_path / "other.html"), "--class", "wolf"]) == 1
    with sound_project(tmp_path / "garden", (3,)) as project:
        folder = project.folder
    assert main(["report", str(folder), str(tmp_path / "garden.html")]) == 0
    capsys.readouterr()
    assert main(["report", str(archive), str(tmp_path / "checked.html"), "--sample", str(folder)]) == 1
    assert "has no sample of model" in capsys.readouterr().err and not (tmp_path / "checked.html").exists()
    text = (tmp_path / "garden.html").read_text()
    assert "No recording has a time." in text and "Trained at" in text and "Activity of" not in text


def test_cells_of_tables_are_no_formulas_and_have_the_effort(archive):
    source = open_source(archive=archive)
    found = activity(source, CLASSES[0], 0.0)
    lines = to_csv(activity_table(found)).decode("utf-8-sig").splitlines()
    assert lines[0] == "date,hour,detections,recorded_hours,clips"
    assert len(lines) - 1 == found.recorded.sum()
    hours = sum(float(line.split(",")[3]) for line in lines[1:])
    assert hours == pytest.approx(found.effort_s.sum() / 3600, rel=1e-4)


def test_counts_beside_a_checked_sample(archive):
    source = open_source(archive=archive)
    strata = [Stratum("wren", 0.4, 100, 4), Stratum("wren", 0.8, 900, 4), Stratum("gone", 0.8, 10, 2)]
    answers = ["wren", "", "wren", None, "wren", "wren", "wren", "wren", None, None]
    estimates = estimate_classes(strata, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2], answers)
    of = {one.class_name: one for one in checked_counts(source, estimates, 0.85)}
    assert of["wren"].threshold == 0.8 and of["wren"].precision.value == 1.0
    assert of["wren"].right.value == pytest.approx(900) and of["wren"].right.low < 900
    assert of["wren"].counted == _counted(source, 0.85)
    assert np.isnan(of["gone"].precision.value) and of["gone"].counted == 0
    low = {one.class_name: one for one in checked_counts(source, estimates, 0.1)}
    assert low["wren"].threshold is None and np.isnan(low["wren"].precision.value), "nothing is known so far down"
    lowest = float(min(row["probability"] for row in source.table.to_pylist() if row["label"] == 0)) - 1e-3
    estimates = estimate_classes([Stratum("wren", lowest, 100, 4)], [0] * 4, ["wren"] * 4)
    (alone,) = checked_counts(source, estimates, lowest / 2)
    assert alone.threshold == lowest and alone.precision.value == 1.0, "all detections are in the sample's strata"


def _counted(source, threshold):
    table = source.table.to_pandas()
    return int(((table["label"] == source.classes.index("wren")) & (table["probability"] >= threshold)).sum())


def test_the_sun_rises_by_the_clock_of_the_recorder(archive):
    source = open_source(archive=archive)
    assert clock_offset(source) is None and "which differ" in clock_text(source)
    assert clock_offset(replace(source, clocks={-210: 1.0})) == -210
    assert clock_offset(replace(source, clocks={5000: 1.0})) is None, "no clock is days ahead"
    days = np.arange("2024-06-20", "2024-06-23", dtype="datetime64[D]").astype(object).tolist()
    rise, sets = sun_times(Place(51.48, 0.0), days, 0)  # Greenwich: 03:43 and 20:21 UTC by almanacs
    assert rise == pytest.approx(3 + 43 / 60, abs=0.05) and sets == pytest.approx(20 + 21 / 60, abs=0.05)
    assert sun_times(Place(51.48, 0.0), days, 60)[0] == pytest.approx(rise + 1)
    assert np.isnan(sun_times(Place(80.0, 0.0), days, 0)).all(), "the sun does not set"


def test_sites_of_the_generated_archive_are_refused_as_classes(archive):
    with pytest.raises(BagtagError, match="no class"):
        make_report(open_source(archive=archive), Choice(SITES[1]))


@pytest.mark.parametrize(("n_days", "size"), [(10, 11), (400, 2)])
def test_points_to_click_are_as_narrow_as_the_cells(n_days, size):
    """Of points that overlap, Plotly takes the last one: a click would open a later day."""
    from miml_core.insights.activity import Activity
    from miml_core.insights.figures import activity_figure

    dates = np.datetime64("2024-01-01") + np.arange(n_days)
    ones = np.ones((n_days, 24), dtype=np.int64)
    figure = activity_figure(Activity(dates, np.arange(24), ones, 60.0 * ones, ones))
    (cells,) = [trace for trace in figure.data if trace.name == "cells"]
    assert cells.marker.size == size and cells.selected.marker.size == 11
