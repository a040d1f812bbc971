"""What a person needs to know of a model to choose it: a name and one sentence."""

from __future__ import annotations

import inspect
from typing import Any

from miml_core.models import MODELS

DEFAULT = "ored-lr"

WORDS = {
    "ored-lr": (
        "ORed logistic regression",
        "The one to start with: finds the segments that best explain each bag's tags, exactly, in seconds, "
        "and leaves wind and strangers to the background.",
    ),
    "sim": (
        "Support instance machine",
        "Follows curved borders between similar calls by comparing segments with each other; slower on large projects.",
    ),
    "mimlfast": (
        "MIMLfast",
        "For very many bags and classes: learns in small steps and finds sub-types of a class, such as song and alarm.",
    ),
    "gp-probit": (
        "Gaussian process",
        "Knows well how sure it is, which helps review when there are few tags; slow above some thousand segments.",
    ),
    "mimm": (
        "Mixture model",
        "Learns what each class sounds or looks like by itself; useful when classes are clearly different.",
    ),
}


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
