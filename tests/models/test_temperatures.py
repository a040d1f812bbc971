"""Honest probabilities: temperatures from tags alone, and from labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from miml_core import BACKGROUND, UNKNOWN, BagSet
from miml_core.evaluation.metrics import calibration_error
from miml_core.evaluation.reliability import expected_calibration_error
from miml_core.models import MODELS, load_model
from miml_core.models.background import BackgroundEvidence
from miml_core.models.calibration import calibrate_tags, fit_tag_probabilities
from miml_core.models.temperatures import calibrate, choose_temperatures, confused_share, soften, temper
from miml_core.posterior import bag_posterior, tag_probabilities

N_CLASSES = 6


def simulated(n_bags: int = 300, seed: int = 0) -> tuple[BagSet, NDArray[np.int64], NDArray[np.float64]]:
    """Return bags of four segments, their true classes, and the log probabilities those were drawn from."""
    rng = np.random.default_rng(seed)
    n = 4 * n_bags
    log_prior = log_softmax(2.0 * rng.standard_normal((n, N_CLASSES)), axis=1)
    truth = (log_prior + rng.gumbel(size=log_prior.shape)).argmax(axis=1)
    tags = np.full((n_bags, N_CLASSES), -1)
    tags[np.arange(n) // 4, truth] = 1
    classes = [f"class {c}" for c in range(N_CLASSES)]
    return BagSet(np.zeros((n, 1)), np.arange(0, n + 1, 4), tags, classes), truth, log_prior


def test_tempering_keeps_the_order_the_sum_and_rows_of_zeros() -> None:
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    flat = temper(p, 3.0)
    assert flat.sum(axis=1) == pytest.approx([1, 0, 1])
    assert (np.argsort(flat[0]) == np.argsort(p[0])).all()
    assert flat[0, 0] < p[0, 0]
    assert flat[2].tolist() == [1, 0, 0]
    assert temper(p, 1.0) is p


@pytest.mark.parametrize("too_sure", [1.0, 2.5])
def test_the_temperature_of_new_bags_is_found_from_tags_alone(too_sure: float) -> None:
    bags, truth, log_prior = simulated()
    claimed = log_softmax(too_sure * log_prior, axis=1)
    found = choose_temperatures(claimed, bags)
    assert found.new == pytest.approx(too_sure, rel=0.25)
    before, after = (calibration_error(truth, temper(np.exp(claimed), t)) for t in (1.0, found.new))
    assert after < max(0.06, 0.5 * before)  # the estimate is shrunk towards the usual temperature


def test_given_the_tags_the_temperature_is_higher_where_tags_have_many_segments() -> None:
    bags, _, log_prior = simulated()
    few = choose_temperatures(log_prior, bags)
    joined = BagSet(bags.X, bags.offsets[::2], np.maximum(bags.tags[::2], bags.tags[1::2]), bags.classes)
    many = choose_temperatures(log_prior, joined)
    assert many.given_tags / many.new > few.given_tags / few.new > 1


def of_whole_bags(n_bags: int = 200, seed: int = 0) -> tuple[BagSet, NDArray[np.int64], NDArray[np.float64]]:
    """Return bags of eight segments and one or two classes, and log probabilities that only know one class per bag."""
    rng = np.random.default_rng(seed)
    pairs = np.array([rng.permutation(N_CLASSES)[:2] for _ in range(n_bags)])
    truth = np.where(rng.random((n_bags, 8)) < 0.5, pairs[:, :1], pairs[:, 1:])
    truth[::2] = pairs[::2, :1]
    tags = np.full((n_bags, N_CLASSES), -1)
    np.put_along_axis(tags, truth, 1, axis=1)
    exponents = np.repeat(6.0 * np.eye(N_CLASSES)[pairs[:, 0]], 8, axis=0) + rng.standard_normal(
        (8 * n_bags, N_CLASSES)
    )
    bags = BagSet(
        np.zeros((8 * n_bags, 1)), np.arange(0, 8 * n_bags + 1, 8), tags, [f"class {c}" for c in range(N_CLASSES)]
    )
    return bags, truth.ravel(), log_softmax(exponents, axis=1)


def test_softening_keeps_the_order_and_what_is_certain() -> None:
    p = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    soft = soften(p, 2.0, 0.3)
    assert soft.sum(axis=1) == pytest.approx([1, 0, 1])
    assert (np.argsort(soft[0]) == np.argsort(p[0])).all()
    assert soft[2].tolist() == [1, 0, 0]
    assert soft.max() <= 1 and soft[0, 0] < temper(p, 2.0)[0, 0]


def test_tags_without_a_segment_show_that_classes_of_one_bag_are_confused() -> None:
    bags, truth, log_prior = of_whole_bags()
    certain = confused_share(log_prior, bags)
    assert 0.1 < certain < 0.25 + 0.05  # a quarter of the segments have the other tag of their bag
    found = choose_temperatures(log_prior, bags)
    assert found.confused > certain
    raw = np.exp(log_prior)
    assert calibration_error(truth, temper(raw, found.new)) > 0.15
    assert calibration_error(truth, soften(raw, found.new, found.confused)) < 0.1


def test_errors_that_a_model_expects_are_not_confusions() -> None:
    bags, _, log_prior = simulated()
    assert confused_share(log_prior, bags) < 0.02
    untagged = bags.replace(tags=np.zeros_like(bags.tags))
    assert confused_share(log_prior, untagged) == 0


def test_without_informative_tags_nothing_is_tempered() -> None:
    bags, _, log_prior = simulated(10)
    found = choose_temperatures(log_prior, bags.replace(tags=np.zeros_like(bags.tags)))
    assert (found.new, found.given_tags) == (1.0, 1.0)


def test_labels_of_people_improve_the_temperatures() -> None:
    bags, truth, log_prior = simulated()
    claimed = log_softmax(4.0 * log_prior, axis=1)
    rng = np.random.default_rng(1)
    labels = np.full(len(truth), UNKNOWN)
    chosen = rng.permutation(len(truth))[:150]
    labels[chosen] = truth[chosen]
    rest = labels == UNKNOWN
    given = bag_posterior(claimed, bags.offsets, bags.tags, leak=1e-3).probabilities
    errors = []
    for known in (bags, bags.replace(labels=labels)):
        found = calibrate(claimed, known).temperatures
        errors.append(calibration_error(truth[rest], temper(given, found.given_tags)[rest]))
    assert errors[1] < errors[0]
    assert errors[1] < 0.05
    few = np.where(np.cumsum(labels != UNKNOWN) <= 29, labels, UNKNOWN)
    assert calibrate(claimed, bags.replace(labels=few)).temperatures == calibrate(claimed, bags).temperatures
    assert calibrate(claimed, bags.replace(labels=labels), held_out=False) == calibrate(claimed, bags, held_out=False)


@pytest.mark.parametrize("too_sure", [1.0, 5.0])
def test_labels_improve_the_temperatures_of_models_with_a_background(too_sure: float) -> None:
    """The last class is the background; the held-out fits over-assign segments to it, as fits to tags do."""
    bags, truth, log_prior = simulated()
    named = N_CLASSES - 1
    bags = BagSet(bags.X, bags.offsets, bags.tags[:, :named], bags.classes[:named])
    is_background = truth == named
    evidence = BackgroundEvidence(float(is_background.mean()), error=0.0)
    claimed = log_softmax(too_sure * log_prior + np.append(np.zeros(named), 3.0), axis=1)
    chosen = np.random.default_rng(1).permutation(len(truth))[:200]
    labels = np.full(len(truth), UNKNOWN)
    labels[chosen] = np.where(is_background, BACKGROUND, truth)[chosen]
    rest = labels == UNKNOWN
    given = bag_posterior(too_sure * log_prior, bags.offsets, bags.tags, leak=1e-3).probabilities
    errors = []
    for known in (bags, bags.replace(labels=labels)):
        found = calibrate(claimed, known, background=evidence).temperatures
        errors.append(calibration_error(truth[rest], soften(given, found.given_tags, found.confused)[rest]))
    assert errors[1] < errors[0]
    assert errors[1] < 0.05


def test_tag_probabilities_become_honest_and_keep_their_order() -> None:
    bags, _, log_prior = simulated()
    claimed = log_softmax(0.4 * log_prior, axis=1)
    raw = tag_probabilities(np.exp(claimed), bags.offsets, N_CLASSES)
    honest = calibrate_tags(raw, fit_tag_probabilities(claimed, bags, leak=0.0, held_out=True))
    before, after = (expected_calibration_error(p.ravel(), (bags.tags > 0).ravel()) for p in (raw, honest))
    assert after < 0.5 * before
    assert (np.argsort(honest, axis=1) == np.argsort(raw, axis=1)).all()


@pytest.mark.parametrize("name", ["ored-lr", "sim", "mimlfast", "gp-probit", "mimm", "candidate-em"])
def test_every_model_is_calibrated_without_changing_its_labels(name: str, tmp_path: Path) -> None:
    bags, truth, _ = simulated(40)
    X = np.eye(N_CLASSES)[truth] + 0.6 * np.random.default_rng(0).standard_normal((len(truth), N_CLASSES))
    bags = bags.replace(X=X)
    model = MODELS[name]().fit(bags)
    assert model.annotate_temperature_ != 1.0
    assert model.sure_from_ == 0.5
    honest = model.predict_proba(X), model.annotate(bags), model.predict_tags(bags)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.calibration == model.calibration
    assert (loaded.annotate(bags) == honest[1]).all()
    for attribute in ("predict_temperature_", "annotate_temperature_", "confused_", "tag_calibration_"):
        delattr(loaded, attribute)  # a file of an earlier version
    raw = loaded.predict_proba(X), loaded.annotate(bags), loaded.predict_tags(bags)
    assert (raw[0].argmax(axis=1) == honest[0].argmax(axis=1)).all()
    assert (raw[1].argmax(axis=1) == honest[1].argmax(axis=1)).all()
    assert (np.argsort(raw[2], axis=1) == np.argsort(honest[2], axis=1)).all()
    assert (raw[1] != honest[1]).any()


def test_labels_of_bags_without_any_class_refine_nothing() -> None:
    bags = BagSet(np.zeros((40, 1)), np.arange(0, 41, 2), np.full((20, 2), -1), ["a", "b"], np.full(40, BACKGROUND))
    log_prior = np.log(np.full((40, 2), 0.5))
    unlabelled = bags.replace(labels=np.full(40, UNKNOWN))
    assert calibrate(log_prior, bags).temperatures == calibrate(log_prior, unlabelled).temperatures
