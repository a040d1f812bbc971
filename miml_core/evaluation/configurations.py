"""The models and parameters of the names in the benchmark.

Parameters are the defaults, except for two that depend on the data: a background class if segments may be none of the
classes, and a leak if a tag may be true without a segment. True labels are used by `supervised-lr` only, which is the
upper bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.evaluation.data_sets import DataSet
from miml_core.models import MODELS, Model
from miml_core.posterior import DEFAULT_LEAK

CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ored-lr": ("ored-lr", {}),
    "ored-lr-rff": ("ored-lr", {"kernel": "rff"}),
    "ored-lr-rbf": ("ored-lr", {"kernel": "rbf"}),
    "sim": ("sim", {}),
    "sim-max-cccp": ("sim", {"aggregate": "max", "optimiser": "cccp"}),
    "sim-rff": ("sim", {"kernel": "rff"}),
    "mimlfast": ("mimlfast", {}),
    "gp-probit": ("gp-probit", {}),
    "mimm": ("mimm", {}),
    "mimm-pca": ("mimm", {"components": "gaussian-full", "pca": 10}),
    "candidate-em": ("candidate-em", {}),
    "majority": ("majority", {}),
    "supervised-lr": ("supervised-lr", {}),
}

DEFAULT = [name for name in CONFIGURATIONS if name not in ("ored-lr-rbf", "sim-max-cccp", "sim-rff", "mimm-pca")]


def make_model(name: str, data: DataSet, seed: int) -> Model:
    """Return an unfitted model by its name in the benchmark, with the parameters for a data set."""
    if name not in CONFIGURATIONS:
        raise BagtagError(f"There is no model called {name!r}; there are {', '.join(CONFIGURATIONS)}.")
    model, params = CONFIGURATIONS[name]
    known = MODELS[model]().get_params()
    by_data = {
        "random_state": seed,
        "leak": DEFAULT_LEAK if data.may_lack_segments else 0.0,
        "background": data.may_have_background,
    }
    if model == "mimm":
        by_data["background"] = data.may_have_background or data.bags.n_classes == 1
    return MODELS[model](**{**{key: value for key, value in by_data.items() if key in known}, **params})


def training_bags(name: str, bags: BagSet, truth: np.ndarray | None) -> BagSet:
    """Return the bags that a model is trained on: for the upper bound, with the true labels and their tags."""
    if CONFIGURATIONS[name][0] != "supervised-lr" or truth is None:
        return bags
    tags = bags.tags.copy()
    labelled = np.flatnonzero(truth >= 0)
    tags[bags.bag_of[labelled], truth[labelled]] = 1
    return bags.replace(tags=tags, labels=truth)
