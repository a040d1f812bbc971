"""What a training learns from, how it is started, and runs side by side."""

import re
from typing import Literal

import pytest

from miml_core.models import MODELS
from miml_core.project.learning import training_runs
from pages.widgets.training import model_descriptions
from pages.widgets.training.model_parameters import parameters
from pages.widgets.training.runs import outdated_text
from tests.pages.conftest import press, texts

CHOICES = {
    ("gp-probit", "kernel"): ("exponential", "gaussian"),
    ("gp-probit", "inference"): ("vi", "gibbs"),
    ("mimm", "components"): ("gaussian-diag", "gaussian-full", "bernoulli", "multinomial", "markov"),
    ("mimm", "supervision"): ("tags", "mm", "mmu"),
    ("ored-lr", "kernel"): (None, "rbf", "rff"),
    ("ored-lr", "solver"): ("lbfgs", "em", "stochastic"),
    ("sim", "aggregate"): ("max", "softmax"),
    ("sim", "optimiser"): ("heuristic", "cccp"),
    ("sim", "loss"): ("rank", "hamming"),
    ("sim", "kernel"): (None, "rff"),
}


def test_counts_and_warnings_are_shown_before_a_training(project, show):
    rare = project.edits.add_class("Rare bird")
    project.edits.tag(project.bags.ids()[0], rare.id)
    app = show(project, "train")
    assert {one.label: one.value for one in app.metric}["Tagged bags"] == "4"
    assert "Rare bird is tagged in one bag only" in texts(app)
    assert "Fewer than ten bags" in texts(app)


def test_nothing_tagged_nothing_to_start(home, no_workers, show):
    from tests.browser.projects import sound_project

    project = sound_project(home / "quiet", (3,), predicted=False)
    project.edits.set_tags(project.bags.ids()[0], {})
    app = show(project, "train")
    assert "Nothing is tagged yet" in texts(app)
    press(app, "Start training")
    assert any("Nothing is tagged yet" in error.value for error in app.error) and not project.jobs.list()


def test_a_training_starts_with_the_proposed_parameters(project, show):
    press(show(project, "train"), "Start training")
    (job,) = project.jobs.list()
    assert job.kind == "train" and job.params["model"] == "ored-lr"
    assert model_descriptions.proposed("ored-lr").items() <= job.params["params"].items()


def test_what_is_proposed_can_be_switched_off(project, show):
    app = show(project, "train")
    app.toggle(key="train.params.ored-lr.background").set_value(False).run()
    press(app, "Start training")
    assert project.jobs.list()[0].params["params"]["background"] is False


def test_progress_of_a_training_is_on_the_page(project, show):
    app = press(show(project, "train"), "Start training")
    assert "Training: ORed logistic regression" in texts(app)
    assert any(button.label == "Queue another training" for button in app.button)


def test_an_outdated_run_is_marked(project, show):
    assert outdated_text(project.runs.current()) is None
    project.edits.set_label(project.segments.list(project.bags.ids()[0])[0].id, project.classes.list()[1].id)
    assert "older than your work" in outdated_text(project.runs.current())
    assert "1 segment checked" in texts(show(project, "train"))


def test_runs_are_listed_with_the_one_that_is_shown(project, show):
    table = show(project, "train").dataframe[0].value
    assert list(table["current"]) == ["shown"]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_has_a_sentence_and_controls(name):
    assert model_descriptions.title(name)[0].isupper() and model_descriptions.description(name).endswith(".")
    for one in parameters(MODELS[name]):
        assert one.doc, f"{one.name} is documented"
        assert one.choices == CHOICES.get((name, one.name), ()), one.name
        if one.choices:
            assert one.default in one.choices, one.name
        else:
            assert type(one.default) in one.kinds, one.name


class Example:
    """A model.

    Parameters
    ----------
    kind : "small" or "large"
        How big.
    strength : float or "auto"
        How strong,
        in words.
    rounds, seed : int
    """

    def __init__(self, kind: str = "small", strength: float | str = "auto", rounds: int = 3, seed: int = 0,
                 way: Literal["a", "b"] = "b", extra: float | None = None) -> None: ...  # fmt: skip


def test_controls_follow_the_constructor_and_its_documentation():
    found = {one.name: one for one in parameters(Example)}
    assert list(found) == ["kind", "strength", "rounds", "way", "extra"]
    assert found["kind"].choices == ("small", "large") and found["kind"].doc == "How big."
    assert found["strength"].choices == () and found["strength"].takes_number
    assert found["strength"].doc == "How strong, in words."
    assert found["way"].choices == ("a", "b")
    assert found["extra"].takes_number and found["rounds"].doc is None


def test_yardsticks_are_not_offered(project, show):
    offered = show(project, "train").selectbox(key="train.model").options
    assert offered[0] == "ORed logistic regression" and "Plain logistic regression" in offered
    assert not {"Majority", "Supervised lr"} & set(offered)
    assert len(offered) == len(MODELS) - 2


def test_accuracies_come_with_the_data_they_were_measured_on():
    written = {name: model_descriptions.description(name) for name in model_descriptions.offered()}
    with_accuracies = [text for text in written.values() if "%" in text]
    assert [text for text in with_accuracies if not re.search("we measured|bird song", text)] == []
    for name in ("ored-lr", "sim", "mimlfast", "gp-probit", "mimm"):  # are compared with others in general
        assert "we measured" in written[name]


def test_a_run_that_was_stopped_early_is_marked(project, show):
    with project.store.write() as connection:
        training_runs.change(connection, project.runs.current().id, message=training_runs.STOPPED_EARLY)
    (table,) = show(project, "train").dataframe
    assert list(table.value["state"]) == ["stopped early"]


def test_a_training_that_waits_can_only_be_thrown_away(project, show):
    app = press(show(project, "train"), "Start training")
    (job,) = project.jobs.list()
    assert next(one for one in app.button if one.key.startswith("live.keep.")).disabled, "what waits has learnt nothing"
    next(one for one in app.button if one.key.startswith("live.cancel.")).click()
    app.run()
    assert project.jobs.get(job.id).state == "cancelled"
