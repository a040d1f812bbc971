"""Multi-instance mixtures against the paper's own formulas and claims."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from miml_core import BACKGROUND, BagSet, BagtagError
from miml_core.models import load_model
from miml_core.models.mimm import MIMM
from miml_core.models.mixture_components import make_family
from miml_core.models.temperatures import NOT_CALIBRATED

FAMILIES = ("gaussian-diag", "gaussian-full", "bernoulli", "multinomial", "markov")


def blobs(n_bags: int, size: int = 5, share: float = 0.2, variance: float = 5.0, seed: int = 0):
    """The paper's synthetic data (8.1): positives about (0, 0), negatives about (5, 5); label 0 is positive."""
    rng = np.random.default_rng(seed)
    positive = rng.random((n_bags, size)) < share
    positive[0, 0] = True
    X = np.where(positive[..., None], 0.0, 5.0) + np.sqrt(variance) * rng.standard_normal((n_bags, size, 2))
    tags = np.where(positive.any(axis=1), 1, -1)[:, None]
    return BagSet(X.reshape(-1, 2), np.arange(n_bags + 1) * size, tags, ["positive"]), positive.ravel()


def discrete(kind: str, seed: int = 0) -> BagSet:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2 if kind == "bernoulli" else 3, (60, 5)).astype(float)
    if kind == "markov":
        X[::4, 3:] = np.nan
    tags = np.sign(rng.standard_normal((20, 2))).astype(int)
    return BagSet(X, np.arange(21) * 3, tags, ["a", "b"], allow_missing=True)


def test_one_label_has_the_paper_s_adjusted_responsibilities():
    bags, _ = blobs(12)
    model = MIMM(restarts=0, max_iter=3).fit(bags)
    model.set_calibration(NOT_CALIBRATED)
    Z = model._reduce(bags.X)
    each = [norm.pdf(Z, model.mean_[k], np.sqrt(model.variance_[k])).prod(axis=1) for k in (0, 1)]
    joint = model.weights_ * np.stack(each, axis=1)
    gamma = joint[:, 0] / joint.sum(axis=1)
    alpha = np.multiply.reduceat(1 - gamma, bags.offsets[:-1])
    omega = np.where(bags.tags[bags.bag_of, 0] > 0, gamma / (1 - alpha[bags.bag_of]), 0)
    np.testing.assert_allclose(model.annotate(bags)[:, 0], omega, atol=1e-12)
    np.testing.assert_allclose(model.predict_tags(bags)[:, 0], 1 - alpha, atol=1e-12)


@pytest.mark.parametrize("components", FAMILIES)
@pytest.mark.parametrize("supervision", ["tags", "mm", "mmu"])
def test_the_objective_never_falls(components, supervision):
    bags = blobs(30)[0] if components.startswith("gaussian") else discrete(components)
    for n_components in (1, 2):
        model = MIMM(components=components, n_components=n_components, supervision=supervision, restarts=1, max_iter=40)
        curve = np.array(model.fit(bags).curve_)
        assert (np.diff(curve) > -1e-7 * np.abs(curve[:-1])).all()


def test_full_gaussians_with_missing_values_still_climb_and_integrate_them_out():
    bags, _ = blobs(30)
    X = bags.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 1.0
    gappy = BagSet(X, bags.offsets, bags.tags, bags.classes, allow_missing=True)
    for components in ("gaussian-full", "gaussian-diag"):
        model = MIMM(components=components, restarts=0, max_iter=50).fit(gappy)
        assert (np.diff(model.curve_) > -1e-8 * np.abs(model.curve_[:-1])).all()
        assert np.isfinite(model.predict_proba(X)).all()
    family = make_family("gaussian-full")
    mean, covariance = np.array([[1.0, 2.0, 0.0]]), np.array([[[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.5]]])
    seen = family.log_density(np.array([[0.5, np.nan, 1.0]]), {"mean": mean, "covariance": covariance})
    keep = [0, 2]
    exact = multivariate_normal.logpdf([0.5, 1.0], mean[0, keep], covariance[0][np.ix_(keep, keep)])
    assert seen[0, 0] == pytest.approx(exact)


def test_missing_values_are_refused_where_nothing_can_be_made_of_them():
    with pytest.raises(BagtagError, match="bag 0"):
        BagSet([[np.nan, 1.0]], [0, 1], [[1]], ["a"])
    gappy = BagSet([[np.nan, 1.0], [0.0, 2.0]], [0, 1, 2], [[1], [-1]], ["a"], allow_missing=True)
    with pytest.raises(BagtagError, match="pca"):
        MIMM(pca=1).fit(gappy)


def test_markov_chains_are_distinguished_by_their_moves():
    """Same states, other moves: one kind stays, the other alternates."""
    rng = np.random.default_rng(0)
    stays = rng.random(80) < 0.5
    first = rng.integers(0, 2, 80)
    moves = rng.random((80, 9)) < np.where(stays, 0.1, 0.9)[:, None]
    X = (first[:, None] + np.concatenate([np.zeros((80, 1)), moves.cumsum(axis=1)], axis=1)) % 2
    tags = np.stack([stays.reshape(40, 2).any(axis=1), (~stays).reshape(40, 2).any(axis=1)], axis=1) * 2 - 1
    bags = BagSet(X, np.arange(41) * 2, tags, ["stays", "alternates"])
    model = MIMM(components="markov", background=False).fit(bags)
    assert ((model.predict_proba(X)[:, 0] > 0.5) == stays).mean() > 0.95
    assert model.theta_[0, 2:].reshape(2, 2).diagonal().min() > 0.7


def test_tags_beat_the_semi_supervised_approximations_as_in_the_paper():
    """Figure 3 in shape: small bags, few positives, large overlap; error on new segments, averaged over draws."""
    errors = dict.fromkeys(("tags", "mm", "mmu"), 0.0)
    test, truth = blobs(1000, variance=10.0, seed=999)
    for seed in range(6):
        bags, _ = blobs(40, size=3, variance=10.0, seed=seed)
        for supervision in errors:
            model = MIMM(supervision=supervision, restarts=3, max_iter=100, random_state=seed).fit(bags)
            wrong = ((model.predict_proba(test.X)[:, 0] > 0.5) != truth).mean()
            errors[supervision] += min(wrong, 1 - wrong) / 6
    positive, negative = norm.pdf(test.X, 0, 10**0.5).prod(axis=1), norm.pdf(test.X, 5, 10**0.5).prod(axis=1)
    bayes = ((0.2 * positive > 0.8 * negative) != truth).mean()
    assert errors["tags"] < min(errors["mm"], errors["mmu"])
    assert errors["tags"] < bayes + 0.05


def test_corrections_and_background_are_kept():
    bags, _ = blobs(20)
    labels = np.full(bags.n_segments, -1)
    bag = int(np.flatnonzero(bags.tags[:, 0] > 0)[0])
    labels[bags.offsets[bag]], labels[bags.offsets[bag] + 1] = 0, BACKGROUND
    corrected = bags.replace(labels=labels)
    annotated = MIMM(restarts=1).fit(corrected).annotate(corrected)
    assert annotated[bags.offsets[bag], 0] == 1
    assert annotated[bags.offsets[bag] + 1, 1] == 1


def test_hostile_data_stays_finite():
    rng = np.random.default_rng(0)
    cases = {
        "constant": BagSet(np.ones((4, 3)), [0, 2, 4], [[1], [-1]], ["a"]),
        "duplicates": BagSet(np.repeat([[1.0, 2.0]], 6, axis=0), [0, 3, 6], [[1], [-1]], ["a"]),
        "one bag": BagSet([[1.0], [2.0]], [0, 2], [[1]], ["a"]),
        "a class in every bag": BagSet(rng.normal(size=(6, 2)), [0, 3, 6], [[1, 1], [1, -1]], ["a", "b"]),
        "a class never seen": BagSet(rng.normal(size=(6, 2)), [0, 3, 6], [[1, -1], [1, -1]], ["a", "b"]),
    }
    for components in ("gaussian-diag", "gaussian-full"):
        for name, bags in cases.items():
            model = MIMM(components=components, restarts=1).fit(bags)
            tagged = (bags.tags > 0).any(axis=1)[bags.bag_of]
            np.testing.assert_allclose(model.annotate(bags)[tagged].sum(axis=1), 1.0, err_msg=f"{components}, {name}")
            np.testing.assert_allclose(model.predict_proba(bags.X).sum(axis=1), 1.0, err_msg=f"{components}, {name}")


def test_saved_models_predict_the_same_and_a_warm_start_goes_on(tmp_path):
    bags, _ = blobs(20)
    for components in FAMILIES:
        data = bags if components.startswith("gaussian") else discrete(components)
        model = MIMM(components=components, restarts=1).fit(data)
        model.save(tmp_path / "m.npz")
        assert (load_model(tmp_path / "m.npz").predict_proba(data.X) == model.predict_proba(data.X)).all()
        again = MIMM(components=components, restarts=1).fit(data, warm_start=model)
        assert len(again.curve_) <= 3
        assert again.curve_[-1] >= model.curve_[-1] - 1e-6 * abs(model.curve_[-1])


def test_progress_can_stop():
    bags, _ = blobs(20)
    seen = []
    MIMM(restarts=0).fit(bags, progress=lambda step, of, info: seen.append(info["objective"]) or step == 2)
    assert len(seen) == 2


@pytest.mark.slow
def test_musk1_with_ten_principal_components(data_dir):
    """The paper reports 89.1 % bag accuracy (ten times ten folds); one time here."""
    bags = BagSet.from_npz(data_dir / "miml" / "musk1.npz")
    order = np.random.default_rng(0).permutation(bags.n_bags)
    right = 0
    for fold in range(10):
        test = np.sort(order[fold::10])
        model = MIMM(components="gaussian-full", pca=10).fit(bags[np.setdiff1d(order, test)])
        right += ((model.predict_tags(bags[test]) > 0.5) == (bags.tags[test] > 0)).sum()
    assert right / bags.n_bags >= 0.86


def test_a_flag_that_is_none_is_refused_before_it_is_used():
    bags, _ = blobs(5)
    with pytest.raises(BagtagError, match="background must be True or False"):
        MIMM(background=np.array([1, 2])).fit(bags)


@pytest.mark.parametrize("value", [0, 1])
def test_segments_that_are_all_background_need_a_background_class(value):
    bags = BagSet(np.zeros((4, 1)), [0, 2, 4], [[value], [value]], ["wren"], labels=[BACKGROUND] * 4)
    with pytest.raises(BagtagError, match=r"Every segment is labelled background.*background=True"):
        MIMM(background=False, leak=0.01).fit(bags)


@pytest.mark.parametrize("kind", ["bernoulli", "multinomial", "markov"])
def test_new_values_that_a_family_does_not_have_are_refused(kind):
    bags = discrete(kind)
    model = MIMM(components=kind, restarts=0).fit(bags)
    wrong = bags.replace(X=np.where(np.arange(5) == 2, 0.5, bags.X))
    for predict in (
        lambda: model.predict_proba(wrong.X),
        lambda: model.annotate(wrong),
        lambda: model.predict_tags(wrong),
    ):
        with pytest.raises(BagtagError, match=f"{kind!r} need features that are"):
            predict()
