"""ORed-LR: gradients, monotone EM, what it learns from, and the paper's figures on real data."""

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet, BagtagError
from miml_core.evaluation.benchmark import bag_folds, measure_corrections
from miml_core.evaluation.data_sets import find_sets
from miml_core.impossible_bags import refuse_impossible_bags
from miml_core.models import load_model
from miml_core.models.ored_lr import ORedLR
from miml_core.models.ored_lr_likelihood import MarginalLikelihood
from miml_core.models.ored_lr_start import informative_bags
from miml_core.posterior import bag_posterior


def birds(n_bags: int = 60, noise: bool = False, seed: int = 0) -> tuple[BagSet, np.ndarray]:
    """Three species in the plane, four segments per bag; with `noise` a fourth kind that nobody tags."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4 if noise else 3, (n_bags, 4))
    centres = np.array([[0, 0], [5, 0], [0, 5], [5, 5]])
    X = centres[truth.ravel()] + 0.7 * rng.standard_normal((4 * n_bags, 2))
    tags = np.array([[1 if c in row else -1 for c in range(3)] for row in truth])
    return BagSet(X, np.arange(n_bags + 1) * 4, tags, ["wren", "robin", "owl"]), truth.ravel()


@pytest.mark.parametrize("background_columns", [0, 1, 3])
def test_the_gradient_by_finite_differences(background_columns):
    bags, _ = birds(12)
    tags = bags.tags.copy()
    tags[0] = 0
    labels = np.full(bags.n_segments, UNKNOWN)
    labels[5] = int(np.flatnonzero(tags[1] > 0)[0])
    if background_columns:
        labels[9] = BACKGROUND
    Z = np.concatenate([bags.X, np.ones((bags.n_segments, 1))], axis=1)
    objective = MarginalLikelihood(Z, bags.replace(tags=tags, labels=labels), leak=0.05, alpha=0.3)
    W = 0.2 * np.random.default_rng(1).standard_normal((3, 3 + background_columns))
    _, gradient = objective.value_and_gradient(W)
    for place in np.ndindex(W.shape):
        bump = np.zeros_like(W)
        bump[place] = 1e-5
        slope = (objective.value_and_gradient(W + bump)[0] - objective.value_and_gradient(W - bump)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


def test_em_never_falls_and_ends_where_the_quasi_newton_does():
    bags, _ = birds()
    em = ORedLR(alpha=1.0, solver="em", max_iter=300).fit(bags)
    assert (np.diff(em.curve_) >= -1e-9 * np.abs(em.curve_[:-1])).all()
    newton = ORedLR(alpha=1.0).fit(bags)
    assert em.curve_[-1] <= newton.curve_[-1] + 1e-3
    assert em.curve_[-1] > newton.curve_[-1] - 0.05 * abs(newton.curve_[-1])


def test_stochastic_steps_settle_near_the_peak():
    bags, _ = birds(400)
    peak = ORedLR(alpha=1.0).fit(bags)
    sampled = ORedLR(alpha=1.0, solver="stochastic").fit(bags)
    objective = MarginalLikelihood(peak._design_matrix(bags.X), bags, leak=0.0, alpha=1.0)
    best, start = objective.value_and_gradient(peak.weights_)[0], objective.value_and_gradient(0 * peak.weights_)[0]
    assert best - objective.value_and_gradient(sampled.weights_)[0] < 0.02 * (best - start)


def test_the_seed_chooses_the_samples_of_the_stochastic_solver():
    bags, _ = birds(400)
    model = ORedLR(alpha=1.0, solver="stochastic")
    first, again, other = (model.set_params(random_state=seed).fit(bags).weights_ for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("background", [True, 1, np.True_])
def test_a_background_given_as_a_number_explains_bags_without_tags(background):
    bags = BagSet(np.eye(4), [0, 2, 4], [[1], [-1]], ["wren"])
    model = ORedLR(alpha=1.0, background=background).fit(bags)
    np.testing.assert_allclose(model.annotate(bags)[2:], [[0, 1], [0, 1]])


def test_uninformative_features_are_penalised_harder():
    bags, _ = birds(120)
    noise = bags.replace(X=np.random.default_rng(0).standard_normal(bags.X.shape))
    assert ORedLR().fit(noise).alpha_ > 5 * ORedLR().fit(bags).alpha_


def test_alpha_suits_held_out_bags():
    """The alpha chosen makes new bags nearly as likely as the best of a wide grid does."""
    rng = np.random.default_rng(3)
    bags, _ = birds(60)
    wide = bags.replace(X=np.column_stack([bags.X, 3 * rng.standard_normal((bags.n_segments, 30))]))
    fresh, _ = birds(400, seed=9)
    new = fresh.replace(X=np.column_stack([fresh.X, 3 * rng.standard_normal((fresh.n_segments, 30))]))

    def likelihood(model):
        log_prior = np.log(model.predict_proba(new.X))
        return bag_posterior(log_prior, new.offsets, new.tags, leak=1e-3).log_likelihood.sum()

    grid = [likelihood(ORedLR(alpha=alpha).fit(wide)) for alpha in (0.01, 0.1, 1.0, 10.0, 100.0)]
    assert likelihood(ORedLR().fit(wide)) > max(grid) - 0.15 * (max(grid) - min(grid))


def test_a_large_set_is_started_from_a_sample():
    bags, truth = birds(2500)
    model = ORedLR(alpha=1.0).fit(bags)
    assert (model.annotate(bags).argmax(axis=1) == truth).mean() > 0.95


def test_pruning_leaves_out_the_bags_with_most_tags():
    bags, _ = birds()
    n_tags = (bags.tags > 0).sum(axis=1)
    kept = informative_bags(bags, background=False, prune=0.3)
    assert kept.n_bags == round(0.7 * bags.n_bags)
    assert (kept.tags > 0).sum() == np.sort(n_tags)[: kept.n_bags].sum()


def test_a_warm_start_matches_classes_by_name():
    bags, truth = birds()
    earlier = ORedLR(alpha=1.0).fit(bags)
    tags = np.column_stack([np.full(bags.n_bags, -1), bags.tags[:, ::-1]])
    turned = BagSet(bags.X, bags.offsets, tags, ["new", *bags.classes[::-1]])
    model = ORedLR(alpha=1.0, max_iter=1).fit(turned, warm_start=earlier)
    assert (model.annotate(turned).argmax(axis=1) == 3 - truth).mean() > 0.95


@pytest.mark.parametrize(
    "params",
    [{}, {"kernel": "rbf", "dictionary_share": 0.5}, {"kernel": "rff"}, {"solver": "stochastic"}, {"prune": 0.2}],
)
def test_finds_the_species_from_tags_alone(params):
    bags, truth = birds()
    model = ORedLR(**params).fit(bags)
    assert (model.annotate(bags).argmax(axis=1) == truth).mean() > 0.95
    assert (model.predict_proba(bags.X).argmax(axis=1) == truth).mean() > 0.9
    assert ((model.predict_tags(bags) > 0.5) == (bags.tags > 0)).mean() > 0.9


def test_what_is_none_of_the_tags_is_left_to_the_background():
    bags, truth = birds(80, noise=True)
    model = ORedLR(background=True, leak=0.01).fit(bags)
    assert (model.annotate(bags).argmax(axis=1) == truth).mean() > 0.9


def test_corrections_and_unknown_tags_are_learnt_from():
    bags, truth = birds()
    nothing_said = bags.replace(tags=np.zeros_like(bags.tags))
    with pytest.raises(BagtagError, match="tag some bags"):
        ORedLR().fit(nothing_said)
    labels = np.where(np.arange(bags.n_segments) % 5 == 0, truth, UNKNOWN)
    by_labels = ORedLR(alpha=1.0).fit(nothing_said.replace(labels=labels))
    assert (by_labels.predict_proba(bags.X).argmax(axis=1) == truth).mean() > 0.95
    half = bags.tags.copy()
    half[::2] = 0
    assert (ORedLR().fit(bags.replace(tags=half)).annotate(bags).argmax(axis=1) == truth).mean() > 0.95
    annotated = by_labels.annotate(bags.replace(labels=labels))
    assert (annotated[labels >= 0].argmax(axis=1) == labels[labels >= 0]).all()


@pytest.mark.parametrize("background", [True, 1, np.int64(1), np.bool_(True)])
def test_a_bag_without_tags_is_possible_with_a_background_of_any_truth_value(background):
    bags = BagSet(np.zeros((2, 1)), [0, 2], [[-1, -1]], ["a", "b"])
    refuse_impossible_bags(bags, background=background, leak=0.0)
    with pytest.raises(BagtagError, match="No class is left"):
        refuse_impossible_bags(bags, background=not background, leak=0.0)


def test_impossible_bags_are_refused_by_name():
    bags = BagSet(np.eye(3), [0, 1, 3], [[1, 1], [1, -1]], ["a", "b"], names=["dawn.wav", "dusk.wav"])
    with pytest.raises(BagtagError, match="dawn"):
        ORedLR().fit(bags)
    assert np.isfinite(ORedLR(leak=0.01).fit(bags).annotate(bags)).all()


def test_hostile_data_stays_finite():
    rng = np.random.default_rng(0)
    cases = {
        "constant": BagSet(np.ones((4, 3)), [0, 2, 4], [[1], [-1]], ["a"]),
        "one bag": BagSet([[1.0], [2.0]], [0, 2], [[1]], ["a"]),
        "never tagged": BagSet(rng.normal(size=(6, 2)), [0, 3, 6], [[1, -1], [1, -1]], ["a", "b"]),
        "huge": BagSet(1e12 * rng.normal(size=(6, 2)), [0, 3, 6], [[1, -1], [-1, 1]], ["a", "b"]),
    }
    for name, bags in cases.items():
        model = ORedLR(background=True, leak=0.01).fit(bags)
        np.testing.assert_allclose(model.annotate(bags).sum(axis=1), 1.0, err_msg=name)
        tags = model.predict_tags(bags)
        assert ((tags > 0) & (tags < 1)).all(), name


def test_the_same_seed_gives_the_same_numbers_and_saved_models_predict_the_same(tmp_path):
    bags, _ = birds()
    for params in ({}, {"background": True, "leak": 0.01}, {"kernel": "rff"}, {"kernel": "rbf"}):
        model, twin = ORedLR(**params).fit(bags), ORedLR(**params).fit(bags)
        assert (model.weights_ == twin.weights_).all()
        model.save(tmp_path / "m.npz")
        assert (load_model(tmp_path / "m.npz").annotate(bags) == model.annotate(bags)).all()
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    np.savez(tmp_path / "foreign.npz", x=np.ones(3))
    for name in ("cut.npz", "foreign.npz"):
        with pytest.raises(BagtagError, match="not a complete Bagtag model"):
            load_model(tmp_path / name)
    with pytest.raises(BagtagError, match="no model file"):
        load_model(tmp_path / "missing.npz")


def test_a_warm_start_takes_few_steps_and_progress_can_stop():
    bags, truth = birds(120)
    cold = ORedLR(alpha=1.0).fit(bags)
    labels = np.full(bags.n_segments, UNKNOWN)
    labels[:10] = truth[:10]
    warm = ORedLR(alpha=1.0).fit(bags.replace(labels=labels), warm_start=cold)
    assert len(warm.curve_) <= max(3, len(cold.curve_) / 2)
    steps = []
    ORedLR(alpha=1.0).fit(bags, progress=lambda step, of, info: steps.append(step) or len(steps) == 3)
    assert len(steps) <= 6
    with pytest.raises(KeyboardInterrupt):
        ORedLR(alpha=1.0).fit(bags, progress=_interrupt)


def _interrupt(step, of, info):
    raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "params", "least"),
    [
        ("hja_birdsong union", {}, 88.0),
        ("hja_birdsong filtered", {"leak": 0.01}, 80.8),
        ("hja_birdsong unfiltered", {"background": True, "leak": 0.01}, 81.0),
        ("letter_frost", {}, 91.5),
    ],
)
def test_published_figures_with_the_tags_known(data_dir, name, params, least):
    """Transductive accuracy of the paper's Table 5 (its SIM rival's for unfiltered), alpha chosen without labels."""
    (data,) = [one for one in find_sets(data_dir / "miml", [name]) if one.name == name]
    annotated = ORedLR(**params).fit(data.bags).annotate(data.bags)[:, : data.bags.n_classes]
    known = data.truth >= 0
    assert 100 * (annotated.argmax(axis=1) == data.truth)[known].mean() >= least


@pytest.mark.slow
def test_published_figures_on_new_bags(data_dir):
    """Inductive accuracy of the paper's Table 3 on HJA union, on three of the ten folds."""
    (data,) = find_sets(data_dir / "miml", ["hja_birdsong union"])
    right = []
    for train, test in list(bag_folds(data.bags.n_bags, 10, 0))[:3]:
        model = ORedLR().fit(data.bags[train])
        rows = data.bags.rows_of(test)
        right.append((model.predict_proba(data.bags.X[rows]).argmax(axis=1) == data.truth[rows]).mean())
    assert 100 * np.mean(right) > 71


@pytest.mark.slow
def test_corrections_help_with_what_nobody_corrected(data_dir):
    (data,) = find_sets(data_dir / "miml", ["hja_birdsong filtered"])
    row = measure_corrections(data, "ored-lr", [0.0, 20.0], seed=0)["accuracy_on_the_rest"]
    assert row["20"] > row["0"] + 1


ONE_CLASS = {
    "present or absent": np.where(np.arange(24) % 2, 1, -1),
    "present or unknown": np.where(np.arange(24) % 2, 1, 0),
    "present": np.ones(24),
}


@pytest.mark.parametrize("params", [{}, {"kernel": "rff"}, {"alpha": 1.0}, {"kernel": "rff", "alpha": 1.0}])
@pytest.mark.parametrize("tags", ONE_CLASS)
@pytest.mark.parametrize("background", [True, False])
def test_one_class_with_many_columns(params, tags, background):
    X = np.random.default_rng(0).normal(size=(240, 189))
    bags = BagSet(X, np.arange(0, 241, 10), ONE_CLASS[tags][:, None], ["wren"])
    if not background:
        bags = bags[(bags.tags >= 0).any(axis=1)]
    model = ORedLR(background=background, leak=0.01, **params).fit(bags)
    for rows in (model.predict_proba(bags.X), model.annotate(bags)):
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert np.isfinite(model.predict_tags(bags)).all()
