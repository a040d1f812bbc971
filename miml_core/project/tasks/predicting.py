"""Predict with a run: bags that are new or have changed since it last spoke about them."""

from __future__ import annotations

import json
from typing import Any

from miml_core.errors import BagtagError
from miml_core.project import bagset, predictions, review_lines, runs, settings
from miml_core.project.answers import ask
from miml_core.project.job_context import JobContext
from miml_core.project.tasks import describing

_BAGS_AT_ONCE = 2000


def run(context: JobContext) -> dict[str, Any]:
    describing.describe_all(context)
    with context.store.read() as connection:
        run_id = context.params.get("run") or settings.get(connection, "current_run")
        if run_id is None:
            raise BagtagError("There is no model yet; train one first.")
        chosen_run = runs.row(connection, run_id)
        if chosen_run.feature_key != settings.feature_key(connection):
            raise BagtagError(f"The features have changed since run {run_id} was trained; train again.")
        chosen = predictions.bags_to_predict(connection, run_id)
    model = runs.load_model(context.store, run_id)
    for start in range(0, len(chosen), _BAGS_AT_ONCE):
        context.report(start, len(chosen), "predicting")
        with context.store.read() as connection:
            part = chosen[start : start + _BAGS_AT_ONCE]
            bags, index = bagset.load(connection, part, class_ids=json.loads(chosen_run.classes))
        predictions.write(context.store, run_id, index, ask(model, bags))
    with context.store.read() as connection:
        in_step = settings.get(connection, "summarised_run") == settings.get(connection, "current_run")
    if not in_step:
        review_lines.summarise_all(
            context.store, tick=lambda done, of: context.report(done, of, "sorting the review queue")
        )
    context.report(len(chosen), len(chosen), "predicting")
    return {"message": f"predicted {len(chosen)} bags", "bags": len(chosen), "run": run_id}
