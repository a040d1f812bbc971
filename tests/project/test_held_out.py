"""Scores on held-out bags: no bag is judged by a model that learnt from it, and a better model scores higher."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from miml_core.bags import BagSet
from miml_core.models import MODELS
from miml_core.models.base import Model
from miml_core.project.learning import held_out


def made_up(n_bags: int, seed: int = 0, sense: float = 3.0) -> BagSet:
    """Return bags of three segments of three classes; `sense` is the distance between the classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(3, size=(n_bags, 3))
    tags = np.where((true[:, :, None] == np.arange(3)).any(axis=1), 1, -1)
    X = rng.normal(size=(3 * n_bags, 3)) + sense * np.eye(3)[true.ravel()]
    return BagSet(X, np.arange(0, 3 * n_bags + 1, 3), tags, ["a", "b", "c"])


def never(step: int, of: int, info: Any) -> bool:
    assert 0 <= step <= of
    return False


class Witness(Model):
    """A model that checks that it only predicts rows it has not learnt from."""

    name: ClassVar[str] = "witness"
    learnt: ClassVar[list[set[float]]] = []
    asked: ClassVar[list[set[float]]] = []

    def __init__(self, *, strength: float | str = "auto") -> None:
        self.strength = strength

    def fit(self, bags: BagSet, *, progress: Any = None, warm_start: Model | None = None) -> Witness:
        assert self.strength == 0.25, "what the whole fit chose is not chosen again"
        self.learnt.append(set(bags.X[:, 0]))
        return self

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        self.asked.append(set(np.asarray(X)[:, 0]))
        return np.full((len(np.asarray(X)), 3), 1 / 3)

    annotate = predict_proba  # type: ignore[assignment]

    def predict_tags(self, bags: BagSet) -> NDArray[np.float64]:
        return np.full(bags.tags.shape, 0.5)


def test_every_bag_is_judged_once_by_a_model_that_never_saw_it() -> None:
    bags = made_up(20)
    model = Witness()
    model.strength_ = 0.25  # type: ignore[attr-defined]
    assert held_out.score(model, bags, np.arange(20), never)["held_out_bags"] == 20
    assert len(Witness.asked) == held_out.FOLDS
    assert set.union(*Witness.asked) == set(bags.X[:, 0])
    for learnt, asked in zip(Witness.learnt, Witness.asked):
        assert not learnt & asked and learnt | asked == set(bags.X[:, 0])


def test_a_model_that_knows_more_scores_higher() -> None:
    clear, vague = made_up(60, sense=3.0), made_up(60, sense=0.5)
    ids = np.arange(60)

    def score(name: str, bags: BagSet, **params: Any) -> dict[str, float]:
        return held_out.score(MODELS[name](**params), bags, ids, never)

    knows = score("ored-lr", clear, alpha=1.0)
    guesses = score("ored-lr", vague, alpha=1.0)
    majority = score("majority", clear)
    for key in ("held_out_log_likelihood", "held_out_average_precision"):
        assert knows[key] > guesses[key] and knows[key] > majority[key]
    assert knows["held_out_log_likelihood"] < 0


def test_the_likelihood_is_that_of_all_labellings() -> None:
    bags = made_up(2, seed=3)
    model = MODELS["ored-lr"](alpha=1.0).fit(made_up(30))
    p = np.column_stack([model.predict_proba(bags.X), np.zeros(6)]) * 0.98 + 0.02 / 4
    leak = 0.01
    for bag, computed in enumerate(held_out.tag_log_likelihood(model, bags)):
        rows, present = p[3 * bag : 3 * bag + 3], set(np.flatnonzero(bags.tags[bag] > 0))
        total = 0.0
        for labels in product(range(4), repeat=3):
            shown = set(labels) - {3}
            if shown <= present:
                # a tag with a segment may have leaked or not; one without must have
                total += np.prod(rows[np.arange(3), labels]) * leak ** len(present - shown)
        assert computed == pytest.approx(np.log(total))


def test_too_few_bags_give_no_score_and_stopping_is_obeyed() -> None:
    assert held_out.score(MODELS["majority"](), made_up(5), np.arange(5), never) == {}

    class Stop(Exception):
        pass

    def stop(step: int, of: int, info: Any) -> bool:
        raise Stop

    with pytest.raises(Stop):
        held_out.score(MODELS["ored-lr"](alpha=1.0), made_up(30), np.arange(30), stop)


def test_tags_of_held_out_bags_show_how_honest_the_probabilities_are() -> None:
    bags = made_up(60, sense=3.0)
    model = MODELS["ored-lr"]().fit(bags)
    honest = held_out.score(model, bags, np.arange(60), never)["held_out_calibration_error"]
    model.set_calibration(replace(model.calibration, tag_curve=(0.1, 0.0)))
    vague = held_out.score(model, bags, np.arange(60), never)["held_out_calibration_error"]
    assert honest < 0.1 < vague
