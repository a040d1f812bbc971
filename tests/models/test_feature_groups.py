"""ORed logistic regression with groups of features, each with its own penalty, and with a pretrained classifier."""

import json

import numpy as np

from miml_core import BagSet
from miml_core.bags import FeatureGroup
from miml_core.models import load_model
from miml_core.models.feature_maps import PretrainedScores, ReduceGroups
from miml_core.models.ored_lr import ORedLR
from miml_core.models.ored_lr_likelihood import MarginalLikelihood
from tests.models.test_ored_lr import birds


def with_columns(bags: BagSet, more: np.ndarray, grouped: bool = True) -> BagSet:
    groups = [FeatureGroup("given", bags.X.shape[1]), FeatureGroup("more", more.shape[1])] if grouped else None
    X = np.concatenate([bags.X, more], axis=1)
    return BagSet(X, bags.offsets, bags.tags, bags.classes, groups=groups)


def faint_birds(n_bags: int) -> tuple[BagSet, np.ndarray]:
    """Return birds that overlap, so that no model is perfect."""
    bags, truth = birds(n_bags)
    return bags.replace(X=bags.X + np.random.default_rng(2).normal(scale=2.0, size=bags.X.shape)), truth


def accuracy_on_new_bags(bags: BagSet, truth: np.ndarray, n_train: int = 30) -> float:
    model = ORedLR().fit(bags[:n_train])
    rows = bags.offsets[n_train]
    return float((model.predict_proba(bags.X[rows:]).argmax(axis=1) == truth[rows:]).mean())


def test_a_group_of_noise_costs_next_to_nothing():
    bags, truth = faint_birds(150)
    noise = np.random.default_rng(1).normal(size=(bags.n_segments, 100))
    alone = accuracy_on_new_bags(bags, truth)
    grouped = accuracy_on_new_bags(with_columns(bags, noise), truth)
    assert grouped >= alone - 0.02
    assert accuracy_on_new_bags(with_columns(bags, noise, grouped=False), truth) < grouped - 0.02
    given, more = ORedLR().fit(with_columns(bags, noise)[:30]).gains_
    assert more < given


def test_a_group_of_signal_is_used():
    bags, truth = faint_birds(150)
    signal = np.eye(bags.n_classes)[truth] + np.random.default_rng(1).normal(scale=0.3, size=(len(truth), 3))
    assert accuracy_on_new_bags(with_columns(bags, signal), truth) > accuracy_on_new_bags(bags, truth) + 0.05


def test_a_large_group_becomes_its_principal_components():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(400, 5))
    wide = hidden @ rng.normal(size=(5, 300))
    groups = [FeatureGroup("few", 3), FeatureGroup("many", 300)]
    Z = np.concatenate([rng.normal(size=(400, 3)), wide], axis=1)
    reduced = ReduceGroups.fit(Z, groups)(Z)
    assert reduced.shape == (400, 3 + ReduceGroups.N_COMPONENTS)
    np.testing.assert_allclose(reduced[:, :3], Z[:, :3])
    variances = (reduced[:, 3:] ** 2).mean(axis=0)
    assert np.isclose(variances.mean(), 1.0) and np.isclose(variances[:5].sum(), variances.sum())


def pretrained_for(bags: BagSet, truth: np.ndarray, unknown: int) -> np.ndarray:
    """Return the weights of a linear classifier that was given the labels, without one class."""
    centres = np.stack([bags.X[truth == c].mean(axis=0) for c in range(bags.n_classes)])
    weights = np.concatenate([centres.T, -0.5 * (centres**2).sum(axis=1, keepdims=True).T])
    weights[:, unknown] = np.nan
    return weights


def test_the_gradient_with_scores_by_finite_differences():
    bags, _ = birds(n_bags=8)
    rng = np.random.default_rng(0)
    Z = np.column_stack([bags.X, np.ones(bags.n_segments)])
    scores = rng.normal(size=(bags.n_segments, bags.n_classes))
    likelihood = MarginalLikelihood(Z, bags, leak=0.01, alpha=0.5, scores=scores)
    W = 0.1 * rng.normal(size=(Z.shape[1], bags.n_classes + 1))
    _, gradient = likelihood.value_and_gradient(W)
    for place in [(0, 0), (1, 2), (Z.shape[1] - 1, bags.n_classes)]:
        step = np.zeros_like(W)
        step[place] = 1e-6
        up, down = (likelihood.value_and_gradient(W + sign * step)[0] for sign in (1, -1))
        assert np.isclose((up - down) / 2e-6, gradient[place], rtol=1e-4, atol=1e-5)


def test_a_pretrained_classifier_predicts_from_few_tags(tmp_path):
    bags, truth = birds(n_bags=120)
    noise = 2 * np.random.default_rng(1).normal(size=(bags.n_segments, 30))
    bags = with_columns(bags, noise, grouped=False)
    known = pretrained_for(bags, truth, unknown=0)
    few = BagSet(bags.X, bags.offsets, bags.tags, bags.classes, pretrained=known)
    rows = bags.offsets[8]
    helped, alone = (ORedLR().fit(some[:8]) for some in (few, bags))
    right, plain = (
        float((model.predict_proba(bags.X[rows:]).argmax(axis=1) == truth[rows:]).mean()) for model in (helped, alone)
    )
    assert helped.trusts_pretrained_ and not alone.trusts_pretrained_
    assert right > plain + 0.05
    helped.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.predict_tags(few), helped.predict_tags(few))
    again = ORedLR().fit(few[:9], warm_start=loaded)
    assert again.gains_ == loaded.gains_ and len(again.curve_) <= len(helped.curve_)


def test_a_wrong_classifier_is_not_used():
    bags, truth = birds(n_bags=60)
    wrong = pretrained_for(bags, (truth + 1) % 3, unknown=0)
    model = ORedLR().fit(BagSet(bags.X, bags.offsets, bags.tags, bags.classes, pretrained=wrong))
    assert not model.trusts_pretrained_
    np.testing.assert_allclose(model.predict_proba(bags.X).argmax(axis=1), truth)


def test_unknown_classes_have_no_pretrained_score():
    bags, truth = birds(n_bags=20)
    scores = PretrainedScores.fit(bags.X, pretrained_for(bags, truth, unknown=1))(bags.X)
    assert not scores[:, 1].any()
    np.testing.assert_allclose(scores.mean(axis=0), 0.0, atol=1e-9)


def test_models_of_earlier_versions_are_read(tmp_path):
    bags, _ = birds(n_bags=10)
    model = ORedLR(alpha=1.0).fit(bags)
    model.save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("__header__").tobytes())
    for name in ("gains_", "trusts_pretrained_", "groups_", "pretrainedkinds_"):
        del header["values"][name]
    arrays["__header__"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "old.npz", **arrays)
    np.testing.assert_array_equal(load_model(tmp_path / "old.npz").annotate(bags), model.annotate(bags))
    ORedLR(alpha=1.0).fit(bags, warm_start=load_model(tmp_path / "old.npz"))
