"""The estimates from a sample as tables for spreadsheets."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from miml_core.archive.sampling import ClassEstimates, Estimate
from miml_core.exchange.cells import neutralise


def precision_csv(found: Sequence[ClassEstimates]) -> str:
    """Return one line per class and threshold: the precision from there on, with its 95 % interval."""
    rows = [
        [neutralise(one.class_name), f"{threshold:g}", n, *_shares(precision), one.answered]
        for one in found
        for threshold, n, precision in one.thresholds
    ]
    return _table(["class", "threshold", "detections", "precision", "low", "high", "answers_of_class"], rows)


def counts_csv(found: Sequence[ClassEstimates], wanted_precision: float) -> str:
    """Return one line per class: corrected counts with 95 % intervals, and the threshold of the wanted precision."""
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
