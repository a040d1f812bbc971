"""What a person needs to know to choose a model: its name and a short description with measured accuracy.

Figures are from `python -m miml_core bench` on HJA bird song with the tags as listeners gave them ("filtered"):
correct segments given the tags of their clip, and in new clips without tags (ten folds). README has all sets.
"""

from __future__ import annotations

import inspect
from typing import Any

from miml_core.models import MODELS

DEFAULT = "ored-lr"

DESCRIPTIONS = {
    "ored-lr": (
        "ORed logistic regression",
        "Recommended to start with: finds the segments that best explain each bag's tags, in seconds, and leaves wind "
        "and unknown sounds to the background. On every set we measured it was best on new clips, and best or nearly "
        "best given the tags (bird song: 81 % of the segments correct given the tags, 70 % in new clips).",
    ),
    "sim": (
        "Support instance machine",
        "Learns to rank the tags a bag has above those it does not have. On the bird song we measured it was as good "
        "as ORed logistic regression given the tags (82 %), but clearly worse in new clips (63 %). It has no "
        "probabilities of its own.",
    ),
    "mimlfast": (
        "MIMLfast",
        "For very many bags, and to see which segment explains a tag and of which sub-type it is, such as song and "
        "alarm. It ranks tags well, but on every set we measured ORed logistic regression labelled segments better "
        "(bird song: 81 % given the tags, 59 % in new clips).",
    ),
    "gp-probit": (
        "Gaussian process",
        "Estimates its own uncertainty: Review can then offer the segments whose label is most informative. On every "
        "set we measured ORed logistic regression was more accurate (bird song: 78 % given the tags, 63 % in new "
        "clips).",
    ),
    "mimm": (
        "Mixture model",
        "Learns what each class looks like by itself; for features with missing values, or a single tag. On every set "
        "of many tags we measured it was less accurate than ORed logistic regression (bird song: 74 % given "
        "the tags, 55 % in new clips).",
    ),
    "candidate-em": (
        "Plain logistic regression",
        "A baseline: every segment may be any of its bag's tags, and nothing makes sure that each tag has a segment. "
        "Close to ORed logistic regression where bags have few tags and no noise, far behind elsewhere (bird song: "
        "78 % given the tags, 67 % in new clips).",
    ),
}

_FOR_BENCHMARKS = ("majority", "supervised-lr")
"""Baselines: one ignores the features, the other learns from corrections only."""


def offered() -> list[str]:
    """Return the models to choose from, the recommended one first."""
    return sorted((name for name in MODELS if name not in _FOR_BENCHMARKS), key=lambda name: name != DEFAULT)


def proposed(model: str) -> dict[str, Any]:
    """Return parameters that suit real recordings better than the constructor's own, which are those of the papers."""
    from miml_core.project.jobs.tasks.training import DEFAULT_PARAMS

    return dict(DEFAULT_PARAMS.get(model, {}))


def title(model: str) -> str:
    """Return the model's name as it is listed."""
    return DESCRIPTIONS[model][0] if model in DESCRIPTIONS else model.replace("-", " ").capitalize()


def description(model: str) -> str:
    """Return a short description of a model; by default the first paragraph of its documentation."""
    if model in DESCRIPTIONS:
        return DESCRIPTIONS[model][1]
    return (inspect.getdoc(MODELS[model]) or "").split("\n\n")[0].replace("\n", " ")
