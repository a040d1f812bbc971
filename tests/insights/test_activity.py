"""Activity by date and hour against counting one by one: archives, projects, and the effort of both."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import pytest

from miml_core.errors import BagtagError
from miml_core.insights import Choice, activity, daily_rhythm, open_source
from tests.insights.generated_archive import CLASSES, MODEL, SITES, make_archive


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """An archive and all its rows."""
    folder = tmp_path_factory.mktemp("archive") / "archive"
    rows = make_archive(folder)
    return open_source(archive=folder), rows


def counted(rows, class_name, threshold, sites=tuple(SITES), first=None, last=None):
    """Count detections by (date, hour), one by one."""
    counts: dict = {}
    for row in rows["segments"]:
        of_class = row["class"] is not None if class_name is None else row["class"] == class_name
        if not of_class or row["probability"] < threshold or row["site"] not in sites or row["time"] is None:
            continue
        day = row["time"].date()
        if (first is None or day >= first) and (last is None or day <= last):
            key = (day, row["time"].hour)
            counts[key] = counts.get(key, 0) + 1
    return counts


def recorded(rows, sites=tuple(SITES)):
    """Add up recorded seconds by (date, hour), second by second."""
    seconds: dict = {}
    for row in rows["clips"]:
        if row["time"] is not None and row["site"] in sites:
            for second in range(round(row["end"] - row["start"])):
                moment = row["time"] + timedelta(seconds=second)
                key = (moment.date(), moment.hour)
                seconds[key] = seconds.get(key, 0) + 1
    return seconds


def as_dict(found, values):
    places = zip(*np.nonzero(values))
    return {(found.dates[day].astype(date), int(hour)): values[day, hour] for day, hour in places}


@pytest.mark.parametrize("class_name", [*CLASSES, None])
@pytest.mark.parametrize("threshold", [0.0, 0.6])
def test_activity_is_what_counting_one_by_one_gives(survey, class_name, threshold):
    source, rows = survey
    found = activity(source, class_name, threshold)
    assert as_dict(found, found.counts) == counted(rows, class_name, threshold)
    assert as_dict(found, found.effort_s) == pytest.approx(recorded(rows))
    assert found.clips.sum() == sum(row["time"] is not None for row in rows["clips"])
    assert found.counts.shape == (len(found.dates), 24) and (np.diff(found.dates).astype(int) == 1).all()
    assert not found.counts[~found.recorded].any(), "nothing is heard where nothing was recorded"


def test_a_choice_of_sites_and_days(survey):
    source, rows = survey
    first, last = date(2024, 5, 2), date(2024, 5, 3)
    choice = Choice(CLASSES[1], 0.3, (SITES[1],), first, last)
    found = activity(source, choice=choice)
    assert as_dict(found, found.counts) == counted(rows, CLASSES[1], 0.3, (SITES[1],), first, last)
    expected = {key: value for key, value in recorded(rows, (SITES[1],)).items() if first <= key[0] <= last}
    assert as_dict(found, found.effort_s) == pytest.approx(expected)


def test_a_recording_across_midnight_counts_on_both_days(survey):
    source, rows = survey
    late = [row for row in rows["clips"] if row["time"] and row["time"].hour == 23 and row["time"].minute == 59]
    assert late, "the generated survey has some"
    found, expected = activity(source, None, 0.0), recorded(rows)
    effort = as_dict(found, found.effort_s)
    for row in late:
        day = row["time"].date()
        for key in ((day, 23), (day + timedelta(days=1), 0)):
            assert effort[key] == pytest.approx(expected[key])


def test_the_daily_rhythm_is_per_recorded_hour(survey):
    source, rows = survey
    found = daily_rhythm(source, CLASSES[0], 0.2)
    of_hour = lambda counts, hour: sum(value for key, value in counts.items() if key[1] == hour)  # noqa: E731
    counts, seconds = counted(rows, CLASSES[0], 0.2), recorded(rows)
    for hour in range(24):
        if of_hour(seconds, hour):
            assert found.rate[hour] == pytest.approx(3600 * of_hour(counts, hour) / of_hour(seconds, hour))
        else:
            assert np.isnan(found.rate[hour]), "no recording is not silence"


def test_what_has_no_time_is_counted_and_clocks_are_stated(survey):
    source, rows = survey
    files = {row["file"]: row["time"] is not None for row in rows["clips"]}
    assert (source.n_files, source.n_files_without_time) == (len(files), sum(not one for one in files.values()))
    clocks: dict = {}
    for row in rows["clips"]:
        if row["time"] is not None:
            clocks[row["utc_offset"]] = clocks.get(row["utc_offset"], 0.0) + row["end"] - row["start"]
    assert source.clocks == pytest.approx(clocks)
    assert set(source.sites) == set(SITES) and source.classes == tuple(CLASSES)


def test_an_unknown_class_and_a_folder_that_is_no_archive_are_refused(survey, tmp_path):
    with pytest.raises(BagtagError, match="no class 'wolf'"):
        activity(survey[0], "wolf")
    with pytest.raises(BagtagError, match="has no results of a model"):
        open_source(archive=tmp_path)


def test_an_empty_archive_has_nothing(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / f"{MODEL}.bagtag").write_bytes(b"")
    found = activity(open_source(archive=tmp_path))
    assert found.counts.shape == found.effort_s.shape == (0, 24)


def test_files_that_are_no_results_are_refused_by_name(tmp_path):
    make_archive(tmp_path / "archive", n_files=2)
    some = next((tmp_path / "archive" / "segments").glob("*/*/*.parquet"))
    content = some.read_bytes()
    some.write_bytes(b"PAR1 something else")
    with pytest.raises(BagtagError, match=r"segments/.*is not a result"):
        open_source(archive=tmp_path / "archive")
    (tmp_path / "elsewhere.parquet").write_bytes(content)
    some.unlink()
    some.symlink_to(tmp_path / "elsewhere.parquet")
    with pytest.raises(BagtagError, match="is a link"):
        open_source(archive=tmp_path / "archive")
