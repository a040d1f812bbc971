"""A segmenter is trained on the edits of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from miml_core.bags import BACKGROUND
from miml_core.project import Job, Project
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs import worker
from miml_core.project.queries import segmenter_examples
from miml_core.project.records import Segment
from tests.project.conftest import add_bags, ring
from tests.project.sounds import write_recordings

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture(autouse=True)
def no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miml_core.project.jobs.queue._launch", lambda store, job_id: None)


def do(project: Project, kind: Any, params: dict[str, Any] | None = None) -> Job:
    """Run a job in this process."""
    job = project.jobs.start(kind, params)
    with project.store.write() as connection:
        assert job_queue.claim(connection, job.id)
    worker.main(str(project.folder), job.id)
    return project.jobs.get(job.id)


def is_low(segment: Segment) -> bool:
    return (segment.low + segment.high) / 2 < 3000


def judge_all(project: Project, bag_ids: list[int]) -> None:
    """Delete low sounds, and label the others with the class."""
    for bag_id in bag_ids:
        for segment in project.segments.list(bag_id):
            if is_low(segment):
                project.edits.delete(segment.id)
            else:
                project.edits.set_label(segment.id, 1)


def test_what_counts_as_kept_and_as_deleted(project: Project) -> None:
    (bag,) = add_bags(project, 1, n_segments=9)
    project.edits.add_class("Wren")
    assert project.segments.segmenter_examples() == segmenter_examples.SegmenterExamples(0, 0)
    project.edits.set_label(1, 1)
    project.edits.set_label(2, BACKGROUND)
    project.edits.delete(3)
    project.edits.draw(bag, [ring(9.2, 9.8, 7000, 7900)])
    assert project.segments.segmenter_examples() == segmenter_examples.SegmenterExamples(2, 2)
    project.edits.merge([4, 5])
    project.edits.split(6, [(5.4, 0), (5.4, 8000)])
    assert project.segments.segmenter_examples() == segmenter_examples.SegmenterExamples(5, 2), (
        "merged and cut is not deleted"
    )
    with project.store.read() as connection:
        assert segmenter_examples.by_bag(connection)[bag][2] is False
    project.edits.set_label([7, 8, 9], 1)
    with project.store.read() as connection:
        assert segmenter_examples.by_bag(connection)[bag][2] is True, "now every segment has been judged"
    assert not project.segments.segmenter_examples().enough


def test_too_little_is_refused_in_a_sentence(small: Project) -> None:
    small.edits.set_label(1, 1)
    job = do(small, "learn-segmenter")
    assert job.state == "failed" and "there are 1 and 0" in job.message
    assert small.settings.learned_segmenter is None


def test_edits_are_learnt_and_used_for_other_bags(project: Project, tmp_path: Path) -> None:
    write_recordings(tmp_path / "sound", 12)
    do(project, "import", {"paths": [str(tmp_path / "sound")]})
    do(project, "segment", {"processes": 1})
    project.edits.add_class("Wren")
    *judged, new = project.bags.ids()
    judge_all(project, judged)
    before, key = project.segments.list(new), project.settings.segment_key
    job = do(project, "learn-segmenter")
    assert job.state == "done", job.message
    assert project.settings.learned_segmenter == "segmenters/1.npz"
    assert (project.folder / "segmenters" / "1.npz").is_file()
    assert project.settings.segment_key != key and not project.bags.get(new).segmented
    assert project.segments.list(new) == before, "nothing stored changes by learning"
    do(project, "segment", {"bags": [new]})
    found = project.segments.list(new)
    assert {segment.origin for segment in found} == {"learned"}
    assert not any(map(is_low, found)) and len(found) >= sum(not is_low(segment) for segment in before)
    assert any(map(is_low, before)), "there was something to learn"
    do(project, "learn-segmenter")
    assert project.settings.learned_segmenter == "segmenters/2.npz"


def test_a_segmenter_that_went_missing_is_named(project: Project, tmp_path: Path) -> None:
    from dataclasses import replace

    write_recordings(tmp_path / "sound", 1)
    do(project, "import", {"paths": [str(tmp_path / "sound")]})
    project.set_settings(replace(project.settings, learned_segmenter="segmenters/7.npz"))
    job = do(project, "segment", {"processes": 1})
    (failure,) = project.jobs.failures(job.id)
    assert "no learned segmenter" in failure.reason and "7.npz" in failure.reason
