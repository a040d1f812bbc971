"""The outputs of a model for bags: everything that a run stores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet

_ROWS_AT_ONCE = 2000
"""Rows per call: informativeness is an integral per row, whose nodes must fit into memory."""


class ModelOutputs(NamedTuple):
    """For N segments in B bags, with the model's C classes and perhaps background as columns."""

    posterior: NDArray[np.floating[Any]]
    """(N, C) or (N, C + 1) `annotate`: given tags and corrections."""
    free: NDArray[np.floating[Any]]
    """The same shape, `predict_proba`: no tags known."""
    tag_probabilities: NDArray[np.floating[Any]] | None = None
    """(B, C) `predict_tags`."""
    informative: NDArray[np.floating[Any]] | None = None
    """(N,) `informativeness` of each segment's label, if the model has it."""
    keys: list[NDArray[np.int32]] | None = None
    """One (n, 4) array per bag, if the model has `key_instances`: which segment explains a tag.

    Each row is a tag of the bag: its column, the segment's place in the bag, which sub-concept of the class that
    segment shows (from 0), and how many sub-concepts a class has.
    """


def predict(model: Any, bags: BagSet) -> ModelOutputs:
    """Return the outputs for a BagSet whose columns are the model's classes, even if they were renamed since."""
    if bags.classes != model.classes_:
        bags = BagSet(bags.X, bags.offsets, bags.tags, model.classes_, bags.labels, bags.names)
    return ModelOutputs(
        model.annotate(bags),
        model.predict_proba(bags.X),
        model.predict_tags(bags),
        _informative(model, bags.X) if hasattr(model, "informativeness") else None,
        _keys(model, bags) if hasattr(model, "key_instances") else None,
    )


def _informative(model: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    parts = [model.informativeness(X[start : start + _ROWS_AT_ONCE]) for start in range(0, len(X), _ROWS_AT_ONCE)]
    return np.concatenate(parts)


def _keys(model: Any, bags: BagSet) -> list[NDArray[np.int32]]:
    rows, concepts = model.key_instances(bags), model.sub_concepts(bags)
    keys = []
    for bag, tags in enumerate(bags.tags):
        columns = np.flatnonzero(tags > 0)
        places = rows[bag, columns] - bags.offsets[bag]
        n_concepts = np.full(len(columns), model.K_)
        keys.append(np.column_stack([columns, places, concepts[bag, columns], n_concepts]).astype(np.int32))
    return keys
