"""Calibrate a model by fits to some of the bags, for models that choose nothing by held-out bags themselves.

A model is too sure of bags it has learnt from: on Letter-Frost, a mixture that was calibrated on its training bags had
a calibration error of .22 on new ones. So it is fitted again to parts of the bags, and `temperatures.py` chooses by the
probabilities of the others. Up to 300 bags are divided into three folds; of more, a quarter is held out once, so that
the whole costs less than one more fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models.background import LARGEST_ERROR, BackgroundEvidence
from miml_core.models.temperatures import NOT_CALIBRATED, Calibration, calibrate
from miml_core.progress import Progress

if TYPE_CHECKING:
    from miml_core.models.base import Model

Array = NDArray[np.float64]

_FEWEST_BAGS, _MANY_BAGS = 12, 300
_SMALLEST = 1e-12


class WatchedProgress:
    """Pass reports of a fit on, and remember the last one and whether it was answered with a request to stop.

    Parameters
    ----------
    progress : callable, optional
        What `Model.fit` was called with.
    """

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.last, self.stopped = progress, (0, 1), False

    def __call__(self, step: int, of: int, info: Mapping[str, float]) -> bool:
        self.last = step, of
        self.stopped = self.stopped or (self.progress is not None and bool(self.progress(step, of, info)))
        return self.stopped

    def again(self, step: int, of: int, info: Mapping[str, float]) -> bool:
        """Report an iteration of a fold: the bar stays where the fit had ended."""
        return self(*self.last, {"calibrating": 1})


def calibrate_by_folds(
    model: Model,
    bags: BagSet,
    training_log_prior: Array,
    *,
    seed: int,
    progress: WatchedProgress,
    once: bool = False,
    tags: bool = False,
    **chosen: Any,
) -> None:
    """Set the calibration of a fitted model.

    Parameters
    ----------
    model : Model
    bags : BagSet
        What it was fitted to.
    training_log_prior : (N, C) or (N, C + 1) float
        log p of the segments' classes; it is used if there are too few bags for folds, or if `progress` asks to stop.
    seed : int
        Determines the folds.
    progress : WatchedProgress
        That of the fit.
    once : bool
        Whether one fold is enough, because a fit is slow.
    tags : bool
        Whether tag probabilities are calibrated too.
    **chosen
        Parameters that the model chose, so that folds need not choose them again.
    """
    if model.is_fold:
        model.set_calibration(NOT_CALIBRATED)
        return
    leak = float(getattr(model, "leak", 0.0))
    share = float(np.exp(training_log_prior[:, -1]).mean()) if model.has_background else 0.0
    found = _held_out(model, bags, seed, progress, once, chosen)
    if found is None:
        background = BackgroundEvidence(share, error=0.0)
        calibration = calibrate(training_log_prior, bags, leak=leak, background=background, held_out=False)
    else:
        background = BackgroundEvidence(share, error=LARGEST_ERROR if model.has_background else 0.0)
        calibration = calibrate(*found, leak=leak, background=background, shrink=False)
    model.set_calibration(calibration if tags else Calibration(calibration.temperatures))


def _held_out(
    model: Model, bags: BagSet, seed: int, progress: WatchedProgress, once: bool, chosen: dict[str, Any]
) -> tuple[Array, BagSet] | None:
    """Return log p of segments under fits to other bags, and the bags of these segments."""
    order = np.random.default_rng(seed).permutation(bags.annotated_bags())
    if len(order) < _FEWEST_BAGS or progress.stopped:
        return None
    few = len(order) <= _MANY_BAGS and not once
    parts = np.array_split(order, 3) if few else [order[: len(order) // 4]]
    rows = []
    for part in parts:
        fold = clone(model).set_params(**chosen)
        fold.is_fold = True
        try:
            fold.fit(bags[np.sort(np.setdiff1d(order, part))], progress=progress.again)
        except BagtagError:  # too few tags are left
            return None
        rows.append(np.log(np.maximum(fold.predict_proba(bags[np.sort(part)].X), _SMALLEST)))
        if progress.stopped:
            return None
    return np.concatenate(rows), bags[np.concatenate([np.sort(part) for part in parts])]
