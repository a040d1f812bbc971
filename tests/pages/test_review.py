"""The review's lists, side panel and retraining."""

import numpy as np

from miml_core import BACKGROUND
from pages.widgets import steady_queue
from tests.pages.conftest import press, texts


def items(canvases):
    return canvases["review.canvas"].queue


def test_the_least_sure_come_first(project, show, canvases):
    show(project, "review")
    wanted = [(one.bag_id, one.segment_id) for one in project.review_queue("least_sure", limit=100)]
    assert items(canvases) == wanted
    assert (canvases["review.canvas"].bag_id, canvases["review.canvas"].segment_id) == wanted[0]
    assert canvases["review.canvas"].sampled is False


def test_the_list_stays_while_a_person_works(project, show, canvases):
    app = show(project, "review")
    before = list(items(canvases))
    project.correct(before[0][1], BACKGROUND)
    app.run()
    assert items(canvases) == before
    press(app, "New list")
    assert items(canvases) == before[1:]


def test_the_random_sample_counts_for_accuracy(project, show, canvases):
    app = show(project, "review")
    app.segmented_control(key="review.order").set_value("random").run()
    assert canvases["review.canvas"].sampled is True
    assert sorted(items(canvases)) == sorted((s.bag_id, s.id) for b in project.bag_ids() for s in project.segments(b))


def test_one_species_most_doubtful_first(project, show, canvases):
    app = show(project, "review")
    app.segmented_control(key="review.order").set_value("class").run()
    species = app.selectbox(key="review.species").value
    wanted = [one.segment_id for one in project.review_queue("class", class_id=species)]
    assert [segment for _, segment in items(canvases)] == wanted if wanted else "Nothing left" in texts(app)


def test_accuracy_is_shown_with_its_interval(project, show):
    for item in project.review_queue("random", limit=3):
        project.accept(item.segment_id, sampled=True)
    app = show(project, "review")
    assert {one.label: one.value for one in app.metric}["Accuracy"] == "100\u202f%"
    assert "44\u202f% to 100\u202f% (95 %), from a random sample of 3" in texts(app)


def test_retraining_runs_beside_the_review_like_the_current_run(project, show, canvases):
    app = show(project, "review")
    before = list(items(canvases))
    press(app, "Retrain")
    (job,) = project.jobs()
    assert job.kind == "train" and job.params["model"] == project.current_run().model
    assert items(canvases) == before
    assert next(button for button in app.button if button.label == "Training …").disabled


def test_a_segment_shows_what_was_said_of_it(project, show):
    app = show(project, "review")
    first = project.review_queue("least_sure")[0]
    assert "not checked" in texts(app)
    project.correct(first.segment_id, BACKGROUND, annotator="Jörg")
    assert "background, corrected by Jörg" in texts(app.run())


def test_without_a_run_the_way_leads_to_training(home, no_workers, show):
    from tests.browser.projects import sound_project

    project = sound_project(home / "quiet", (3,), predicted=False)
    assert "nothing to review yet" in texts(show(project, "review"))


def test_a_list_is_made_anew_for_another_choice_only(monkeypatch):
    monkeypatch.setattr(steady_queue.st, "session_state", {})
    made = []

    def make():
        made.append(1)
        return [len(made)]

    assert steady_queue.steady_queue("x", "a", make) == steady_queue.steady_queue("x", "a", make) == [1]
    assert steady_queue.steady_queue("x", "b", make) == [2]
    steady_queue.forget_queue("x")
    assert steady_queue.steady_queue("x", "b", make) == [3]


def test_the_most_informative_are_a_list_only_where_the_model_tells(project, show, canvases):
    from tests.project.conftest import store_run

    quiet = project.current_run().id
    n_columns = len(project.classes()) + 1
    app = show(project, "review")
    assert not any("Most informative" in option for option in app.segmented_control(key="review.order").options)
    store_run(project, lambda n: np.full((n, n_columns), 1 / n_columns), informative=lambda n: np.arange(n) / n)
    app.run()
    app.segmented_control(key="review.order").set_value("informative").run()
    assert not app.exception
    wanted = [(one.bag_id, one.segment_id) for one in project.review_queue("informative", limit=100)]
    assert items(canvases) == wanted
    assert [segment for _, segment in wanted] == project.bagset()[1].segment_ids[::-1].tolist()
    project.choose_run(quiet)
    app.run()
    assert not app.exception
    assert app.segmented_control(key="review.order").value == "least_sure"


def test_a_segment_says_which_tag_it_explains(project, show):
    from tests.project.conftest import store_run

    bag_id = project.bag_ids()[0]
    wren = next(one for one in project.classes() if project.bag(bag_id).tags.get(one.id, 0) > 0)
    column = [one.id for one in project.classes()].index(wren.id)
    key, other = project.bagset()[1].segment_ids[:2].tolist()

    def posterior(n):
        rows = np.zeros((n, len(project.classes()) + 1))
        rows[:, -1] = 1.0
        rows[0] = np.eye(rows.shape[1])[column]
        return rows

    store_run(project, posterior, keys=[np.array([[column, 0, 1, 5]])] + [np.empty((0, 4))] * 3)
    app = show(project, "review")
    app.session_state["review.place"] = (bag_id, key)
    app.run()
    assert f"This is why the clip is tagged {wren.name} (sub-concept 2 of 5)." in texts(app)
    app.session_state["review.place"] = (bag_id, other)
    app.run()
    assert "is tagged" not in texts(app)
    project.unfinish(bag_id)
    where = f"Where the model finds the tags: {wren.name}: segment {project.segment(key).number}."
    assert where in texts(show(project, "tag"))
