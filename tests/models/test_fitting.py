"""What holds for the fit and the predictions of every model: refused bags, cancelled fits, and features."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from miml_core import BagSet, BagtagError
from miml_core.models import MODELS
from tests.models.test_estimators import FIRST, REPORTING, assert_same_state, make_bags

QUICK = {
    **FIRST,
    "ored-lr": {"max_iter": 4, "alpha": 1.0, "background": True, "background_kinds": 1},
    "sim": {"T": 1, "K": 2},
    "mimlfast": {"m": 2},
}


class Cancelled(Exception):
    """Raised by the progress of a fit."""


def cancel_at(call: int):
    """Return a progress that cancels at one of its calls, counted from 0, and the list of its calls."""
    calls = []

    def progress(step, of, info):
        calls.append(step)
        if len(calls) > call:
            raise Cancelled

    return progress, calls


@pytest.mark.parametrize("name", sorted(REPORTING))
def test_a_fit_that_is_cancelled_at_any_call_leaves_nothing(name):
    bags, model = make_bags()[:15], MODELS[name](**QUICK[name])
    progress, calls = cancel_at(100_000)
    model.fit(bags, progress=progress)
    n = len(calls)
    assert n > 3
    for call in sorted({*range(min(n, 6)), *range(6, n, 5), n - 1}):
        with pytest.raises(Cancelled):
            model.fit(bags, progress=cancel_at(call)[0])
        assert model._fitted_names() == []
        with pytest.raises(NotFittedError):
            check_is_fitted(model)


@pytest.mark.parametrize("name", MODELS)
def test_fit_refuses_what_is_no_bag_set_and_keeps_the_earlier_fit(name):
    bags = make_bags()
    model = MODELS[name](**QUICK[name]).fit(bags)
    before = MODELS[name](**QUICK[name]).fit(bags)
    for data in (bags.X, None, [bags]):
        with pytest.raises(BagtagError, match="must be a BagSet"):
            model.fit(data)
        with pytest.raises(BagtagError, match="must be a BagSet"):
            model.annotate(data)
    assert_same_state(model, before)


@pytest.mark.parametrize("name", MODELS)
def test_features_that_are_no_finite_numbers_are_refused(name):
    bags = make_bags()
    model = MODELS[name](**QUICK[name]).fit(bags)
    infinite, missing = bags.X.copy(), bags.X.copy()
    infinite[3, 1], missing[3, 1] = -np.inf, np.nan
    with pytest.raises(BagtagError, match="infinite"):
        model.predict_proba(infinite)
    changed = make_bags()
    changed.X[:] = infinite
    with pytest.raises(BagtagError, match="infinite"):
        model.fit(changed)
    with pytest.raises(BagtagError, match="must be numbers"):
        model.predict_proba([["a"] * 4])
    if not model.handles_missing:
        gaps = BagSet(missing, bags.offsets, bags.tags, bags.classes, bags.labels, allow_missing=True)
        with pytest.raises(BagtagError, match="some are missing"):
            model.fit(gaps)
    check_is_fitted(model)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_bags_with_other_classes_are_refused(name):
    bags = make_bags()
    model = MODELS[name](**QUICK[name]).fit(bags)
    turned = BagSet(bags.X, bags.offsets, bags.tags[:, ::-1], bags.classes[::-1])
    wider = BagSet(bags.X, bags.offsets, np.repeat(bags.tags, 2, axis=1), list("abcdef"))
    for other in (turned, wider):
        with pytest.raises(BagtagError, match="classes have changed"):
            model.predict_tags(other)
        with pytest.raises(BagtagError, match="classes have changed"):
            model.annotate(other)


@pytest.mark.parametrize("name", MODELS)
def test_no_segments_have_no_probabilities(name):
    model = MODELS[name](**QUICK[name]).fit(make_bags())
    assert model.predict_proba(np.zeros((0, 4))).shape == (0, 3 + model.has_background)


@pytest.mark.parametrize("name", MODELS)
def test_the_error_of_an_unfitted_model_is_also_that_of_scikit_learn(name):
    bags, model = make_bags(), MODELS[name]()
    for predict, data in ((model.predict_proba, bags.X), (model.annotate, bags), (model.predict_tags, bags)):
        with pytest.raises(NotFittedError, match="not been trained") as raised:
            predict(data)
        assert isinstance(raised.value, BagtagError)
