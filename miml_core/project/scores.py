"""How well a run agreed with people before it could learn from them."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, func, select

from miml_core.bags import BACKGROUND
from miml_core.project.schema import verdicts


def held_out_agreement(connection: Connection, earlier: Row[Any] | None) -> dict[str, float]:
    """Share of the verdicts on the previous run's predictions that found them right, and how many there were.

    A verdict is kept beside what the run on screen had predicted before it, so this is agreement on segments the run
    had not learnt from. It is pessimistic when people review what is least sure; the random sample is the honest
    figure.
    """
    if earlier is None:
        return {}
    right = func.total(verdicts.c.predicted == func.coalesce(verdicts.c.class_id, BACKGROUND))
    n, n_right = connection.execute(select(func.count(), right).where(verdicts.c.run_id == earlier.id)).one()
    return {"agreement_before": float(n_right / n), "n_checked_before": float(n)} if n else {}
