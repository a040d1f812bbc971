"""Score a model on bags that it has not learnt from, so that runs can be compared.

A score on the training bags favours models that overfit. Whole bags are held out in turn, a model with the same
parameters is trained on the others, and the score is the likelihood of the tags of the held-out bags. It needs no
labelled segment, and is the same for every model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BagSet
from miml_core.evaluation.metrics import average_precision
from miml_core.evaluation.reliability import expected_calibration_error
from miml_core.models.fit_progress import Progress
from miml_core.posterior import DEFAULT_LEAK, HELD_OUT_NOISE, bag_posterior
from miml_core.review.queue import shuffled

if TYPE_CHECKING:
    from miml_core.models.base import Model

FOLDS = 3
MOST_BAGS = 600
"""Of more tagged bags a fixed sample is used, so that the cost is limited."""

_FEWEST_BAGS = 2 * FOLDS
_MOST_EXACT_TAGS = 12


def score(model: Model, bags: BagSet, bag_ids: NDArray[np.int64], progress: Progress) -> dict[str, float]:
    """Return held-out scores for the parameters of a fitted model; empty if there are too few tagged bags.

    Parameters that the model chose ("auto") keep the chosen values.

    Returns
    -------
    ``held_out_log_likelihood`` is the mean of log p(tags | segments) over the held-out bags (0 would be perfect),
    ``held_out_average_precision`` how far their true tags are above the others when sorted by the model's scores
    (1 is perfect; left out where every bag has all tags or none), ``held_out_calibration_error`` how far the
    probabilities of tags are from the share of tags that are present, ``held_out_bags`` how many bags there were.
    """
    from miml_core.models.temperatures import NOT_CALIBRATED

    tagged = np.flatnonzero((bags.tags != 0).any(axis=1))
    order = tagged[np.argsort(shuffled(bag_ids[tagged]), kind="stable")][:MOST_BAGS]
    if len(order) < _FEWEST_BAGS:
        return {}
    likelihoods, tags, scores = [], [], []
    for fold in range(FOLDS):
        held_out, learnt = bags[order[fold::FOLDS]], bags[np.delete(order, np.s_[fold::FOLDS])]
        fitted = _like(model).fit(learnt, progress=_part_of(progress, fold))
        if fitted.calibration == NOT_CALIBRATED:
            fitted.set_calibration(model.calibration)  # with alpha given, a fit has no folds to choose it by
        likelihoods.append(tag_log_likelihood(fitted, held_out))
        tags.append(held_out.tags)
        scores.append(fitted.predict_tags(held_out))
    known = np.concatenate(tags) != 0
    present, probability = (np.concatenate(tags) > 0)[known], np.concatenate(scores)[known]
    found = {
        "held_out_calibration_error": expected_calibration_error(probability, present),
        "held_out_log_likelihood": float(np.concatenate(likelihoods).mean()),
        "held_out_average_precision": average_precision(np.concatenate(tags), np.concatenate(scores)),
        "held_out_bags": float(len(order)),
    }
    return {name: value for name, value in found.items() if np.isfinite(value)}


def tag_log_likelihood(model: Model, bags: BagSet) -> NDArray[np.float64]:
    """Return (B,) log p(tags | segments) of the exact posterior, with the same leak and noise for every model."""
    prior = model.predict_proba(bags.X)
    if prior.shape[1] == bags.n_classes:
        prior = np.column_stack([prior, np.zeros(len(prior))])
    log_prior = np.log((1 - HELD_OUT_NOISE) * prior + HELD_OUT_NOISE / prior.shape[1])
    seen = bag_posterior(log_prior, bags.offsets, bags.tags, leak=DEFAULT_LEAK, max_exact=_MOST_EXACT_TAGS)
    return seen.log_likelihood


def _like(model: Model) -> Model:
    """Return an unfitted model with the same parameters, "auto" replaced by what was chosen."""
    params: dict[str, Any] = model.get_params()
    for name, value in params.items():
        chosen = getattr(model, f"{name}_", None)
        if value == "auto" and isinstance(chosen, int | float):
            params[name] = chosen
    return type(model)(**params)


def _part_of(progress: Progress, fold: int) -> Progress:
    return lambda step, of, info: progress(fold * of + step, FOLDS * of, info)
