"""MIL-GP-Probit against sampling, quadrature and its paper's claims."""

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.metrics import roc_auc_score

from miml_core import BACKGROUND, BagSet, BagtagError
from miml_core.models import load_model
from miml_core.models.gp_probit import GPProbit, known_signs
from miml_core.models.gp_probit_bags import orthant_probability
from miml_core.models.probit_moments import FREE, IN_POSITIVE_BAG, NEGATIVE, POSITIVE, expected_m


def two_species(n_bags: int = 40, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    """Bags of three kinds of blobs: two species, and noise that is neither."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, (n_bags, 4))
    X = np.array([[0, 0], [4, 0], [0, 4]])[truth.ravel()] + 0.6 * rng.standard_normal((4 * n_bags, 2))
    tags = np.array([[1 if c in row else -1 for c in (0, 1)] for row in truth])
    return BagSet(X, np.arange(n_bags + 1) * 4, tags, ["wren", "robin"]), truth.ravel()


def test_expected_signs_agree_with_sampling():
    rng = np.random.default_rng(0)
    mu = np.array([0.3, -1.0, 0.5, -0.4, 0.2, -2.0])[:, None]
    known = np.array([IN_POSITIVE_BAG, IN_POSITIVE_BAG, NEGATIVE, POSITIVE, FREE, NEGATIVE], dtype=np.int8)[:, None]
    mean, evidence = expected_m(mu, known, np.array([0, 2, 6]))
    m = mu.ravel() + rng.standard_normal((2_000_000, 6))
    kept = (m[:, :2] > 0).any(axis=1) & (m[:, 2] < 0) & (m[:, 3] > 0) & (m[:, 5] < 0)
    np.testing.assert_allclose(mean.ravel(), m[kept].mean(axis=0), atol=0.01)
    assert evidence == pytest.approx(np.log(kept.mean()), abs=0.01)


def test_a_positive_bag_of_hundreds_of_near_certain_negatives_still_has_a_favourite():
    mu = np.full((500, 1), -60.0)
    mu[17] = -50.0
    mean, evidence = expected_m(mu, np.full((500, 1), IN_POSITIVE_BAG, dtype=np.int8), np.array([0, 500]))
    assert np.isfinite(mean).all()
    assert np.isfinite(evidence)
    assert mean[17, 0] > 0
    np.testing.assert_allclose(np.delete(mean.ravel(), 17), -60.0, atol=1e-9)


def test_the_elbo_never_falls():
    bags, _ = two_species()
    for kernel in ("exponential", "gaussian"):
        curve = np.array(GPProbit(kernel=kernel, n_inducing=15, max_iter=60).fit(bags).curve_)
        assert (np.diff(curve) > -1e-9 * np.abs(curve[:-1])).all()
        assert curve[-1] > curve[0] + 1


def test_the_prediction_divides_by_the_standard_deviation():
    bags, _ = two_species()
    model = GPProbit(n_inducing=10).fit(bags)
    whitened, residual = model._project(bags.X[:3])
    rng = np.random.default_rng(0)
    v = model.means_[:, [0]] + np.linalg.cholesky(model.covariance_) @ rng.standard_normal((10, 400_000))
    m = whitened.T @ v + np.sqrt(1 + residual)[:, None] * rng.standard_normal((3, 400_000))
    np.testing.assert_allclose(model.predict_each(bags.X[:3])[:, 0], (m > 0).mean(axis=1), atol=0.005)
    mean, variance = model._moments(whitened, residual)
    slip = ndtr(mean / (1 + variance))[:, 0]
    assert np.abs(slip - (m > 0).mean(axis=1)).max() > 0.01


def test_bag_probabilities_account_for_dependence():
    bags, truth = two_species(10)
    model = GPProbit(n_inducing=10).fit(bags)
    by_points = model.predict_tags(bags)
    whitened, residual = model._project(bags.X)
    for bag in range(3):
        rows = bags.rows(bag)
        exact = orthant_probability(model.means_, model.covariance_, whitened[:, rows], residual[rows])
        np.testing.assert_allclose(by_points[bag], exact, atol=5e-3)
    noise = bags.X[truth == 2][:1]
    same = BagSet(np.repeat(noise, 12, axis=0), [0, 12], bags.tags[:1], bags.classes)
    independent = 1 - (1 - model.predict_each(same.X)).prod(axis=0)
    assert (model.predict_tags(same)[0] < independent - 0.05).any()


def test_gibbs_samples_the_exact_posterior():
    """One inducing value: the posterior of v is a one-dimensional integral that can be done on a grid."""
    bags = BagSet([[0.0], [0.3], [0.1], [-0.2]], [0, 2, 4], [[1], [-1]], ["a"])
    model = GPProbit(inference="gibbs", n_inducing=1, n_samples=20_000, burn_in=200, random_state=3).fit(bags)
    whitened, _ = model._project(bags.X)
    v = np.linspace(-8, 8, 20_001)
    p = ndtr(np.outer(v, whitened[0]))
    density = np.exp(-0.5 * v**2) * (1 - (1 - p[:, 0]) * (1 - p[:, 1])) * (1 - p[:, 2]) * (1 - p[:, 3])
    density /= density.sum()
    exact = (density * v).sum()
    assert model.means_[0, 0] == pytest.approx(exact, abs=4 * np.sqrt((density * (v - exact) ** 2).sum() / 200))


def test_variational_and_gibbs_agree_and_find_the_species():
    bags, truth = two_species(60)
    for inference in ("vi", "gibbs"):
        model = GPProbit(inference=inference, n_inducing=20, n_samples=300, burn_in=100, background=True)
        probabilities = model.fit(bags).annotate(bags)
        assert (probabilities.argmax(axis=1) == truth).mean() > 0.9, inference
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_corrections_fix_signs_and_are_kept():
    bags, _ = two_species(6)
    labels = np.full(24, -1)
    labels[0] = BACKGROUND
    tagged = int(np.flatnonzero(bags.tags[1] > 0)[0])
    labels[5] = tagged
    corrected = bags.replace(labels=labels)
    known = known_signs(corrected)
    assert (known[0] == NEGATIVE).all()
    assert known[5, tagged] == POSITIVE
    assert known[4, tagged] == FREE
    model = GPProbit(n_inducing=5, background=True, leak=0.01).fit(corrected)
    annotated = model.annotate(corrected)
    assert annotated[0, -1] == 1
    assert annotated[5, tagged] == 1


def test_the_background_has_to_be_earned():
    """Without noise in the bags hardly a segment is called background, though one call would explain each tag."""
    rng = np.random.default_rng(0)
    species = np.arange(60) % 3
    X = np.array([[0, 0], [4, 0], [0, 4]])[np.repeat(species, 8)] + 1.5 * rng.standard_normal((480, 2))
    bags = BagSet(X, np.arange(61) * 8, np.where(species[:, None] == np.arange(3), 1, -1), list("abc"))
    model = GPProbit(n_inducing=15, background=True, leak=0.01).fit(bags)
    assert (model.annotate(bags).argmax(axis=1) == np.repeat(species, 8)).mean() > 0.9
    model.background_shift_ = 0.0
    assert (model.annotate(bags).argmax(axis=1) == np.repeat(species, 8)).mean() < 0.8


def test_informativeness_is_highest_where_the_model_is_least_certain():
    bags, _ = two_species()
    model = GPProbit(n_inducing=15).fit(bags)
    at_noise, between = model.informativeness(np.array([[0.0, 4.0], [2.0, -6.0]]))
    assert between > at_noise > 0


def test_hostile_data_stays_finite():
    cases = {
        "constant": BagSet(np.ones((4, 3)), [0, 2, 4], [[1], [-1]], ["a"]),
        "one bag": BagSet([[1.0], [2.0]], [0, 2], [[1]], ["a"]),
        "in every bag": BagSet(np.random.default_rng(0).normal(size=(6, 2)), [0, 3, 6], [[1, 1], [1, -1]], ["a", "b"]),
    }
    for name, bags in cases.items():
        model = GPProbit(background=True, leak=0.01).fit(bags)
        np.testing.assert_allclose(model.annotate(bags).sum(axis=1), 1.0, err_msg=name)
        tags = model.predict_tags(bags)
        assert ((tags > 0) & (tags < 1)).all(), name


def test_saved_models_predict_the_same(tmp_path):
    bags, _ = two_species(8)
    for inference in ("vi", "gibbs"):
        model = GPProbit(inference=inference, n_inducing=4, n_samples=20, burn_in=5).fit(bags)
        model.save(tmp_path / "m.npz")
        loaded = load_model(tmp_path / "m.npz")
        assert (loaded.predict_proba(bags.X) == model.predict_proba(bags.X)).all()
        assert (loaded.predict_tags(bags) == model.predict_tags(bags)).all()


def test_progress_can_stop_and_a_warm_start_goes_on():
    bags, _ = two_species()
    seen = []
    GPProbit(n_inducing=8).fit(bags, progress=lambda step, of, info: seen.append(info["objective"]) or step == 3)
    assert len(seen) == 3
    cold = GPProbit(n_inducing=8, max_iter=200).fit(bags)
    again = GPProbit(n_inducing=8, max_iter=200).fit(bags, warm_start=cold)
    assert len(again.curve_) < len(cold.curve_) / 3
    with pytest.raises(BagtagError, match="kernel"):
        GPProbit(kernel="square").fit(bags)


@pytest.mark.slow
def test_hja_one_against_rest(data_dir):
    """Half the bags for training, exponential kernel, R = 50: mean AUC over species of .778 in the paper."""
    file = np.load(data_dir / "miml" / "hja_birdsong.npz")
    every = BagSet.from_npz(data_dir / "miml" / "hja_birdsong.npz")
    kept = file["instance_label"] >= 0
    truth = file["instance_label"][kept]
    sizes = np.bincount(every.bag_of[kept], minlength=every.n_bags)
    present = sizes > 0
    bags = BagSet(every.X[kept], np.concatenate([[0], np.cumsum(sizes[present])]), every.tags[present], every.classes)
    order = np.random.default_rng(0).permutation(bags.n_bags)
    train, test = np.sort(order[: bags.n_bags // 2]), np.sort(order[bags.n_bags // 2 :])
    each = GPProbit().fit(bags[train]).predict_each(bags[test].X)
    truth = np.concatenate([truth[bags.rows(bag)] for bag in test])
    assert np.mean([roc_auc_score(truth == c, each[:, c]) for c in range(13)]) >= 0.778


def test_a_refit_by_the_other_inference_keeps_nothing_of_the_earlier_fit():
    bags, _ = two_species()
    model = GPProbit(inference="gibbs", n_inducing=10, n_samples=20, burn_in=5).fit(bags)
    model.inference = "vi"
    model.fit(bags)
    fresh = GPProbit(n_inducing=10).fit(bags)
    np.testing.assert_array_equal(model.predict_proba(bags.X), fresh.predict_proba(bags.X))
    np.testing.assert_array_equal(model.predict_tags(bags), fresh.predict_tags(bags))
    assert set(model._state()) == set(fresh._state())


def test_tag_probabilities_of_a_small_bag_are_the_same_each_time():
    bags, _ = two_species()
    model = GPProbit(n_inducing=10).fit(bags)
    one = BagSet(bags.X[:3], [0, 3], bags.tags[:1], bags.classes)
    np.testing.assert_array_equal(model.predict_tags(one), model.predict_tags(one))
