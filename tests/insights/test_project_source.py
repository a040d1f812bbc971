"""A project as a source: labels before predictions, times of recorders only, sites, bags that nobody analysed."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import text

from miml_core.bags import BACKGROUND
from miml_core.insights import activity, open_source
from miml_core.media.image import image_info
from miml_core.project import Project
from tests.browser.projects import BIRDS, SECONDS, picture_project, sound_project

TIMES = {1: "2024-05-01T23:59:55+02:00", 2: "2024-05-03T04:10:00", 3: "2024-05-03T04:30:00", 4: "2024-05-03T05:00:00"}


@pytest.fixture(scope="module")
def garden(tmp_path_factory):
    """Three timed recordings of two sites, one with only a file time, one without segments' labels or predictions."""
    with sound_project(tmp_path_factory.mktemp("garden") / "garden", (6, 5, 4, 3)) as project:
        with project.store.write() as connection:
            for bag, time in TIMES.items():
                source = "file time" if bag == 4 else "file name"
                connection.execute(text("UPDATE bags SET recorded_at = :t WHERE id = :b"), {"t": time, "b": bag})
                changes = {"m": bag, "s": source, "p": f"../{'hill' if bag == 2 else 'marsh'}/{bag}.wav"}
                connection.execute(text("UPDATE media SET recorded_from = :s, path = :p WHERE id = :m"), changes)
        yield project


def rows_of(project: Project) -> list[tuple]:
    """Return (class name, probability, checked by eye, time or None) of all segments with a class."""
    names = {one.id: one.name for one in project.classes.list()}
    found = []
    for bag_id, began in TIMES.items():
        for one in project.segments.list(bag_id):
            guess = one.prediction
            label = one.label if one.label is not None else guess.top if guess else BACKGROUND
            time = datetime.fromisoformat(began).replace(tzinfo=None) + timedelta(seconds=one.left)
            if label in names:
                probability = guess.probability if guess else 0.0
                found.append((names[label], probability, one.reviewed, None if bag_id == 4 else time))
    return found


def check(project: Project, threshold: float) -> None:
    source, rows = open_source(project=project), rows_of(project)
    for name in (*BIRDS, None):
        found = activity(source, name, threshold)
        expected: dict = {}
        for label, probability, by_eye, time in rows:
            if time is not None and name in (None, label) and (by_eye or probability >= threshold):
                key = (np.datetime64(time.date()), time.hour)
                expected[key] = expected.get(key, 0) + 1
        counted = {(found.dates[d], int(h)): int(found.counts[d, h]) for d, h in zip(*np.nonzero(found.counts))}
        assert counted == expected


def test_counts_are_those_of_labels_and_else_of_predictions(garden):
    check(garden, 0.5)
    first, second, third, *_ = [one.id for one in garden.segments.list(1)]
    other = garden.classes.list()[1].id
    garden.edits.set_label([first], other)
    garden.edits.set_label([second], BACKGROUND)
    garden.edits.delete([third])
    garden.edits.accept_above(0.6)
    check(garden, 0.5)
    check(garden, 0.99)


def test_effort_sites_and_clocks(garden):
    source = open_source(project=garden)
    found = activity(source)
    assert found.dates.astype(str).tolist() == ["2024-05-01", "2024-05-02", "2024-05-03"]
    assert found.effort_s[0, 23] == pytest.approx(5) and found.effort_s[1, 0] == pytest.approx(SECONDS - 5)
    assert found.effort_s[2, 4] == pytest.approx(2 * SECONDS) and found.effort_s.sum() == pytest.approx(3 * SECONDS)
    assert source.sites == ("hill", "marsh")
    assert source.clocks == pytest.approx({120: SECONDS, None: 2 * SECONDS})
    assert (source.n_files, source.n_files_without_time) == (4, 1)


def test_bags_without_predictions_are_no_effort(garden):
    with garden.store.write() as connection:
        connection.execute(text("DELETE FROM predictions WHERE bag_id = 3"))
        connection.execute(text("DELETE FROM verdicts WHERE segment_id IN (SELECT id FROM segments WHERE bag_id = 3)"))
    source = open_source(project=garden)
    assert activity(source).effort_s.sum() == pytest.approx(2 * SECONDS)
    assert "1 of 4 bags" in source.notes[0]


def test_overlapping_bags_count_once_if_the_earlier_one_was_analysed(tmp_path):
    with sound_project(tmp_path / "garden", (3, 2)) as project:
        with project.store.write() as connection:
            late = {"s": SECONDS / 2, "e": 1.5 * SECONDS}
            connection.execute(text('UPDATE bags SET media_id = 1, start = :s, "end" = :e WHERE id = 2'), late)
        assert open_source(project=project).effort_table["seconds"].to_pylist() == [pytest.approx(1.5 * SECONDS)]
        with project.store.write() as connection:
            connection.execute(text("DELETE FROM predictions WHERE bag_id = 1"))
            connection.execute(text("DELETE FROM verdicts"))
        assert open_source(project=project).effort_table["seconds"].to_pylist() == [pytest.approx(SECONDS)]


def test_an_empty_project_and_pictures(tmp_path):
    with Project.create(tmp_path / "empty") as empty:
        source = open_source(project=empty)
        assert len(activity(source).dates) == 0 and source.sites == ()
    with picture_project(tmp_path / "meadow") as meadow:
        with meadow.store.write() as connection:
            connection.execute(text("UPDATE bags SET recorded_at = '2024-06-01T10:30:00'"))
            connection.execute(text("UPDATE media SET recorded_from = 'camera'"))
        found = activity(open_source(project=meadow), None, 0.0)
        assert found.clips[0, 10] == found.clips.sum() == 2 and found.recorded.sum() == 1
        assert found.counts.sum() > 0


def test_pictures_have_the_site_of_their_gps_entries(tmp_path):
    for number, west in enumerate(("E", "W")):
        picture = Image.new("RGB", (64, 48), (number * 90, 120, 60))
        exif = picture.getexif()
        exif[0x0132] = f"2024:06:01 1{number}:30:00"
        gps = {1: "N", 2: (43.0, 36.0, 43.2), 3: west, 4: (3.0, 52.0, 37.99)}
        exif.get_ifd(0x8825).update(gps)
        picture.save(tmp_path / f"{number}.jpg", exif=exif)
    place = image_info(tmp_path / "1.jpg").place
    assert place is not None and (place.latitude, place.longitude) == pytest.approx((43.612, -3.87722), abs=1e-4)
    with Project.create(tmp_path / "project", kind="picture") as meadow:
        meadow.media.add(sorted(tmp_path.glob("*.jpg")))
        source = open_source(project=meadow)
    assert source.sites == ("43.612, -3.877", "43.612, 3.877")
    assert (source.n_files, source.n_files_without_time) == (2, 0)
