"""Check and repair: computed numbers are corrected, tags and labels of people are never changed."""

from __future__ import annotations

import pytest

from miml_core.project import Project
from tests.project.test_history import state


def kinds(project: Project, *, repair: bool = False) -> list[str]:
    return [problem.kind for problem in project.check(repair=repair)]


def break_it(project: Project, *statements: str) -> None:
    with project.store.write() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def test_a_sound_project_has_nothing_to_repair(predicted: Project) -> None:
    predicted.edits.set_label(1, 2)
    before = state(predicted)
    _with_model_file(predicted)
    assert kinds(predicted, repair=True) == []
    assert state(predicted) == before


def test_numbers_and_leftovers_are_put_right(predicted: Project) -> None:
    predicted.edits.set_label(1, 2)
    _with_model_file(predicted)
    before = state(predicted)
    break_it(
        predicted,
        "UPDATE bags SET n_segments = n_segments + (CASE id WHEN 1 THEN 1 ELSE -1 END), doubt = 0.5",
        "UPDATE meta SET value = '0' WHERE key = 'summarised_run'",
        "UPDATE features SET numbers = x'00' WHERE bag_id = 2",
        "INSERT INTO media (path, size, fingerprint, missing) VALUES ('nobody.wav', 1, 'x', 0)",
    )
    (predicted.folder / "logs").mkdir()
    (predicted.folder / "logs" / "job-99.txt").write_text("")
    (predicted.folder / "project.db.new").write_text("")
    found = ["orphan", "missing", "features", "counters", "queue", "leftover", "leftover"]
    assert kinds(predicted) == found
    assert all(problem.repaired for problem in predicted.check(repair=True))
    assert kinds(predicted) == []
    assert state(predicted) == before
    assert predicted.segments.n_to_describe() == 1


def test_a_label_without_its_tag_gets_the_tag(small: Project) -> None:
    small.edits.set_label(1, 2)
    break_it(small, "DELETE FROM tags")
    assert kinds(small, repair=True) == ["labels"]
    assert small.bags.get(1).tags == {2: 1} and small.segments.get(1).label == 2
    assert kinds(small) == []


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("DELETE FROM predictions WHERE bag_id = 2", ["queue"]),
        ("DROP INDEX review_least_sure", ["queue"]),
        ("UPDATE bag_predictions SET posterior = x'00' WHERE bag_id = 1", ["predictions"]),
        ("UPDATE bag_predictions SET free_top = x'00' WHERE bag_id = 1", ["predictions"]),
        ("UPDATE meta SET value = '99' WHERE key = 'current_run'", ["run", "queue"]),
    ],
)
def test_predictions_that_do_not_fit_together_are_put_right(predicted: Project, damage: str, found: list[str]) -> None:
    predicted.edits.set_label(1, 2)
    _with_model_file(predicted)
    earlier = state(predicted)
    queue = [item.segment_id for item in predicted.review.queue(limit=100)]
    break_it(predicted, damage)
    assert kinds(predicted) == found
    assert all(problem.repaired for problem in predicted.check(repair=True))
    assert kinds(predicted) == []
    now = state(predicted)
    assert all(now[table] == earlier[table] for table in ("tags", "verdicts", "segments", "classes"))
    left = [item.segment_id for item in predicted.review.queue(limit=100)]
    assert left == (queue if found != ["predictions"] else [segment for segment in queue if segment > 5])


def test_a_damaged_shape_is_named(small: Project) -> None:
    break_it(small, "UPDATE segments SET region = x'0102' WHERE id = 3")
    (problem,) = small.check(repair=True)
    assert problem.kind == "damaged" and not problem.repaired and "segment 3 of 'clip 0.wav'" in problem.sentence


def test_missing_files_and_models_are_reported(predicted: Project) -> None:
    predicted.media.path(1).unlink()
    assert sorted(kinds(predicted, repair=True)) == ["missing", "model"]


def _with_model_file(project: Project) -> None:
    folder = project.folder / "runs" / "1"
    folder.mkdir(parents=True)
    (folder / "model.npz").write_bytes(b"a model")
