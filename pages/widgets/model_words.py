"""What a person needs to know of a model to choose it: a name and a few honest words.

Figures are of the sets we measured (`python -m miml_core bench`, HJA bird song): segments labelled right given the tags
of their clip, and on new clips without tags.
"""

from __future__ import annotations

import inspect
from typing import Any

from miml_core.models import MODELS

DEFAULT = "ored-lr"

WORDS = {
    "ored-lr": (
        "ORed logistic regression",
        "The one to start with: finds the segments that best explain each bag's tags, in seconds, and leaves wind and "
        "strangers to the background. It was the best on every set we measured; of bird song it labelled 88 % of the "
        "segments right, given the tags.",
    ),
    "sim": (
        "Support instance machine",
        "Learns to rank the tags a bag has above those it has not, with straight borders like ORed logistic "
        "regression. On the sets we measured it came close given the tags, but was clearly worse on new clips (about "
        "62 against 69 % of bird song), and it has no probabilities of its own.",
    ),
    "mimlfast": (
        "MIMLfast",
        "The fastest on very many bags: ranks tags well, and finds sub-types of a class, such as song and alarm. On "
        "the sets we measured its segments were less accurate than those of ORed logistic regression.",
    ),
    "gp-probit": (
        "Gaussian process",
        "Knows what it does not know: review then offers the segments whose label would teach it most. On the sets "
        "we measured it was less accurate than ORed logistic regression (bird song: about 79 % given the tags, 64 % on "
        "new clips).",
    ),
    "mimm": (
        "Mixture model",
        "Learns what each class looks like by itself. On the sets we measured ORed logistic regression was better on "
        "bird song (this one: about 74 % given the tags); useful when features are missing, or when each class truly "
        "is one cloud of similar segments.",
    ),
    "candidate-em": (
        "Plain logistic regression",
        "The plain alternative: every segment may be any of its bag's tags, and nothing makes sure that each tag has a "
        "segment. Good for seeing what the other models add.",
    ),
}

_FOR_BENCHMARKS = ("majority", "supervised-lr")
"""Yardsticks: one does not listen at all, the other learns from corrections only."""


def offered() -> list[str]:
    """The models to choose from, the one to start with first."""
    return sorted((name for name in MODELS if name not in _FOR_BENCHMARKS), key=lambda name: name != DEFAULT)


def proposed(model: str) -> dict[str, Any]:
    """Parameters that suit real recordings better than the constructor's own, which are those of the papers."""
    from miml_core.project.tasks.training import DEFAULT_PARAMS

    return dict(DEFAULT_PARAMS.get(model, {}))


def title(model: str) -> str:
    """What a person reads in a list."""
    return WORDS[model][0] if model in WORDS else model.replace("-", " ").capitalize()


def sentence(model: str) -> str:
    """One sentence on a model; where nobody wrote one, the first of its documentation."""
    if model in WORDS:
        return WORDS[model][1]
    return (inspect.getdoc(MODELS[model]) or "").split("\n\n")[0].replace("\n", " ")
