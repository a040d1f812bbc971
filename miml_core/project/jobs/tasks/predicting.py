"""Predict with a run: bags that are new or have changed since their last prediction."""

from __future__ import annotations

import json
from typing import Any

from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.rows import run_row
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import computing_features
from miml_core.project.learning import predicting, review_index, training_runs
from miml_core.project.learning.model_outputs import predict
from miml_core.project.queries import bagset, predictions
from miml_core.project.queries.prediction_blocks import IMPORTED

_BAGS_AT_ONCE = 2000


def run(context: JobContext) -> dict[str, Any]:
    """Predict all bags without up-to-date predictions."""
    computing_features.describe_all(context)
    with context.store.read() as connection:
        run_id = context.params.get("run") or settings.get(connection, "current_run")
        if run_id is None:
            raise BagtagError("There is no model yet; train one first.")
        chosen_run = run_row(connection, run_id)
        if chosen_run.model == IMPORTED:
            return {"message": "the suggestions shown were imported: nothing to predict", "bags": 0, "run": run_id}
        if chosen_run.feature_key != settings.feature_key(connection):
            raise BagtagError(f"The features have changed since run {run_id} was trained; train again.")
        chosen = predictions.bags_to_predict(connection, run_id)
    model = training_runs.load_model(context.store, run_id)
    for start in range(0, len(chosen), _BAGS_AT_ONCE):
        context.report(start, len(chosen), "predicting")
        with context.store.read() as connection:
            part = chosen[start : start + _BAGS_AT_ONCE]
            bags, index = bagset.load(connection, part, class_ids=json.loads(chosen_run.classes))
        predicting.write(context.store, run_id, index, predict(model, bags))
    with context.store.read() as connection:
        up_to_date = settings.get(connection, "summarised_run") == settings.get(connection, "current_run")
    if not up_to_date:
        review_index.summarise_all(
            context.store, progress=lambda done, of, _: context.report(done, of, "sorting the review queue")
        )
    context.report(len(chosen), len(chosen), "predicting")
    return {"message": f"predicted {counted(len(chosen), 'bag')}", "bags": len(chosen), "run": run_id}
