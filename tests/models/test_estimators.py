"""Every model is a scikit-learn estimator: parameters, clone, clean refits, random_state, and old parameter names."""

import inspect
import json
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from miml_core import BACKGROUND, UNKNOWN, BagSet, BagtagError
from miml_core.models import MODELS, load_model
from miml_core.models.base import draw_seed
from miml_core.models.old_names import OLD_NAMES

FIRST = {
    "ored-lr": {"alpha": 1.0, "background": True, "background_kinds": 2, "leak": 0.01, "kernel": "rff"},
    "sim": {"lam": 1e-3, "T": 2, "K": 5, "kernel": "rff", "fourier_pairs": 3},
    "mimlfast": {"K": 2, "m": 5},
    "mimm": {"components": "gaussian-full", "pca": 2, "restarts": 0, "max_iter": 3},
    "gp-probit": {"inference": "gibbs", "n_inducing": 6, "n_samples": 5, "burn_in": 2, "background": True},
    "candidate-em": {"max_iter": 3},
    "supervised-lr": {},
    "majority": {},
}
SECOND = {
    "ored-lr": {"background": False, "kernel": None},
    "sim": {"kernel": None, "aggregate": "max"},
    "mimlfast": {"K": 1, "m": 4},
    "mimm": {"components": "gaussian-diag", "pca": None},
    "gp-probit": {"inference": "vi", "background": False},
    "candidate-em": {"alpha": 0.1},
    "supervised-lr": {"alpha": 0.1},
    "majority": {},
}
REPORTING = {"ored-lr", "sim", "mimlfast", "mimm", "gp-probit", "candidate-em"}
"""Models whose fit takes long enough to report progress."""
STOCHASTIC = [name for name in MODELS if "random_state" in MODELS[name]().get_params()]


def make_bags(n_classes: int = 3, n_features: int = 4, seed: int = 0) -> BagSet:
    """Bags of two segments, both labelled in every third bag; no bag has all tags."""
    rng = np.random.default_rng(seed)
    truth = np.column_stack([np.arange(30) % n_classes, rng.integers(0, n_classes, 30)])
    tags = np.full((30, n_classes), -1)
    np.put_along_axis(tags, truth, 1, axis=1)
    X = rng.normal(size=(n_classes, n_features))[truth.ravel()] * 3 + rng.normal(size=(60, n_features))
    labels = np.where(np.arange(30)[:, None] % 3 == 0, truth, -1)
    return BagSet(X, np.arange(0, 61, 2), tags, [f"class {c}" for c in range(n_classes)], labels.ravel())


def assert_same_state(model, other) -> None:
    state, wanted = model._state(), other._state()
    assert state.keys() == wanted.keys()
    for name, value in state.items():
        np.testing.assert_array_equal(value, wanted[name], err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_a_refit_equals_a_fresh_fit(name):
    first, other = make_bags(), make_bags(n_classes=2, n_features=3, seed=1)
    model = MODELS[name](**FIRST[name]).fit(first)
    model.set_params(**SECOND[name]).fit(other)
    fresh = MODELS[name](**{**FIRST[name], **SECOND[name]}).fit(other)
    assert_same_state(model, fresh)
    np.testing.assert_array_equal(model.annotate(other), fresh.annotate(other))
    np.testing.assert_array_equal(model.predict_tags(other), fresh.predict_tags(other))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_an_estimator(name):
    bags, model = make_bags(), MODELS[name](**FIRST[name])
    assert isinstance(model, BaseEstimator)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    for predict, data in ((model.predict_proba, bags.X), (model.annotate, bags), (model.predict_tags, bags)):
        with pytest.raises(BagtagError, match="not been trained"):
            predict(data)
    check_is_fitted(model.fit(bags))
    copy = clone(model)
    assert copy.get_params(deep=True) == model.get_params() and not copy._fitted_names()
    assert_same_state(copy.fit(bags), model)
    with pytest.raises(ValueError, match="seeds"):
        model.set_params(seeds=3)


@pytest.mark.parametrize("name", MODELS)
def test_a_constructor_only_stores(name):
    wrong = {param: object() for param in MODELS[name]().get_params()}
    assert MODELS[name](**wrong).get_params(deep=False) == wrong
    if wrong:
        with pytest.raises(BagtagError, match=" must be "):
            MODELS[name](**wrong).fit(make_bags())


@pytest.mark.parametrize(
    ("name", "param", "bad"),
    [
        ("ored-lr", "max_iter", 0),
        ("ored-lr", "background", "maybe"),
        ("gp-probit", "background", "maybe"),
        ("mimm", "background", None),
        ("sim", "calibrated", 2),
        ("ored-lr", "tol", -1e-3),
        ("ored-lr", "leak", 1.0),
        ("ored-lr", "most_background", 1.5),
        ("ored-lr", "alpha", "best"),
        ("ored-lr", "prune", float("nan")),
        ("ored-lr", "solver", "adam"),
        ("ored-lr", "random_state", -5),
        ("ored-lr", "random_state", "seven"),
        ("sim", "K", 2.5),
        ("mimlfast", "gamma0", 0.0),
        ("mimlfast", "K", 0),
        ("mimm", "components", "cauchy"),
        ("mimm", "supervision", "all"),
        ("gp-probit", "kernel", "square"),
        ("gp-probit", "inference", "mcmc"),
        ("gp-probit", "n_inducing", 0),
        ("candidate-em", "max_iter", 0),
        ("supervised-lr", "alpha", -1.0),
    ],
)
def test_fit_refuses_a_bad_parameter_and_keeps_the_earlier_fit(name, param, bad):
    bags = make_bags()
    model = MODELS[name](**FIRST[name]).fit(bags)
    before = model._state()
    with pytest.raises(BagtagError, match=param):
        model.set_params(**{param: bad}).fit(bags)
    assert model._state().keys() == before.keys()


@pytest.mark.parametrize("name", STOCHASTIC)
def test_random_state_may_be_a_number_a_generator_or_none(name):
    bags, params = make_bags(), {**FIRST[name]}
    seeds = [np.int64(3), np.random.default_rng(3), np.random.RandomState(3), None]
    for seed in seeds:
        assert np.isfinite(MODELS[name](random_state=seed, **params).fit(bags).annotate(bags)).all()
    pairs = [(3, 3), (np.random.default_rng(3), np.random.default_rng(3))]
    for one, same in pairs:
        assert_same_state(MODELS[name](random_state=one, **params).fit(bags),
                          MODELS[name](random_state=same, **params).fit(bags))  # fmt: skip


def test_a_generator_gives_another_seed_to_each_fit_and_is_saved_as_none(tmp_path):
    bags, rng = make_bags(), np.random.default_rng(1)
    model = MODELS["mimlfast"](K=1, m=3, random_state=rng)
    first, second = model.fit(bags).concepts_, model.fit(bags).concepts_
    assert (first != second).any()
    assert draw_seed(None) != draw_seed(None)
    model.save(tmp_path / "model.npz")
    assert load_model(tmp_path / "model.npz").random_state is None


@pytest.mark.parametrize("name", STOCHASTIC)
def test_a_model_may_continue_from_itself(name):
    bags = make_bags()
    model = MODELS[name](**FIRST[name]).fit(bags)
    other = MODELS[name](**FIRST[name]).fit(bags, warm_start=clone(model).fit(bags))
    assert_same_state(model.fit(bags, warm_start=model), other)


@pytest.mark.parametrize("name", MODELS)
def test_a_cancelled_refit_leaves_no_half_fitted_model(name):
    """A fit that takes less than a second may report no progress, and then cannot be cancelled."""
    bags = make_bags()
    model = MODELS[name](**FIRST[name]).fit(bags)
    called = []

    def cancel(step, of, info):
        called.append(step)
        raise KeyboardInterrupt

    try:
        model.fit(bags, progress=cancel)
        was_cancelled = False
    except KeyboardInterrupt:
        was_cancelled = True
    assert was_cancelled == bool(called)
    assert was_cancelled == (name in REPORTING)
    if was_cancelled:
        with pytest.raises(BagtagError, match="not been trained"):
            model.predict_proba(bags.X)


# names of version 0.1

OLD_CALLS = [
    ("ored-lr", {"max_iterations": 7, "tolerance": 0.1, "seed": 3}),
    ("gp-probit", {"n_iter": 7, "seed": 3}),
    ("mimm", {"n_iter": 7, "seed": 3}),
    ("sim", {"seed": 3}),
    ("mimlfast", {"seed": 3}),
    ("candidate-em", {"iterations": 7}),
]


@pytest.mark.parametrize(("name", "old"), OLD_CALLS)
def test_constructors_take_the_old_names_with_a_warning(name, old):
    with pytest.warns(DeprecationWarning, match="is now called") as reported:
        model = MODELS[name](**old)
    assert len(reported) == len(old) and all(one.filename == __file__ for one in reported)
    wanted = {OLD_NAMES[param]: value for param, value in old.items()}
    assert {param: model.get_params()[param] for param in wanted} == wanted
    shown = inspect.signature(MODELS[name]).parameters.keys() | model.get_params().keys()
    assert not shown & OLD_NAMES.keys()


def test_an_old_name_beside_its_new_one_is_refused():
    with pytest.raises(TypeError, match="'random_state' and its old name 'seed'"):
        MODELS["sim"](seed=1, random_state=2)
    with pytest.raises(TypeError, match="seed"):
        MODELS["majority"](seed=1)


@pytest.mark.parametrize(("name", "old"), OLD_CALLS)
def test_files_of_the_earlier_version_load_without_a_warning(tmp_path, name, old):
    bags = make_bags()
    params = {**FIRST[name], **MODELS[name].current_names(old)}
    model = MODELS[name](**params).fit(bags)
    model.save(tmp_path / "new.npz")
    with np.load(tmp_path / "new.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays["__header__"].tobytes())
    for param in old:
        header["params"][param] = header["params"].pop(OLD_NAMES[param])
    header["params"].pop("tol", None)  # new in some models
    arrays["__header__"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "old.npz", **arrays)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_model(tmp_path / "old.npz")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.annotate(bags), model.annotate(bags))


@pytest.mark.parametrize("name", MODELS)
def test_fit_ignores_y(name):
    bags, params = make_bags(), FIRST[name]
    usual = MODELS[name](**params).fit(bags)
    for model in (
        MODELS[name](**params).fit(bags, None),
        MODELS[name](**params).fit(bags, y=np.zeros(30), progress=lambda *_: False),
        Pipeline([("model", MODELS[name](**params))]).fit(bags)["model"],
    ):
        assert_same_state(model, usual)
    assert list(inspect.signature(usual.fit).parameters)[:2] == ["bags", "y"]


def test_a_model_whose_fit_has_no_y_accepts_it_too():
    class Simple(MODELS["majority"]):
        def fit(self, bags, *, progress=None, warm_start=None):
            return super().fit(bags)

    assert Simple().fit(make_bags(), None).n_features_ == 4


@pytest.mark.parametrize(
    "name, params",
    [("mimlfast", {"K": 1}), ("gp-probit", {"background": False}), ("sim", {"loss": "hamming", "lam": 1e-3})],
)
@pytest.mark.parametrize("label", [UNKNOWN, BACKGROUND])
def test_bags_without_any_tag_are_refused_with_what_to_do(name, params, label):
    bags = make_bags()
    bags = bags.replace(tags=np.full_like(bags.tags, -1), labels=np.full(bags.n_segments, label))
    with pytest.raises(BagtagError, match=r"No bag has a tag: all tags are absent.*tag some bags first"):
        MODELS[name](**params).fit(bags)
