"""The estimates from a sample as text, and as tables for spreadsheets."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from miml_core.archive.sampling import ClassEstimates, Estimate
from miml_core.exchange.cells import neutralise


def share_text(found: Estimate) -> str:
    """Return a share with its interval, in percent.

    Examples
    --------
    >>> share_text(Estimate(0.9, 0.753, 1.0))
    '90.0 % (75.3 to 100.0 %)'
    >>> share_text(Estimate(math.nan, math.nan, math.nan))
    'no answers'
    """
    if math.isnan(found.value):
        return "no answers"
    return f"{100 * found.value:.1f} % ({100 * found.low:.1f} to {100 * found.high:.1f} %)"


def count_text(found: Estimate, separator: str = ",") -> str:
    """Return a count with its interval; `separator` is between groups of three digits.

    Examples
    --------
    >>> count_text(Estimate(1800.4, 1506.0, 2000.0))
    '1,800 (1,506 to 2,000)'
    """
    if math.isnan(found.value):
        return "no answers"
    value, low, high = (f"{part:,.0f}".replace(",", separator) for part in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})"


def precision_csv(found: Sequence[ClassEstimates]) -> str:
    """Return one line per class and threshold: the precision from there on, with its 95 % interval."""
    rows = [
        [neutralise(one.class_name), f"{threshold:g}", n, *_shares(precision), one.answered]
        for one in found
        for threshold, n, precision in one.thresholds
    ]
    return _table(["class", "threshold", "detections", "precision", "low", "high", "answers_of_class"], rows)


def counts_csv(found: Sequence[ClassEstimates], wanted_precision: float) -> str:
    """Return one line per class: corrected counts with 95 % intervals, and the threshold of the target precision."""
    names = ["class", "detections", "drawn", "answered"]
    names += [f"{count}{end}" for count in ("right", "of_class") for end in ("", "_low", "_high")]
    names += ["wanted_precision", "threshold"]
    rows = [
        [
            neutralise(one.class_name),
            one.detections,
            one.drawn,
            one.answered,
            *_counts(one.correct),
            *_counts(one.of_class),
            f"{wanted_precision:g}",
            "" if (threshold := one.threshold_for(wanted_precision)) is None else f"{threshold:g}",
        ]
        for one in found
    ]
    return _table(names, rows)


def _shares(found: Estimate) -> list[str]:
    return ["" if math.isnan(value) else f"{value:.4f}" for value in (found.value, found.low, found.high)]


def _counts(found: Estimate) -> list[str]:
    return ["" if math.isnan(value) else f"{value:.1f}" for value in (found.value, found.low, found.high)]


def _table(names: list[str], rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    return text.getvalue()
