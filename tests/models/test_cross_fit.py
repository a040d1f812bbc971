"""Calibration by fits to parts of the bags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from miml_core import BagSet
from miml_core.evaluation.metrics import calibration_error
from miml_core.models import MODELS, Model, ored_lr_start, temperatures
from miml_core.models.background import BackgroundEvidence
from miml_core.models.baselines import CandidateEM
from miml_core.models.ored_lr_penalty import Choice, Evidence, Penalty
from miml_core.models.temperatures import NOT_CALIBRATED


def noisy_bags(n_bags: int, seed: int) -> tuple[BagSet, NDArray[np.int64]]:
    """Return bags of two segments with many features of noise, which a model without much penalty learns by heart."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 2 * n_bags)
    X = rng.normal(size=(2 * n_bags, 24))
    X[np.arange(len(truth)), truth] += 1.5
    tags = np.full((n_bags, 4), -1)
    np.put_along_axis(tags, truth.reshape(n_bags, 2), 1, axis=1)
    return BagSet(X, np.arange(0, 2 * n_bags + 1, 2), tags, list("abcd")), truth


def uncalibrated(model: Model, X: NDArray[np.float64]) -> NDArray[np.float64]:
    model.set_calibration(NOT_CALIBRATED)
    return model.predict_proba(X)


@pytest.mark.parametrize("name", ["candidate-em", "mimm"])
def test_probabilities_of_new_bags_are_more_honest_than_without_folds(name: str) -> None:
    bags, _ = noisy_bags(100, 0)
    new, truth = noisy_bags(300, 1)
    model = MODELS[name](**({"alpha": 0.01} if name == "candidate-em" else {})).fit(bags)
    honest = calibration_error(truth, model.predict_proba(new.X))
    assert model.predict_temperature_ > 1
    assert honest < 0.6 * calibration_error(truth, uncalibrated(model, new.X))


def test_the_temperature_of_other_models_is_not_drawn_towards_that_of_ored_lr(monkeypatch: pytest.MonkeyPatch) -> None:
    bags, _ = noisy_bags(100, 0)
    found = []
    for usual in (1.2, 4.0):
        monkeypatch.setattr(temperatures, "_USUAL", usual)
        found.append([MODELS[name]().fit(bags).predict_temperature_ for name in ("candidate-em", "ored-lr")])
    other, ored_lr = np.log(np.array(found)).T  # few bags draw both a little
    assert other[1] - other[0] < 0.75 * (ored_lr[1] - ored_lr[0])


def test_a_fold_is_not_calibrated_itself_and_few_bags_need_no_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    bags, _ = noisy_bags(30, 0)
    folds: list[tuple[int, float]] = []
    fit = CandidateEM.fit

    def counted(self: CandidateEM, bags: BagSet, **options: object) -> CandidateEM:
        fitted = fit(self, bags, **options)  # type: ignore[arg-type]
        if self.is_fold:
            folds.append((bags.n_bags, self.predict_temperature_))
        return fitted

    monkeypatch.setattr(CandidateEM, "fit", counted)
    CandidateEM().fit(bags)
    assert folds == [(20, 1.0)] * 3
    CandidateEM().fit(bags[np.arange(8)])
    assert len(folds) == 3


def test_a_request_to_stop_ends_the_folds_too() -> None:
    bags, _ = noisy_bags(30, 0)
    reports: list[bool] = []

    def stop_in_folds(step: int, of: int, info: dict[str, float]) -> bool:
        reports.append("calibrating" in info)
        return reports[-1]

    model = CandidateEM().fit(bags, progress=stop_in_folds)
    assert reports.count(True) == 1
    assert np.isfinite(model.predict_proba(bags.X)).all()


def test_if_the_tags_show_no_background_penalty_and_temperatures_are_about_those_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs, _ = noisy_bags(200, 0)
    tags, weights = np.maximum(pairs.tags[::2], pairs.tags[1::2]), np.eye(pairs.X.shape[1] + 1, 4)
    bags = BagSet(pairs.X, pairs.offsets[::2], tags, pairs.classes, pretrained=weights)
    choose = ored_lr_start.choose_penalty

    def much_too_strong_with_background(
        evidence: Evidence, start: NDArray[np.float64], *rest: Any, **options: Any
    ) -> Choice:
        choice = choose(evidence, start, *rest, **options)
        return replace(choice, penalty=Penalty(1000.0)) if start.shape[1] > bags.n_classes else choice

    monkeypatch.setattr(ored_lr_start, "choose_penalty", much_too_strong_with_background)
    monkeypatch.setattr(ored_lr_start, "background_evidence", lambda *_, **__: BackgroundEvidence(0.0, found=False))
    without, with_background = (MODELS["ored-lr"](background=background).fit(bags) for background in (False, True))
    assert 0.9 < with_background.annotate_temperature_ / without.annotate_temperature_ < 1.1
    assert 0.5 < with_background.alpha_ / without.alpha_ < 2
    new, _ = noisy_bags(300, 1)
    same = with_background.predict_proba(new.X).argmax(axis=1) == without.predict_proba(new.X).argmax(axis=1)
    assert same.mean() > 0.97
