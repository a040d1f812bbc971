"""The survey demo: exact plans, the same files after interruptions, and activity that follows the known rhythms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from miml_core.__main__ import main
from miml_core.archive.run import ApplyOptions
from miml_core.demo.calls import RATE, SPECIES
from miml_core.demo.survey import files
from miml_core.demo.survey.chain import choose_clips, run_survey
from miml_core.demo.survey.files import make_recordings
from miml_core.demo.survey.plan import SurveyPlan
from miml_core.demo.survey.report import correlation
from miml_core.demo.survey.rhythms import SURVEY_SITES, SURVEY_SPECIES
from miml_core.demo.survey.sounds import SurveySounds, to_flac
from miml_core.demo.survey.truth import SurveyTruth
from miml_core.demo.unfinished import is_unfinished
from miml_core.errors import BagtagError
from miml_core.insights import activity, open_source
from miml_core.media.audio import audio_info
from miml_core.project import Project
from tests.project.job_stages import forked_workers

SMALL = SurveyPlan(hours=0.4, days=3, sites=2, seed=0)
TINY = SurveyPlan(hours=0.16, days=2, sites=1, seed=0)
PER_CLASS = 20


class _Stop(Exception):
    pass


def seconds_of(plan):
    return sum(one.seconds for one in plan.recordings)


def test_a_plan_has_the_hours_days_and_sites_that_were_asked_for():
    plan = SurveyPlan()
    assert 50 <= seconds_of(plan) / 3600 < 51
    assert {one.site for one in plan.recordings} == {0, 1, 2}
    assert len({one.start.date() for one in plan.recordings}) == 10
    effort = np.zeros((3, 24))  # seconds by site and hour of day
    for one in plan.recordings:
        effort[one.site, one.start.hour] += one.seconds
    assert effort.sum() == seconds_of(plan)
    assert (effort[0, 4:10] == 2 * effort[0, 0]).all() and (effort[0, 10:] == effort[0, 0]).all()
    assert (effort[1] - effort[2] == effort[1] / 10).all(), "one recorder stopped for a day"
    assert len({one.file for one in plan.recordings}) == len(plan.recordings)
    clips = choose_clips(plan, 60)
    assert len({(one.number, start) for one, start in clips}) == 60
    assert set(Counter(one.site for one, _ in clips).values()) <= {18, 19, 20, 21}
    assert len({one.start.hour for one, _ in clips}) == 24


@pytest.mark.parametrize("wrong", [{"hours": 0}, {"hours": 60, "days": 1, "sites": 1}, {"sites": 9}, {"days": 0}])
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(BagtagError, match=r"not possible|do not fit"):
        SurveyPlan(**wrong)


def test_rhythms_differ_and_every_site_lacks_a_species():
    curves = np.array([one.hourly() for one in SURVEY_SPECIES])
    assert ((curves >= 0) & (curves <= 1)).all() and curves.max(axis=1).min() > 0.9
    alike = np.corrcoef(curves) - 2 * np.eye(len(curves))
    assert alike.max() < 0.8, "a curve is recognised as that of its species"
    assert {one.name for one in SURVEY_SPECIES} <= {one.name for one in SPECIES}
    assert all(len(site.common) == len(SURVEY_SPECIES) and 0.0 in site.common for site in SURVEY_SITES)


def stored(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_files_after_interruptions(tmp_path):
    make_recordings(tmp_path / "whole", TINY)
    continued = tmp_path / "continued"

    def stop_at(seconds):
        def progress(done, of, info):
            assert 0 <= done <= of == seconds_of(TINY)
            if done >= seconds:
                raise _Stop

        return progress

    for share in (0.2, 0.7):
        with pytest.raises(_Stop):
            make_recordings(continued, TINY, stop_at(share * seconds_of(TINY)))
    first_day = {path: path.stat().st_mtime_ns for path in continued.glob("recordings/*/20250512_*.flac")}
    assert len(first_day) == 24
    make_recordings(continued, TINY)
    assert {path: path.stat().st_mtime_ns for path in first_day} == first_day, "not generated twice"
    assert stored(continued) == stored(tmp_path / "whole")
    with pytest.raises(BagtagError, match=r"has a survey of 0\.16 hours, 2 days, 1 sites and seed 0"):
        make_recordings(continued, SurveyPlan(0.16, 2, 1, seed=1))

    for recording in TINY.recordings:
        info = audio_info(continued / "recordings" / recording.file)
        assert (info.recorded_at, info.recorded_from) == (recording.start, "file name")
        assert (info.duration, info.rate, info.channels) == (recording.seconds, RATE, 1)
    other = SurveySounds(SurveyPlan(0.16, 2, 1, seed=1)).make(TINY.recordings[5])[0]
    assert to_flac(other) != (continued / "recordings" / TINY.recordings[5].file).read_bytes()


def test_calls_are_where_the_truth_has_them(tmp_path):
    """The band and time of a call have more energy than the same band at other times."""
    sounds = SurveySounds(SMALL)
    recording = next(one for one in SMALL.recordings if one.start.hour == 5)
    samples, calls = sounds.make(recording)
    assert np.abs(samples).max() < 1 and calls
    for call in calls:
        assert 0 <= call.start < call.end <= recording.seconds
        inside = samples[int(call.start * RATE) : int(call.end * RATE)]
        power = np.abs(np.fft.rfft(inside)) ** 2
        hertz = np.fft.rfftfreq(len(inside), 1 / RATE)
        assert power[(hertz >= call.low) & (hertz <= call.high)].sum() > 0.3 * power[hertz > 500].sum()


def test_a_full_disk_is_said_before_anything_is_generated(tmp_path, monkeypatch):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 1e9}))
    with pytest.raises(BagtagError, match=r"1\.0 GB of free space, but the survey needs up to 2\.7 GB"):
        make_recordings(tmp_path / "survey", SurveyPlan())
    assert not (tmp_path / "survey" / "recordings").exists()


def test_a_person_hears_what_is_in_the_clip_and_names_what_fills_a_segment():
    boxes = np.array([[1.0, 2.0, 2000.0, 3000.0], [9.9, 11.0, 4000.0, 6000.0]])
    truth = SurveyTruth(["wren", "robin"], {"a": (np.array([0, 1]), boxes)})
    assert truth.heard("a", 0.0, 10.0) == ["wren"], "a tenth of a second of a call is not heard"
    assert truth.heard("a", 10.0, 20.0) == ["robin"]
    segments = [(1.2, 1.8, 2100.0, 2900.0), (9.0, 11.0, 2000.0, 6000.0), (5.0, 6.0, 2000.0, 3000.0)]
    assert truth.labels("a", segments) == ["wren", "robin", None]


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory):
    """A small survey whose chain was stopped in several stages, and what it reports at the end."""
    folder = tmp_path_factory.mktemp("survey") / "demo"
    truth, hidden = folder / "truth", folder.parent / "hidden"
    titles: list[str] = []

    def stop_in(stage):
        def progress_of(title):
            def progress(step, of, info):
                assert 0 <= step <= of
                if title == stage and step > 0.3 * of:
                    raise _Stop

            titles.append(title)
            if title == "detect segments":
                truth.rename(hidden)
            elif title == "draw a sample":
                hidden.rename(truth)
            return progress

        return progress_of

    options = ApplyOptions(in_process=True)
    with forked_workers():
        for stage in ("generate recordings", "tag clips", "apply the model", "draw a sample"):
            with pytest.raises(_Stop):
                run_survey(folder, SMALL, stop_in(stage), per_class=PER_CLASS, options=options)
            assert titles[-1] == stage and is_unfinished(folder)
            if hidden.exists():
                hidden.rename(truth)
        report = run_survey(folder, SMALL, stop_in(None), per_class=PER_CLASS, options=options)
    assert not is_unfinished(folder)
    return folder, report


@pytest.mark.slow
def test_activity_follows_the_known_rhythms(survey):
    _, report = survey
    assert report.hours == pytest.approx(seconds_of(SMALL) / 3600) and report.files == len(SMALL.recordings)
    assert report.correlation >= 0.9
    assert {one.name for one in report.species} == {one.name for one in SURVEY_SPECIES}
    curves = np.array([one.activity for one in report.species])
    for one in report.species:
        assert one.correlation >= 0.8, one.name
        others = [correlation(one.activity, other.hourly()) for other in SURVEY_SPECIES if other.name != one.name]
        assert one.correlation > max(others), one.name
        assert one.found >= 0.85, one.name
    assert curves.shape == (len(SURVEY_SPECIES), 24)
    assert report.intervals == 12 and report.covered >= 9


@pytest.mark.slow
def test_the_effort_is_exactly_what_was_recorded(survey):
    folder, _ = survey
    source = open_source(archive=folder / "archive")
    found = activity(source)
    assert source.n_files_without_time == 0 and source.n_files == len(SMALL.recordings)
    expected = np.zeros((3, 24))
    for one in SMALL.recordings:
        expected[(one.start - SMALL.recordings[0].start).days, one.start.hour] += one.seconds
    np.testing.assert_allclose(found.effort_s, expected)
    assert [str(day) for day in found.dates] == ["2025-05-12", "2025-05-13", "2025-05-14"]
    assert set(source.sites) == {"alder-carr", "heath"}


@pytest.mark.slow
def test_the_project_has_tagged_clips_and_checked_detections(survey):
    folder, report = survey
    with Project.open(folder) as project:
        assert project.check() == []
        assert project.progress().n_finished == 60
        assert project.review.sizes()["archive"] == 0
        assert project.runs.current().n_bags == 60, "the sample was drawn after the training"
        assert project.place == SURVEY_SITES[0].place
        checked = project.review.checked_accuracy()
    assert checked.n == sum(one.checked for one in report.species) >= 5 * PER_CLASS


@pytest.mark.slow
def test_the_command_shows_a_complete_survey_again(survey, capsys):
    folder, report = survey
    words = ["demo", str(folder), "--survey", "--hours", "0.4", "--days", "3", "--sites", "2"]
    assert main([*words, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["correlation"] == report.correlation
    pairs = [one[name] for one in again["species"] for name in ("precision", "count")]
    assert sum(pair["is_covered"] for pair in pairs) == again["covered"] == report.covered
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "Copper trill" in text and f"r = {report.correlation:.3f}" in text
    assert "Learning saw the tags only" in text and str(folder / "archive") in text
    assert main([*words, "--seed", "5"]) == 1
    assert main([*words, "--kind", "picture"]) == 1
    assert "leave out --kind" in capsys.readouterr().err


def test_other_projects_are_left_alone(tmp_path):
    Project.create(tmp_path / "mine").close()
    with pytest.raises(BagtagError, match="not a survey"):
        run_survey(tmp_path / "mine", TINY)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("mine")
    with pytest.raises(BagtagError, match="other files"):
        run_survey(tmp_path / "other", TINY)
