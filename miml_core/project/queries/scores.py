"""Agreement of a run with labels that it had not learnt from."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select

from miml_core.bags import BACKGROUND
from miml_core.evaluation.reliability import expected_calibration_error
from miml_core.project.db.schema import BY_EYE, verdicts

_FEWEST_CHECKED = 30
"""Fewer segments would make the calibration error mostly noise."""


def held_out_agreement(connection: Connection, earlier: Row[Any] | None) -> dict[str, float]:
    """Return the share of labels that agree with the previous run's predictions, and their number.

    A label is stored with what the current run had predicted before it, so this is agreement on segments the run had
    not learnt from. With 30 checked segments or more, ``calibration_error`` is how far its probabilities were from
    the share of labels that agree (`evaluation/reliability.py`). Agreement is pessimistic if people review the least
    sure segments; the random sample is unbiased.
    """
    if earlier is None:
        return {}
    agrees = verdicts.c.predicted == func.coalesce(verdicts.c.class_id, BACKGROUND)
    right = func.total(agrees)
    checked = [verdicts.c.run_id == earlier.id, verdicts.c.checked_by == BY_EYE]
    n, n_right = connection.execute(select(func.count(), right).where(*checked)).one()
    if not n:
        return {}
    found = {"agreement_before": float(n_right / n), "n_checked_before": float(n)}
    rows = connection.execute(
        select(verdicts.c.probability, agrees).where(*checked, verdicts.c.probability.is_not(None))
    ).all()
    if len(rows) >= _FEWEST_CHECKED:
        probability, agreed = zip(*rows)
        found["calibration_error"] = expected_calibration_error(probability, agreed)
    return found
