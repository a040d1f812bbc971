"""Features of any unit and size: very small, very large and constant ones, in training and in new segments."""

import warnings

import numpy as np
import pytest

from miml_core import BagSet, BagtagError
from miml_core.models import MODELS
from miml_core.models.mimm import MIMM
from tests.models.sim_bags import random_bags

PARAMS = {
    "ored-lr": {"leak": 0.01, "alpha": 1.0},
    "sim": {"lam": 1e-3},
    "mimlfast": {"K": 1},
    "mimm": {"leak": 0.01, "restarts": 1},
    "gp-probit": {"leak": 0.01},
}
FROM_FEATURES = [name for name in MODELS if name != "majority"]
BAGS, TRUTH = random_bags(unknown=0.0, corrected=0.0, n_bags=30)


def fit(name, bags: BagSet, **params):
    """Fit a model; a warning of NumPy is an error."""
    bags = bags.replace(labels=TRUTH) if name == "supervised-lr" else bags
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return MODELS[name](**PARAMS.get(name, {}) | params).fit(bags)


def assert_distributions(rows) -> None:
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-9)


@pytest.mark.parametrize("unit", [1e-13, 1e-160, 1e-300, 1e155, 1e200, 1e299])
@pytest.mark.parametrize("name", FROM_FEATURES)
def test_the_unit_of_a_feature_does_not_matter(name, unit):
    usual = fit(name, BAGS).predict_proba(BAGS.X)
    X = BAGS.X * unit
    found = fit(name, BAGS.replace(X=X)).predict_proba(X)
    assert_distributions(found)
    assert (found.argmax(axis=1) == usual.argmax(axis=1)).mean() > 0.95


@pytest.mark.parametrize("name", FROM_FEATURES)
def test_features_too_small_to_divide_by_count_as_constant(name):
    X = np.round(BAGS.X) * 5e-324
    model = fit(name, BAGS.replace(X=X), **({"n_inducing": len(X)} if name == "gp-probit" else {}))
    assert_distributions(model.predict_proba(X))
    assert_distributions(model.predict_proba(BAGS.X))


@pytest.mark.parametrize("size", [1e6, 1e100, 1e160, 1e300])
@pytest.mark.parametrize("name", FROM_FEATURES)
def test_new_features_of_any_size_give_probabilities(name, size):
    model = fit(name, BAGS)
    bags = BAGS.replace(X=np.sign(BAGS.X) * np.minimum(np.abs(BAGS.X), 1.0) * size)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_distributions(model.predict_proba(bags.X))
        assert_distributions(model.annotate(bags))
        tags = model.predict_tags(bags)
    assert ((tags >= 0) & (tags <= 1)).all()


@pytest.mark.parametrize("name", MODELS)
def test_features_too_large_to_add_are_refused(name):
    with pytest.raises(BagtagError, match=r"Feature 1 of segment 0 of bag 0 is -1\.7e\+308, too large to compute"):
        BAGS.replace(X=np.where(np.arange(3) == 1, -1.7e308, BAGS.X))
    model = fit(name, BAGS)
    with pytest.raises(BagtagError, match=r"absolute value 1\.7e\+308, too large to compute with.*larger unit"):
        model.predict_proba(np.full((2, 3), 1.7e308))


def test_a_large_feature_next_to_a_missing_one_is_refused_as_too_large():
    X = np.where(np.arange(3) == 1, np.nan, BAGS.X)
    bags = BagSet(X, BAGS.offsets, BAGS.tags, BAGS.classes, allow_missing=True)
    model = MIMM(leak=0.01, restarts=1).fit(bags)
    assert_distributions(model.predict_proba(X))
    with pytest.raises(BagtagError, match="too large to compute with"):
        model.predict_proba([[np.nan, 0.0, 1.7e308]])


@pytest.mark.parametrize("components", ["gaussian-diag", "gaussian-full"])
def test_a_feature_that_no_segment_has_changes_nothing_and_warns_of_nothing(components):
    def found(X):
        bags = BagSet(X, BAGS.offsets, BAGS.tags, BAGS.classes, allow_missing=True)
        return fit("mimm", bags, components=components, restarts=0).predict_proba(X)

    none, constant = np.insert(BAGS.X, 1, np.nan, axis=1), np.insert(BAGS.X, 1, 7.0, axis=1)
    assert_distributions(found(none))
    assert (found(none).argmax(axis=1) == found(constant).argmax(axis=1)).mean() > 0.95


@pytest.mark.parametrize("name", ["mimm", "gp-probit"])
def test_a_constant_feature_of_any_size_changes_nothing(name):
    def found(constant):
        X = np.insert(BAGS.X, 1, constant, axis=1)
        return fit(name, BAGS.replace(X=X)).predict_proba(X)

    np.testing.assert_allclose(found(1e250), found(0.0), atol=1e-6)
