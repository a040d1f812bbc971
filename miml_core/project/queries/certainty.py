"""From which probability on a prediction counts as sure; below it a segment is shown as "?" with its best guesses."""

from __future__ import annotations

import json

from sqlalchemy import Connection

from miml_core.project.db import settings
from miml_core.project.queries import prediction_blocks

WITHOUT_CALIBRATION = 0.5
"""Threshold of runs that have none of their own (`Run.scores["sure_from"]`)."""


def sure_from(connection: Connection) -> float:
    """Return the threshold in use: a person's, else the current run's."""
    chosen = settings.sure_from(connection)
    return default_sure_from(connection) if chosen is None else chosen


def default_sure_from(connection: Connection) -> float:
    """Return the threshold that calibration found for the current run."""
    run = prediction_blocks.current_run(connection)
    stored = None if run is None else json.loads(run.scores).get("sure_from")
    if isinstance(stored, int | float) and 0 < stored <= 1:
        return round(float(stored), settings.SURE_DECIMALS)
    return WITHOUT_CALIBRATION
