"""How far predictions can be trusted, on the Train page; accepting those above a threshold, with a question first."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.project import Project
from miml_core.project.db import settings
from pages.widgets import undo_offer
from tests.pages.conftest import press, texts


def ids_by_probability(project: Project) -> list[int]:
    """Return all segments, the surest prediction first."""
    found = [one for bag in project.bags.ids() for one in project.segments.list(bag)]
    return [one.id for one in sorted(found, key=lambda one: -one.prediction.probability)]


def n_above(project: Project, threshold: float) -> int:
    return sum(project.review.count_above(threshold).values())


def n_labelled(project: Project) -> int:
    return sum(one.label is not None for bag in project.bags.ids() for one in project.segments.list(bag))


def test_without_checks_the_model_speaks_for_itself(project, show):
    app = show(project, "train", train__threshold=0.6)
    shown = texts(app)
    assert "No prediction has been checked by eye yet" in shown
    assert f"At 0.60: {n_above(project, 0.6)} segments, about" in shown
    assert "By the model's own probabilities, as nothing has been checked yet." in shown


def test_checked_segments_are_compared_with_the_predictions(project, show):
    right, wrong = ids_by_probability(project)[:2]
    project.edits.accept([right])
    label = project.segments.get(wrong).prediction.top
    other = next(one.id for one in project.classes.list() if one.id != label)
    project.edits.set_label([wrong], other)
    app = show(project, "train")
    assert "From 2 segments that people checked" in texts(app) and "too few for a reliable estimate" in texts(app)
    metrics = {one.label: one.value for one in app.metric}
    assert metrics["Correct"] == "50\u202f%" and metrics["Checked"] == "2 segments"
    table = app.dataframe[-1].value
    assert table["predicted"].sum() == table["labelled"].sum() == 2
    assert set(table["precision"].dropna()) == {0.0, 100.0}
    n_checked = len(set(table["class"]) - {"background"})
    assert f"{n_checked} of {len(project.classes.list())} classes have checked segments" in texts(app)


def test_the_random_sample_is_preferred_and_said(project, show, monkeypatch):
    monkeypatch.setattr("miml_core.project.queries.checked_predictions.FEWEST_CHECKED", 3)
    ids = ids_by_probability(project)
    project.edits.accept(ids[:3], sampled=True)
    project.edits.accept(ids[5:10])
    assert "From 3 segments of the random sample" in texts(show(project, "train"))


def test_accepting_asks_first_and_can_be_undone(project, show):
    n = n_above(project, 0.6)
    assert n > 1
    app = show(project, "train", train__threshold=0.6)
    app = press(app, "Accept all of these …")
    assert n_labelled(project) == 0, "the first click only asks"
    (question,) = [one.value for one in app.warning if "without looking" in one.value]
    assert question.startswith(f"Accept {n} predictions without looking at them? Expect about")
    app = press(app, f"Accept {n}")
    assert n_labelled(project) == n
    assert project.progress().n_reviewed == 0, "nothing counts as checked by eye"
    assert "by threshold" in project.edits.history()[0].sentence
    press(app, "Undo")
    assert n_labelled(project) == 0


def test_the_question_lapses_with_another_threshold(project, show):
    app = press(show(project, "train", train__threshold=0.6), "Accept all of these …")
    app.slider(key="train.threshold").set_value(0.7).run()
    assert not [one for one in app.warning if "without looking" in one.value]
    assert [one.label for one in app.button if one.key == "train.accept"] == ["Accept all of these …"]


def test_nothing_is_accepted_if_the_predictions_changed_meanwhile(project, show):
    n = n_above(project, 0.6)
    app = press(show(project, "train", train__threshold=0.6), "Accept all of these …")
    project.edits.accept([ids_by_probability(project)[0]])
    (button,) = [one for one in app.button if one.label == f"Accept {n}"]
    button.click()
    app.run()
    assert n_labelled(project) == 1


def choose_like_run(project: Project) -> int:
    """Make a run current that predicts exactly what the current one does; return its id."""
    with project.store.write() as connection:
        columns = [row[1] for row in connection.exec_driver_sql("PRAGMA table_info(runs)") if row[1] != "id"]
        names = ", ".join(columns)
        connection.exec_driver_sql(f"INSERT INTO runs ({names}) SELECT {names} FROM runs ORDER BY id DESC LIMIT 1")
        run_id = connection.exec_driver_sql("SELECT max(id) FROM runs").scalar()
        for name in ("current_run", "summarised_run"):
            settings.put(connection, name, run_id)
    return run_id


@pytest.mark.parametrize("page_runs", [False, True])
def test_the_same_number_of_predictions_of_another_run_is_asked_about_again(project, show, page_runs):
    n = n_above(project, 0.6)
    app = press(show(project, "train", train__threshold=0.6), "Accept all of these …")
    earlier = project.runs.current().id
    assert choose_like_run(project) == project.runs.current().id != earlier and n_above(project, 0.6) == n
    if page_runs:
        app.run()
        assert not [one for one in app.warning if "without looking" in one.value], "the question lapsed"
    else:
        press(app, f"Accept {n}")
        assert "not of run" in app.toast[0].value
    assert n_labelled(project) == 0
    press(app, "Accept all of these …")
    press(app, f"Accept {n}")
    assert n_labelled(project) == n


def test_one_class_is_accepted_alone(project, show):
    above = project.review.count_above(0.5)
    class_id = max((one for one in above if one > 0), key=lambda one: above[one])
    app = show(project, "train", train__threshold=0.5)
    app.selectbox(key="train.threshold.class").set_value(class_id).run()
    assert f"At 0.50: {above[class_id]} segment" in texts(app)
    app = press(app, "Accept all of these …")
    press(app, f"Accept {above[class_id]}")
    labels = {one.label for bag in project.bags.ids() for one in project.segments.list(bag)}
    assert labels == {None, class_id}


@pytest.mark.parametrize("threshold", [0.5, 0.57, 0.7, 0.99, 1.0])
def test_the_number_on_screen_is_the_number_accepted(project, threshold):
    rng = np.random.default_rng(0)
    with project.store.write() as connection:
        for segment in ids_by_probability(project):
            value = float(np.round(rng.uniform(0.5, 1.0), 2))
            connection.exec_driver_sql("UPDATE predictions SET probability = ? WHERE segment_id = ?", (value, segment))
    waiting = project.review.open_predictions()
    assert waiting.counts[round(100 * threshold) :].sum() == n_above(project, threshold)
    assert waiting.counts.sum() == len(ids_by_probability(project))


def test_a_click_that_arrives_twice_is_undone_once(project, monkeypatch):
    monkeypatch.setattr("streamlit.session_state", {})
    undo_offer.keep_for_undo("accepted", project, project.edits.accept_above(0.6))
    entry = undo_offer.kept_for_undo("accepted", project).history_id
    undo_offer._undo_kept("accepted", project, entry)
    undo_offer._undo_kept("accepted", project, entry)
    assert [one.kind for one in project.edits.history(limit=2)] == ["undo", "act"]


def test_what_was_done_in_another_project_is_not_offered(project, monkeypatch, tmp_path):
    monkeypatch.setattr("streamlit.session_state", {})
    undo_offer.keep_for_undo("accepted", project, project.edits.accept_above(0.6))
    with Project.create(tmp_path / "other", kind="sound") as other:
        assert undo_offer.kept_for_undo("accepted", other) is None
