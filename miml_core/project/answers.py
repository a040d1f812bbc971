"""What a model says of bags, all that a run stores of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet

_ROWS_AT_ONCE = 2000
"""Informativeness is an integral a row: some rows at a time, so that its nodes fit into memory."""


class Answers(NamedTuple):
    """For N segments in B bags, with the model's C classes and perhaps background as columns."""

    posterior: NDArray[np.floating[Any]]
    """(N, C) or (N, C + 1) `annotate`: given tags and corrections."""
    free: NDArray[np.floating[Any]]
    """The same shape, `predict_proba`: no tags known."""
    tag_probabilities: NDArray[np.floating[Any]] | None = None
    """(B, C) `predict_tags`."""
    informative: NDArray[np.floating[Any]] | None = None
    """(N,) what a segment's label would teach the model, of models that know (`informativeness`)."""
    keys: list[NDArray[np.int32]] | None = None
    """One (n, 4) array a bag, of models that say which segment explains a tag (`key_instances`).

    Each row is a tag of the bag: its column, the segment's place in the bag, which sub-concept of the class that
    segment shows (from 0), and how many sub-concepts a class has.
    """


def ask(model: Any, bags: BagSet) -> Answers:
    """The answers for a BagSet whose columns are the model's classes, whatever they are called by now."""
    if bags.classes != model.classes_:
        bags = BagSet(bags.X, bags.offsets, bags.tags, model.classes_, bags.labels, bags.names)
    return Answers(
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
