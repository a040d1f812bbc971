"""A fit with any parameters may continue from a fit with any others, of the same model or of another one."""

import itertools

import numpy as np
import pytest

from miml_core import BagSet
from miml_core.models import MODELS
from tests.models.test_estimators import FIRST, make_bags

BASE = {
    "ored-lr": {"max_iter": 5, "alpha": 1.0},
    "sim": {"T": 1, "K": 2, "lam": 1e-3},
    "mimlfast": {"m": 3, "K": 1},
    "mimm": {"restarts": 0, "max_iter": 3},
    "gp-probit": {"n_inducing": 6, "max_iter": 3},
    "candidate-em": {"max_iter": 2},
    "supervised-lr": {},
    "majority": {},
}
VARIANTS = {
    "ored-lr": [{}, {"kernel": "rff"}, {"kernel": "rbf"}, {"background": True}, {"solver": "em"},
                {"background": True, "background_kinds": 2}, {"alpha": 2.0}],
    "sim": [{}, {"kernel": "rff"}, {"aggregate": "max"}, {"aggregate": "max", "optimiser": "cccp"}, {"loss": "hamming"},
            {"calibrated": True}],
    "mimlfast": [{}, {"K": 2}, {"m": 4}],
    "mimm": [{}, {"components": "gaussian-full"}, {"pca": 2}, {"pca": 3}, {"pca": 2, "components": "gaussian-full"},
             {"n_components": 2}, {"n_components": 3, "background": False}, {"background": False},
             {"supervision": "mm"}, {"supervision": "mmu"}],
    "gp-probit": [{}, {"inference": "gibbs", "n_samples": 4, "burn_in": 1}, {"kernel": "gaussian"}, {"n_inducing": 4},
                  {"background": True}],
    "candidate-em": [{}, {"alpha": 0.1}],
    "supervised-lr": [{}, {"alpha": 0.1}],
    "majority": [{}],
}  # fmt: skip


def assert_finite(model, bags: BagSet) -> None:
    for found in (model.predict_proba(bags.X), model.annotate(bags), model.predict_tags(bags)):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("name", MODELS)
def test_any_variant_continues_from_any_other(name):
    bags, kind = make_bags(), MODELS[name]
    variants = [{**BASE[name], **variant} for variant in VARIANTS[name]]
    fits = [kind(**params).fit(bags) for params in variants]
    for params, earlier in itertools.product(variants, fits):
        assert_finite(kind(**params).fit(bags, warm_start=earlier), bags)


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_continues_from_other_bags_or_another_model(name):
    bags, kind, params = make_bags(), MODELS[name], BASE[name]
    others = [make_bags(n_classes=2), make_bags(n_features=3), make_bags(n_classes=4, seed=2)]
    for other in others:
        assert_finite(kind(**params).fit(bags, warm_start=kind(**params).fit(other)), bags)
    for another in MODELS:
        assert_finite(kind(**params).fit(bags, warm_start=MODELS[another](**FIRST[another]).fit(bags)), bags)


@pytest.mark.parametrize(
    ("params", "n_values"), [({"components": "multinomial"}, 3), ({"components": "markov"}, 3), ({"pca": 3}, 0)]
)
def test_mixtures_of_another_shape_are_not_continued(params, n_values):
    """The later bags have a category more, or enough segments for a further principal component."""
    bags = make_bags()
    X = np.arange(60 * 4).reshape(60, 4) % n_values if n_values else bags.X
    earlier = bags[:1].replace(X=np.minimum(X[:2], 1) if n_values else X[:2])
    model = MODELS["mimm"](**BASE["mimm"], **params)
    later = bags.replace(X=X)
    assert_finite(model.fit(later, warm_start=MODELS["mimm"](**BASE["mimm"], **params).fit(earlier)), later)


@pytest.mark.parametrize("with_generator", [False, True])
@pytest.mark.parametrize("name", ["ored-lr", "sim", "mimlfast", "mimm", "gp-probit"])
def test_a_continued_fit_uses_its_own_seed_only(name, with_generator):
    """Also for a new class, for which the earlier fit has no weights."""
    kind, bags = MODELS[name], make_bags()
    generator = np.random.default_rng(5) if with_generator else None
    earlier = kind(**BASE[name], random_state=generator).fit(make_bags(n_classes=2))
    before = generator and generator.bit_generator.state
    fits = [kind(**BASE[name], random_state=3).fit(bags, warm_start=earlier) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].predict_proba(bags.X), fits[1].predict_proba(bags.X))
    assert before == (generator and generator.bit_generator.state)
