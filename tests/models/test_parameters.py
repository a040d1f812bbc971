"""Parameters: what fit accepts is saved and loaded, and what is refused is refused with the reason."""

import json

import numpy as np
import pytest

from miml_core import BagtagError
from miml_core.models import MODELS, load_model
from miml_core.models.baselines import Majority
from miml_core.models.parameters import make_model
from tests.models.test_estimators import FIRST, STOCHASTIC, make_bags

ACCEPTED = [
    ("ored-lr", {"background": 1, "background_kinds": np.int64(2)}),
    ("ored-lr", {"background": np.True_, "alpha": np.float32(2)}),
    ("ored-lr", {"kernel": np.str_("rff"), "alpha": 1}),
    ("sim", {"calibrated": 1, "lam": np.float32(0.001)}),
    ("mimm", {"background": 0, "pca": np.int64(2)}),
    ("gp-probit", {"background": np.int8(1), "random_state": np.random.default_rng(2)}),
    *((name, {"random_state": 2**40}) for name in STOCHASTIC),
    ("gp-probit", {"random_state": 2**32}),
]


@pytest.mark.parametrize(("name", "params"), ACCEPTED)
def test_what_fit_accepts_is_loaded(name, params, tmp_path):
    bags = make_bags()
    model = MODELS[name](**{**FIRST[name], **params}).fit(bags)
    model.save(tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.annotate(bags), model.annotate(bags))
    np.testing.assert_array_equal(loaded.predict_tags(bags), model.predict_tags(bags))
    for param in {"background", "calibrated"} & params.keys():
        assert getattr(loaded, param) is bool(params[param]), "flags are written as true and false"


REFUSED = [
    *((name, "random_state", bad) for name in STOCHASTIC for bad in (True, 2**63, 1.0)),
    ("ored-lr", "alpha", True),
    ("ored-lr", "tol", float("inf")),
    ("ored-lr", "alpha", float("inf")),
    ("ored-lr", "fourier_features", 30_000),
    ("ored-lr", "kernel", np.array(["rff", "rbf"])),
    ("ored-lr", "solver", np.array([1, 2])),
    ("ored-lr", "background", 1.0),
    ("ored-lr", "max_iter", 10**30),
    ("sim", "K_max", 200_000),
    ("sim", "lam", float("inf")),
    ("sim", "loss", np.array([1, 2])),
    ("mimlfast", "m", True),
    ("mimlfast", "C", float("inf")),
    ("mimm", "n_components", True),
    ("mimm", "components", np.array([1, 2])),
    ("gp-probit", "n_inducing", True),
    ("gp-probit", "n_inducing", 6000),
    ("gp-probit", "length_scale", float("inf")),
    ("gp-probit", "kernel", np.array(["gaussian"])),
    ("candidate-em", "alpha", float("inf")),
    ("supervised-lr", "alpha", float("inf")),
]


@pytest.mark.parametrize(("name", "param", "bad"), REFUSED)
def test_fit_and_make_model_refuse_the_same(name, param, bad):
    with pytest.raises(BagtagError, match=f"{param}.* must be"):
        MODELS[name](**{**FIRST[name], param: bad}).fit(make_bags())
    with pytest.raises(BagtagError, match=f"{param}.* must be"):
        make_model(name, {param: bad})


def test_a_parameter_that_was_changed_after_the_fit_is_not_saved_if_it_could_not_be_loaded(tmp_path):
    model = MODELS["ored-lr"](alpha=1.0).fit(make_bags())
    with pytest.raises(BagtagError, match="'max_iter' of 'ored-lr' must be a whole number"):
        model.set_params(max_iter=2.5).save(tmp_path / "model.npz")
    assert not (tmp_path / "model.npz").exists()


class Minority(Majority):
    """A model that is not in MODELS and has the name of one that is."""


class NoName(Majority):
    """A model that is not in MODELS."""

    name = "no-name"


@pytest.mark.parametrize("kind", [Minority, NoName])
def test_a_class_that_is_not_in_models_is_not_saved(kind, tmp_path):
    with pytest.raises(BagtagError, match=f"{kind.__name__} is not one of MODELS"):
        kind().fit(make_bags()).save(tmp_path / "model.npz")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "no-name"}, "There is no model called 'no-name'; there are ored-lr"),
        ({"params": {"max_iter": 10**7}}, "'max_iter' of 'ored-lr' must be between 0 and 1000000"),
        ({"params": {"depth": 3}}, "has no parameter 'depth'"),
    ],
)
def test_the_reason_why_a_file_is_not_loaded_is_told(change, reason, tmp_path):
    MODELS["ored-lr"](alpha=1.0).fit(make_bags()).save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays["__header__"].tobytes()) | change
    arrays["__header__"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(tmp_path / "changed.npz", **arrays)
    with pytest.raises(BagtagError, match=rf"changed\.npz .*{reason}"):
        load_model(tmp_path / "changed.npz")
