"""Predictions that people checked by eye, to compare the two; and the probabilities of those nobody has labelled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, exists, func, select, text

from miml_core.bags import BACKGROUND
from miml_core.project.db import settings
from miml_core.project.db.schema import BY_EYE, runs, verdicts
from miml_core.project.db.schema import predictions as table
from miml_core.project.queries import classes
from miml_core.project.queries.prediction_blocks import IMPORTED
from miml_core.review.threshold import FEWEST_CHECKED, OpenPredictions

PARTS = 100


@dataclass(frozen=True, eq=False)
class CheckedPredictions:
    """What a run predicted for segments, and the labels of people who saw them; one row per segment."""

    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]
    probability: NDArray[np.float64]
    """Of `predicted`, when it was checked."""
    sampled: bool
    """Whether they are the random sample; otherwise all that were checked, which may be mostly doubtful ones."""
    n_of_earlier_runs: int
    """How many of them were predicted by runs before the current one, which alone has been checked too little."""

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.predicted == self.labels

    def __len__(self) -> int:
        return len(self.predicted)


def checked_predictions(connection: Connection) -> CheckedPredictions:
    """Return the checked predictions that show best how reliable the current run is.

    Those of the random sample if they are enough, otherwise all; those of earlier runs only if there are too few.
    Scores that were imported and probabilities of our models say nothing of each other: imported suggestions are
    compared with what people found in just these, and trained runs with trained runs.
    """
    run_id = settings.get(connection, "current_run")
    imported = set(connection.scalars(select(runs.c.id).where(runs.c.model == IMPORTED)))
    alike = verdicts.c.run_id == run_id if run_id in imported else func.coalesce(verdicts.c.run_id, 0).not_in(imported)
    label = func.coalesce(verdicts.c.class_id, BACKGROUND)
    query = select(verdicts.c.predicted, label, verdicts.c.probability, verdicts.c.sampled, verdicts.c.run_id).where(
        verdicts.c.checked_by == BY_EYE,
        verdicts.c.predicted.is_not(None),
        verdicts.c.probability.is_not(None),
        alike,
    )
    rows = np.array([tuple(row) for row in connection.execute(query)], dtype=np.float64).reshape(-1, 5)
    now = classes.aliases(connection)
    rows[:, 0] = [now.get(int(each), BACKGROUND) for each in rows[:, 0]]
    sampled, current = rows[:, 3] > 0, rows[:, 4] == (-1 if run_id is None else run_id)
    for chosen, of_sample in ((sampled & current, True), (current, False), (sampled, True)):
        if chosen.sum() >= FEWEST_CHECKED:
            return _checked(rows[chosen], current[chosen], of_sample)
    return _checked(rows, current, bool(len(rows)) and bool(sampled.all()))


def open_predictions(connection: Connection, class_id: int | None = None) -> OpenPredictions:
    """Count the predictions (of one class) that nobody has labelled, by their probability."""
    # Exactly as a threshold of k / 100 divides them: 0.29 * 100 is less than 29.
    part = text(
        f"CAST(probability * {PARTS} AS INTEGER)"
        f" + (probability >= (CAST(probability * {PARTS} AS INTEGER) + 1) / {PARTS}.0)"
        f" - (probability < CAST(probability * {PARTS} AS INTEGER) / {PARTS}.0)"
    )
    labelled = exists().where(verdicts.c.segment_id == table.c.segment_id)
    query = (
        select(part, func.count(), func.total(table.c.probability))
        .select_from(table)
        .where(text("NOT reviewed"), ~labelled)
        .group_by(text("1"))
    )
    if class_id is not None:
        query = query.where(table.c.top == class_id)
    counts, totals = np.zeros(PARTS + 1, dtype=np.int64), np.zeros(PARTS + 1)
    for place, count, total in connection.execute(query):
        counts[place], totals[place] = count, total
    return OpenPredictions(counts, totals)


def _checked(rows: NDArray[np.float64], current: NDArray[np.bool_], sampled: bool) -> CheckedPredictions:
    return CheckedPredictions(
        rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], sampled, int((~current).sum())
    )
