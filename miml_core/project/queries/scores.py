"""Agreement of a run with labels that it had not learnt from."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.schema import BY_EYE, verdicts


def held_out_agreement(connection: Connection, earlier: Row[Any] | None) -> dict[str, float]:
    """Return the share of labels that agree with the previous run's predictions, and their number.

    A label is stored with what the current run had predicted before it, so this is agreement on segments the run had
    not learnt from. It is pessimistic if people review the least sure segments; the random sample is unbiased.
    """
    if earlier is None:
        return {}
    right = func.total(verdicts.c.predicted == func.coalesce(verdicts.c.class_id, BACKGROUND))
    checked = [verdicts.c.run_id == earlier.id, verdicts.c.checked_by == BY_EYE]
    n, n_right = connection.execute(select(func.count(), right).where(*checked)).one()
    return {"agreement_before": float(n_right / n), "n_checked_before": float(n)} if n else {}
