"""Training data and first weights of ORed logistic regression: what the paper leaves open."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.models.background import BackgroundEvidence, background_evidence
from miml_core.models.candidates import candidate_shares
from miml_core.models.fit_progress import FitProgress, Phase
from miml_core.models.ored_lr_likelihood import CandidateLikelihood
from miml_core.models.ored_lr_penalty import Evidence, Penalty, choose_penalty
from miml_core.models.ored_lr_solvers import Whitening, maximise_lbfgs
from miml_core.models.temperatures import NOT_CALIBRATED, Calibration, calibrate
from miml_core.posterior import posterior_cost

Array = NDArray[np.float64]

STARTING, CHOOSING, FITTING = range(3)
PHASES = (Phase(15, typical=60), Phase(55, typical=250, chooses=True), Phase(30, typical=60))
"""Phases of a fit: the first weights, the choice of the penalty, and the final fit."""

_START_ALPHA, _START_BAGS = 10.0, 2000
_CANDIDATE_BACKGROUND = 3.0


@dataclass(frozen=True)
class Start:
    """Where the final fit starts: penalty, (D + 1, K) weights, and what the tags say about the background.

    The calibration is that of the folds in which the penalty was chosen; without folds, there is none. If the tags show
    no background, `classes` are (D + 1, C) weights that were learnt without one.
    """

    penalty: Penalty
    weights: Array
    background: BackgroundEvidence = field(default_factory=BackgroundEvidence)
    calibration: Calibration = NOT_CALIBRATED
    classes: Array | None = None


def informative_bags(bags: BagSet, *, background: bool, prune: float) -> BagSet:
    """Return the bags with a known tag or label, without the share `prune` of those that cost most (6.6.1).

    Without a background class, segments labelled `BACKGROUND` are left out: they have no information on the classes.
    """
    keep = np.ones(bags.n_segments, bool) if background else bags.labels != BACKGROUND
    known = (bags.tags != 0).any(axis=1)
    known[bags.bag_of[keep & (bags.labels != UNKNOWN)]] = True
    keep &= known[bags.bag_of]
    sizes = np.bincount(bags.bag_of[keep], minlength=bags.n_bags)
    if not keep.any():
        raise BagtagError("No bag has a tag or a label yet; tag some bags first.")
    order = np.argsort(posterior_cost(bags.offsets, bags.tags), kind="stable")
    order = order[sizes[order] > 0]
    chosen = np.sort(order[: max(1, round((1 - prune) * len(order)))])
    keep &= np.isin(bags.bag_of, chosen)
    offsets = np.concatenate([[0], np.cumsum(sizes[chosen])])
    return BagSet(
        bags.X[keep],
        offsets,
        bags.tags[chosen],
        bags.classes,
        bags.labels[keep],
        groups=bags.groups,
        pretrained=bags.pretrained,
    )


def find_start(
    evidence: Evidence, *, alpha: float | None, background_kinds: int, seed: int, fit_progress: FitProgress
) -> Start:
    """Find the first weights, and the penalty; alpha if it is None.

    The weights are fitted to candidate labels, then to the tags with a strong penalty, then with the given alpha.
    With a background class the likelihood has several maxima. From zero weights, about half of the fits ended in a
    lower one (six points of accuracy on the HJA data); from candidate labels with a large share of background, all
    fits that were tried reached the highest one. The background is divided into its kinds only after that.
    Of many bags a sample is used, so that the cost of the start stays bounded.

    Parameters
    ----------
    evidence : Evidence
    alpha : float or None
    background_kinds : int
        0 without a background class.
    seed : int
    fit_progress : FitProgress
    """
    bags = evidence.bags
    if bags.n_bags > _START_BAGS:
        evidence = evidence.part(np.sort(np.random.default_rng(seed).permutation(bags.n_bags)[:_START_BAGS]))
        bags = evidence.bags
    candidates = candidate_shares(bags, background=_CANDIDATE_BACKGROUND if background_kinds else 0.0)
    W = np.zeros((evidence.Z.shape[1], candidates.shape[1]))
    first = Penalty(_START_ALPHA, (1.0,) * len(evidence.columns))
    for objective in (
        CandidateLikelihood(evidence.Z, bags, candidates, alpha=_START_ALPHA, scores=evidence.scores),
        evidence.likelihood(first),
    ):
        W = maximise_lbfgs(
            objective,
            W,
            Whitening(objective, W).scale(_START_ALPHA),
            max_iter=100,
            tol=1e-4,
            report=lambda value: report_iteration(fit_progress, STARTING, value, _START_ALPHA),
        )
    if alpha is not None and not background_kinds and evidence.scores is None and len(evidence.columns) == 1:
        return Start(Penalty(alpha), W)
    report = partial(report_iteration, fit_progress, CHOOSING)
    chosen = choose_penalty(evidence, W, Whitening(objective, W), seed=seed, report=report, given=alpha)
    if not background_kinds:
        calibration = calibrate(chosen.held_out, bags, leak=evidence.leak)
        return Start(chosen.penalty, chosen.weights, calibration=calibration)
    split = _split_background(chosen.weights, bags.n_classes, background_kinds, seed)
    background = background_evidence(chosen.held_out, bags, leak=evidence.leak, seed=seed)
    calibration = calibrate(chosen.held_out, bags, leak=evidence.leak, background=background)
    tagged = _without_background(evidence)
    if background.found or tagged is None:
        return Start(chosen.penalty, split, background, calibration)
    start, given = (chosen.weights, chosen.penalty.alpha) if evidence.scores is None else (W, alpha)
    start = start[:, : bags.n_classes]
    whitening = Whitening(tagged.likelihood(first), start)
    without = choose_penalty(tagged, start, whitening, seed=seed, report=report, given=given)
    temperatures = calibrate(without.held_out, tagged.bags, leak=evidence.leak).temperatures
    calibration = replace(calibration, temperatures=temperatures)
    split *= (chosen.penalty.factors(evidence.columns) / without.penalty.factors(evidence.columns))[:, None]
    return Start(without.penalty, split, background, calibration, without.weights)


def _without_background(evidence: Evidence) -> Evidence | None:
    """Return what a fit learns from if the tags show no background, or None if no bag has a tag.

    The temperatures are chosen again on it and, with pretrained scores, the penalty. In folds with a background class,
    the background had taken many segments from the classes: on HJA filtered, temperatures by these folds were twice too
    high, and with BirdNET's embeddings of NIPS4Bplus penalties up to a hundred times too strong.
    """
    tagged = np.flatnonzero((evidence.bags.tags > 0).any(axis=1))
    if not len(tagged):
        return None
    part = evidence.part(tagged)
    labels = np.where(part.bags.labels == BACKGROUND, UNKNOWN, part.bags.labels)
    return replace(part, bags=part.bags.replace(labels=labels))


def report_iteration(fit_progress: FitProgress, phase: int, objective: float, alpha: float) -> bool:
    """Report one iteration of a solver; return whether it should stop."""
    iteration = fit_progress.iterations[phase] + 1
    return fit_progress.step(phase, objective=objective, phase=phase, iteration=iteration, alpha=alpha)


def _split_background(W: Array, n_classes: int, kinds: int, seed: int) -> Array:
    """Return weights with several background columns of the same sum, slightly apart so that each can specialise."""
    apart = np.random.default_rng(seed).normal(scale=0.3, size=(len(W) - 1, kinds))
    columns = np.repeat(W[:, n_classes:], kinds, axis=1)
    columns[:-1] += apart - apart.mean(axis=1, keepdims=True)
    columns[-1] -= np.log(kinds)
    return np.concatenate([W[:, :n_classes], columns], axis=1)
