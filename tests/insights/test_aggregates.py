"""Aggregates by site, day, class, clip and probability against counting with pandas."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from miml_core.insights import Choice, open_source
from miml_core.insights.aggregates import (
    accumulation,
    class_sites,
    co_occurrence,
    per_clip,
    probability_histogram,
    site_days,
)
from miml_core.insights.rarefaction import mean_accumulation
from tests.insights.generated_archive import CLASSES, SITES, make_archive

CHOICES = [
    Choice(None, 0.0),
    Choice(CLASSES[1], 0.4),
    Choice(CLASSES[0], 0.7, (SITES[1],)),
    Choice(None, 0.5, None, date(2024, 5, 2), date(2024, 5, 3)),
    Choice(CLASSES[4], 0.2),
    Choice(None, 0.5, ()),
]


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """An archive, its detections and its clips."""
    folder = tmp_path_factory.mktemp("archive") / "archive"
    rows = make_archive(folder, seed=5, n_files=30)
    segments, clips = (pd.DataFrame(rows[name]) for name in ("segments", "clips"))
    for table in (segments, clips):
        table["day"] = pd.to_datetime(table["time"]).dt.date
    segments["clip"] = segments["file"] + "@" + segments["clip_start"].astype(str)
    clips["seconds"] = clips["end"] - clips["start"]
    return open_source(archive=folder), segments, clips


def chosen(table: pd.DataFrame, choice: Choice) -> pd.DataFrame:
    keep = pd.Series(True, index=table.index)
    if "class" in table:
        keep &= table["class"].notna() if choice.class_name is None else table["class"] == choice.class_name
        keep &= table["probability"] >= choice.threshold
    if choice.sites is not None:
        keep &= table["site"].isin(choice.sites)
    if choice.first_day is not None:
        keep &= table["day"].map(lambda day: day is not pd.NaT and choice.first_day <= day <= choice.last_day)
    return table[keep]


@pytest.mark.parametrize("choice", CHOICES)
def test_sites_and_days(survey, choice):
    source, segments, clips = survey
    found = site_days(source, choice)
    expected = chosen(segments, choice).groupby(["site", "day"]).size().to_dict()
    places = list(zip(*np.nonzero(found.counts)))
    assert {(found.sites[s], found.dates[d].astype(date)): found.counts[s, d] for s, d in places} == expected
    timed = chosen(clips, choice).dropna(subset=["day"])
    assert found.effort_s.sum() == pytest.approx(timed["seconds"].sum())
    assert found.clips.sum() == len(timed)
    assert not found.counts[~found.recorded].any()


@pytest.mark.parametrize("choice", CHOICES)
def test_classes_and_sites_have_what_has_no_time_as_well(survey, choice):
    source, segments, clips = survey
    found = class_sites(source, choice)
    expected = chosen(segments, replace(choice, class_name=None)).groupby(["class", "site"]).size().to_dict()
    places = list(zip(*np.nonzero(found.counts)))
    assert {(found.classes[c], found.sites[s]): found.counts[c, s] for c, s in places} == expected
    if choice.first_day is None:
        by_site = chosen(clips, choice).groupby("site")["seconds"].sum().to_dict()
        assert dict(zip(found.sites, found.effort_s)) == pytest.approx(by_site)
    else:
        assert found.effort_s.sum() < clips["seconds"].sum()


@pytest.mark.parametrize("choice", CHOICES)
def test_accumulation(survey, choice):
    source, segments, clips = survey
    found = accumulation(source, choice)
    heard = chosen(segments, replace(choice, class_name=None)).dropna(subset=["day"])
    for place, day in enumerate(found.dates.astype(object)):
        assert found.found[place] == heard[heard["day"] <= day]["class"].nunique()
    timed = chosen(clips, choice).dropna(subset=["day"])
    if len(found.dates):
        assert found.effort_s[-1] == pytest.approx(timed["seconds"].sum()) and found.clips[-1] == len(timed)
        assert found.mean_found[-1] == pytest.approx(found.found[-1])
        assert (np.diff(found.mean_found) >= -1e-9).all()


def test_the_mean_over_all_orders_of_days_is_exact():
    heard = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=bool)
    orders = list(permutations(range(4)))
    brute = np.mean([np.logical_or.accumulate(heard[:, list(order)], axis=1).sum(axis=0) for order in orders], axis=0)
    np.testing.assert_allclose(mean_accumulation(heard.sum(axis=1), 4), brute)


@pytest.mark.parametrize("choice", CHOICES)
def test_classes_together_in_a_clip(survey, choice):
    source, segments, clips = survey
    found = co_occurrence(source, choice)
    heard = chosen(segments, replace(choice, class_name=None)).groupby("clip")["class"].agg(set)
    for a, first in enumerate(CLASSES):
        for b, second in enumerate(CLASSES):
            assert found.counts[a, b] == sum({first, second} <= names for names in heard)
    if choice.first_day is None:
        assert found.n_clips == len(chosen(clips, choice))


@pytest.mark.parametrize("choice", CHOICES)
def test_probabilities_below_the_threshold_are_in_the_histogram(survey, choice):
    source, segments, _ = survey
    found = probability_histogram(source, choice)
    everything = chosen(segments, replace(choice, threshold=0.0))
    np.testing.assert_array_equal(found.counts, np.histogram(everything["probability"], found.edges)[0])
    assert found.threshold == choice.threshold and found.n_checked == 0


@pytest.mark.parametrize("choice", CHOICES)
def test_clips_without_detections_are_counted(survey, choice):
    source, segments, clips = survey
    found = per_clip(source, choice)
    sizes = chosen(segments, choice).groupby("clip").size()
    for number in found.numbers[1:]:
        assert found.clips[number] == (sizes == number).sum()
    if choice.first_day is None:
        assert found.clips.sum() == len(chosen(clips, choice))
