"""Error messages for bags whose tags no labelling of their segments can explain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.plurals import counted


def refuse_impossible_bags(bags: BagSet, *, background: bool, leak: float) -> None:
    """Raise a `BagtagError` that names the first bag whose tags no labelling can explain, before a long computation.

    Parameters
    ----------
    bags : BagSet
    background : bool
        Whether the model has a background class.
    leak : float
        Probability that a tag is true without a segment of it.
    """
    impossible = np.flatnonzero(~_possible(bags, background, leak))
    if not len(impossible):
        return
    bag = int(impossible[0])
    if not (bags.tags[bag] >= 0).any():
        raise BagtagError(
            f"No class is left for the segments of {bags.name(bag)}, whose tags are all absent; a model without a "
            "background class cannot explain that: use background=True, or leave the bag out."
        )
    raise BagtagError(
        f"The {counted(int(np.diff(bags.offsets)[bag]), 'segment')} of {bags.name(bag)}, as labelled, cannot carry its "
        f"{counted(int((bags.tags[bag] > 0).sum()), 'tag')}; use a leak above 0, or leave the bag out."
    )


def _possible(bags: BagSet, background: bool, leak: float) -> NDArray[np.bool_]:
    """Return (B,) whether some labelling of a bag's segments has the bag's tags."""
    bag_of, free = bags.bag_of, bags.labels == UNKNOWN
    n_free = np.bincount(bag_of[free], minlength=bags.n_bags)
    possible = (n_free == 0) | (bags.tags >= 0).any(axis=1) | bool(background)
    if leak == 0:
        missing = bags.tags > 0
        named = np.flatnonzero(bags.labels >= 0)
        missing[bag_of[named], bags.labels[named]] = False
        possible &= missing.sum(axis=1) <= n_free
    return possible


def refuse_zero_likelihood(
    offsets: NDArray[np.int64],
    tags: NDArray[np.int8],
    labels: NDArray[np.int64],
    leak: float,
    log_likelihood: NDArray[np.float64],
) -> None:
    """Raise a `BagtagError` with the reason if the tags and labels of a bag have probability 0."""
    impossible = np.flatnonzero(~np.isfinite(log_likelihood))
    if not len(impossible):
        return
    bag = int(impossible[0])
    given = labels[offsets[bag] : offsets[bag + 1]]
    named = np.flatnonzero(given >= 0)
    refused = named[tags[bag, given[named]] < 0]
    if len(refused):
        raise BagtagError(
            f"Segment {refused[0]} of bag {bag} is labelled as class {given[refused[0]]}, "
            "but that bag is tagged as not having it."
        )
    n_required, n_segments = int((tags[bag] > 0).sum()), len(given)
    free = int((given != BACKGROUND).sum())
    if leak == 0 and n_required > free:
        raise BagtagError(
            f"Bag {bag} has {counted(n_required, 'tag')} but only {counted(n_segments, 'segment')} to carry them "
            f"({free} not labelled background); use a leak above 0, or leave the bag out."
        )
    if not (tags[bag] >= 0).any():
        raise BagtagError(
            f"Bag {bag} is tagged as having none of the classes, which a model without a background class cannot "
            "explain; use background=True, or leave the bag out."
        )
    raise BagtagError(f"The labels given in bag {bag} leave no segment for one of its tags; use a leak above 0.")
