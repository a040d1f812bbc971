"""The choices of the review page."""

import numpy as np

from tests.pages.conftest import texts


def queue(canvases):
    return canvases["review.canvas"].queue


def test_the_least_sure_come_first(project, show, canvases):
    show(project, "review")
    assert queue(canvases) == {"order": "least_sure"}
    assert canvases["review.canvas"].sampled is False


def test_the_random_sample_counts_for_accuracy(project, show, canvases):
    app = show(project, "review")
    app.segmented_control(key="review.order").set_value("random").run()
    assert canvases["review.canvas"].sampled is True
    assert queue(canvases) == {"order": "random"}


def test_one_species(project, show, canvases):
    app = show(project, "review")
    app.segmented_control(key="review.order").set_value("class").run()
    assert queue(canvases) == {"order": "class", "class": app.selectbox(key="review.species").value}


def test_without_a_run_the_way_leads_to_training(home, no_workers, show):
    from tests.browser.projects import sound_project

    project = sound_project(home / "quiet", (3,), predicted=False)
    assert "nothing to review yet" in texts(show(project, "review"))


def test_the_most_informative_are_a_list_only_where_the_model_has_the_scores(project, show, canvases):
    from tests.project.conftest import store_run

    without = project.runs.current().id
    n_columns = len(project.classes.list()) + 1
    app = show(project, "review")
    assert not any("Most informative" in option for option in app.segmented_control(key="review.order").options)
    store_run(project, lambda n: np.full((n, n_columns), 1 / n_columns), informative=lambda n: np.arange(n) / n)
    app.run()
    app.segmented_control(key="review.order").set_value("informative").run()
    assert not app.exception
    assert queue(canvases) == {"order": "informative"}
    project.runs.choose(without)
    app.run()
    assert not app.exception
    assert app.segmented_control(key="review.order").value == "least_sure"


def test_the_threshold_of_certainty_is_chosen_for_the_project_and_given_back(project, show):
    app = show(project, "review")
    app.slider(key="review.sure_from").set_value(80).run()
    assert project.review.sure_from() == 0.8 and not app.exception
    app.button(key="review.sure_default").click().run()
    assert project.review.sure_from() == 0.5 and app.slider(key="review.sure_from").value == 50
