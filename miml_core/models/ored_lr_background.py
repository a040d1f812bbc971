"""Learn the classes of the segments that the background gives up.

The weights that maximise the likelihood of the tags over-assign segments to the background (see `background.py`):
the classes are learnt from few segments only. Here the background is limited to the share that the tags support, and
the classes are learnt again, by the surrogate of EM (eqs. 11 and 22).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import UNKNOWN, BagSet
from miml_core.models.background import LARGEST_SHIFT, BackgroundEvidence, background_shift, new_bags_shift
from miml_core.models.ored_lr_likelihood import (
    CandidateLikelihood,
    MarginalLikelihood,
    merge_background,
    spread_background,
)
from miml_core.models.ored_lr_solvers import Whitening, maximise_lbfgs
from miml_core.posterior import training_posterior

Array = NDArray[np.float64]

_LABELS_COUNT, _MOST_COUNTS = 0.1, 30.0
"""When the classes are learnt again, all labels together count as much as this share of the segments, each at least
once and at most that many times: ten corrections among thousands of segments would otherwise change nothing. Chosen on
sets of known truth."""

_ROUNDS_WITHOUT = 5
"""Rounds of EM without a background, after which the classes are as if they had been learnt without one."""


@dataclass(frozen=True)
class SegmentWeights:
    """Weights that separate the classes of segments.

    Attributes
    ----------
    weights : (D + 1, K) float
    shift : float
        What to subtract from log p(background) if the bag's tags are known.
    new_bags_shift : float
        The same for new bags.
    """

    weights: Array
    shift: float
    new_bags_shift: float


def learn_segments(likelihood: MarginalLikelihood, weights: Array, evidence: BackgroundEvidence) -> SegmentWeights:
    """Limit the background to its share, and learn the classes of the segments it gives up.

    If the tags give no evidence of a background, what was learnt of it is dropped first: only segments that people
    labelled so are background, and the classes are learnt from all others.

    Parameters
    ----------
    likelihood : MarginalLikelihood
    weights : (D + 1, K) float
        The first weights.
    evidence : BackgroundEvidence
    """
    bags = likelihood.bags
    limits = {"most": evidence.share, "limit": evidence.limit}

    def log_prior() -> Array:
        return merge_background(likelihood.log_prior(weights), bags.n_classes)

    for _ in range(0 if evidence.found else _ROUNDS_WITHOUT):
        weights = _learn_again(likelihood, weights, LARGEST_SHIFT)
    shift = background_shift(log_prior(), bags, leak=likelihood.leak, **limits)
    if shift > 0 or (bags.labels != UNKNOWN).any():
        weights = _learn_again(likelihood, weights, shift)
        shift = background_shift(log_prior(), bags, leak=likelihood.leak, **limits)
    return SegmentWeights(weights, shift, new_bags_shift(log_prior(), bags, **limits))


def _learn_again(likelihood: MarginalLikelihood, weights: Array, shift: float) -> Array:
    """Return the weights after one round of EM (eqs. 11, 22) with the background's log odds lowered by `shift`."""
    bags = likelihood.bags
    log_prior = likelihood.log_prior(weights)
    log_prior[:, bags.n_classes :] -= shift
    merged = merge_background(log_prior, bags.n_classes)
    posterior = training_posterior(merged, bags, leak=likelihood.leak).probabilities
    surrogate = CandidateLikelihood(
        likelihood.Z,
        bags,
        spread_background(posterior, log_prior, merged),
        alpha=likelihood.alpha,
        scores=likelihood.scores,
        counts=_label_counts(bags),
    )
    scale = Whitening(surrogate, weights).scale(likelihood.alpha)
    return maximise_lbfgs(surrogate, weights, scale, max_iter=100, tol=1e-4, report=lambda value: False)


def _label_counts(bags: BagSet) -> Array:
    """Return (N,) how often each segment counts when the classes are learnt again: more than once if it has a label."""
    labelled = bags.labels != UNKNOWN
    counts = np.clip(_LABELS_COUNT * bags.n_segments / max(1, labelled.sum()), 1.0, _MOST_COUNTS)
    return np.where(labelled, counts, 1.0)
