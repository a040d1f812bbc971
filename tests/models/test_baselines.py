"""The yardsticks: what they learn, and that ORed-LR beats the best of them on real data."""

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet, BagtagError
from miml_core.evaluation.data_sets import find_sets
from miml_core.models import MODELS, load_model
from miml_core.models.candidates import candidate_shares


def blobs(n_classes: int = 3, n_bags: int = 40, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_classes, (n_bags, 3))
    X = 4.0 * np.eye(n_classes)[truth.ravel()] + rng.standard_normal((3 * n_bags, n_classes))
    tags = np.full((n_bags, n_classes), -1)
    np.put_along_axis(tags, truth, 1, axis=1)
    return BagSet(X, np.arange(n_bags + 1) * 3, tags, [f"class {c}" for c in range(n_classes)]), truth.ravel()


def test_candidates_are_tags_labels_and_nothing_forbidden():
    bags = BagSet(np.zeros((4, 1)), [0, 4], [[1, 0, -1]], ["a", "b", "c"], [UNKNOWN, 0, BACKGROUND, UNKNOWN])
    assert candidate_shares(bags).tolist() == [[0.5, 0.5, 0], [1, 0, 0], [0, 0, 0], [0.5, 0.5, 0]]
    with_background = candidate_shares(bags, background=2.0)
    assert with_background[0].tolist() == [0.25, 0.25, 0, 0.5]
    assert with_background[2].tolist() == [0, 0, 0, 1]


def test_majority_predicts_the_frequency_of_tags():
    bags = BagSet(np.zeros((3, 1)), [0, 1, 2, 3], [[1, -1], [1, -1], [-1, 1]], ["a", "b"])
    model = MODELS["majority"]().fit(bags)
    np.testing.assert_allclose(model.predict_proba(bags.X), [[2 / 3, 1 / 3]] * 3)
    assert model.annotate(bags).argmax(axis=1).tolist() == [0, 0, 1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_candidate_em_finds_blobs(n_classes):
    bags, truth = blobs(n_classes)
    model = MODELS["candidate-em"]().fit(bags)
    assert (model.annotate(bags).argmax(axis=1) == truth).mean() > 0.9
    assert ((model.predict_tags(bags) > 0.5) == (bags.tags > 0)).mean() > 0.85


def test_supervised_lr_learns_from_labels_and_refuses_bags_without_any():
    bags, truth = blobs()
    with pytest.raises(BagtagError, match="label"):
        MODELS["supervised-lr"]().fit(bags)
    model = MODELS["supervised-lr"]().fit(bags.replace(labels=truth))
    assert (model.predict_proba(bags.X).argmax(axis=1) == truth).mean() > 0.9


def test_a_class_nobody_has_is_unlikely_and_one_class_is_certain():
    bags, _ = blobs()
    wider = BagSet(bags.X, bags.offsets, np.c_[bags.tags, -np.ones(bags.n_bags)], [*bags.classes, "never"])
    assert MODELS["candidate-em"]().fit(wider).predict_proba(bags.X)[:, 3].max() < 1e-6
    single = BagSet(bags.X, bags.offsets, np.ones((bags.n_bags, 1)), ["only"])
    assert (MODELS["candidate-em"]().fit(single).predict_proba(bags.X) == 1).all()


@pytest.mark.parametrize("name", ["majority", "candidate-em", "supervised-lr"])
def test_saved_models_predict_the_same(name, tmp_path):
    bags, truth = blobs()
    model = MODELS[name]().fit(bags.replace(labels=truth))
    model.save(tmp_path / "model.npz")
    assert (load_model(tmp_path / "model.npz").annotate(bags) == model.annotate(bags)).all()


@pytest.mark.slow
def test_ored_lr_beats_candidate_em_where_tags_are_many(data_dir):
    (data,) = find_sets(data_dir / "miml", ["letter_frost"])
    right = {}
    for name in ("ored-lr", "candidate-em"):
        right[name] = (MODELS[name]().fit(data.bags).annotate(data.bags).argmax(axis=1) == data.truth).mean()
    assert right["ored-lr"] > right["candidate-em"] + 0.1


@pytest.mark.parametrize("name", ["candidate-em", "supervised-lr"])
def test_candidates_too_unlikely_for_floats_are_still_compared(name):
    bags, truth = blobs()
    model = MODELS[name]().fit(bags.replace(labels=truth) if name == "supervised-lr" else bags)
    X = 1e5 * np.array([[1.0, -1.0, 0.0]])
    scores = (X - model.mean_) * model.scale_ @ model.coefficients_ + model.intercepts_
    best, *others = np.argsort(-scores[0])
    without_best = np.where(np.arange(3) == best, -1, 1)[None]
    rows = model.annotate(BagSet(X, [0, 1], without_best, bags.classes))
    assert model.predict_proba(X)[0, others].max() == 0
    assert rows.sum() == pytest.approx(1.0)
    assert rows[0].argmax() == others[0]
