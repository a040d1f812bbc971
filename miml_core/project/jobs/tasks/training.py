"""Train a model on tags and labels, then predict every segment.

The run becomes the current one only when its model file and all its predictions are stored; until then, and if it is
interrupted, the previous run stays the current one.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.posterior import DEFAULT_LEAK
from miml_core.project.db.own_folders import own_folder
from miml_core.project.errors import Cancelled
from miml_core.project.jobs import repredict
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.params import DEFAULT_MODEL
from miml_core.project.jobs.tasks import computing_features
from miml_core.project.learning import held_out, predicting, review_index, training_runs
from miml_core.project.learning.model_outputs import predict
from miml_core.project.queries import bagset, prediction_blocks
from miml_core.project.queries.bagset import BagSetIndex
from miml_core.project.queries.scores import held_out_agreement

DEFAULT_PARAMS: dict[str, dict[str, Any]] = {
    "ored-lr": {"background": True, "leak": DEFAULT_LEAK},
    "gp-probit": {"background": True, "leak": DEFAULT_LEAK},
    "mimm": {"background": True, "leak": DEFAULT_LEAK},
}
"""Parameters of the app and the command line that differ from a model's own defaults."""


def run(context: JobContext) -> dict[str, Any]:
    """Train a model, store its predictions and score it on held-out bags."""
    from miml_core.models import MODELS

    name = context.params.get("model") or DEFAULT_MODEL
    params = {**DEFAULT_PARAMS.get(name, {}), **MODELS[name].current_names(context.params.get("params") or {})}
    seed = int(context.params.get("seed") or 0)
    model = _make(name, params, seed)
    computing_features.describe_all(context)
    context.report(0, 0, "loading")
    with context.store.read() as connection:
        bags, index = bagset.load(connection)
        earlier = prediction_blocks.current_run(connection)
    run_id = _begin(context, name, params, seed, bags, index)
    began = time.monotonic()
    context.report(0, 0, "training")
    warm = _warm_start(context, earlier, name, index) if context.params.get("warm_start", True) else None
    learn_from, chosen = bagset.choose(bags, index, bags.annotated_bags())
    _fit(model, learn_from, context, warm)
    ended = training_runs.STOPPED_EARLY if context.stop_early else ""
    context.report(0, 0, "saving the model")
    model.save(own_folder(context.store.folder, "runs", str(run_id)) / "model.npz")
    context.report(0, 0, "predicting")
    outputs = predict(model, bags)
    context.check()
    predicting.write(
        context.store,
        run_id,
        index,
        outputs,
        progress=lambda done, of, _: context.report(done, of, "storing predictions"),
    )
    _finish(context, run_id, time.monotonic() - began, model, ended)
    review_index.summarise_all(
        context.store, progress=lambda done, of, _: context.report(done, of, "sorting the review queue")
    )
    repredict.note_stale(context.store)  # bags that were edited during the training
    repredict.predict_noted(context.store)
    if ended:
        return {"message": f"run {run_id} is ready, {ended}", "run": run_id}
    note = _score(context, run_id, model, learn_from, chosen)
    return {"message": f"run {run_id} is ready{note}", "run": run_id}


def _make(name: str, params: dict[str, Any], seed: int) -> Any:
    from miml_core.models.parameters import make_model

    takes_seed = "random_state" in make_model(name, {}).get_params()
    return make_model(name, {"random_state": seed, **params} if takes_seed else params)


def _fit(model: Any, bags: BagSet, context: JobContext, warm: Any) -> None:
    model.fit(bags, progress=context.fit_progress, **({} if warm is None else {"warm_start": warm}))


def _begin(context: JobContext, name: str, params: dict[str, Any], seed: int, bags: BagSet, index: BagSetIndex) -> int:
    with context.store.write() as connection:
        return training_runs.begin(
            connection,
            model=name,
            params=json.dumps(params),
            seed=seed,
            classes=json.dumps(index.class_ids),
            feature_key=index.feature_key,
            n_bags=len(bags.annotated_bags()),
            n_segments=bags.n_segments,
            n_corrections=int(np.count_nonzero(bags.labels != UNKNOWN)),
            annotator=context.annotator,
            job_id=context.job_id,
        )


def _finish(context: JobContext, run_id: int, seconds: float, model: Any, message: str) -> None:
    curves = {name: values for name, values in context.info.get("curves", {}).items() if values}
    with context.store.write() as connection:
        scores = {name: values[-1] for name, values in curves.items()}
        scores |= {name: context.info[name] for name in ("alpha",) if name in context.info}
        scores["sure_from"] = float(model.sure_from_)
        scores |= held_out_agreement(connection, prediction_blocks.current_run(connection))
        training_runs.change(
            connection,
            run_id,
            state="done",
            seconds=seconds,
            background=model.has_background,
            message=message,
            curves=json.dumps(curves),
            scores=json.dumps(scores),
        )
        training_runs.make_current(connection, run_id)


def _score(context: JobContext, run_id: int, model: Any, bags: BagSet, index: BagSetIndex) -> str:
    """Store the run's scores on held-out bags; return a note for the job's message if there are none.

    The run is already the current one: cancelling now loses only these scores.
    """

    def progress(step: int, of: int, info: Any) -> bool:
        context.report(step, of, "checking on held-out bags")
        if context.stop_early:
            raise Cancelled
        return False

    try:
        found = held_out.score(model, bags, index.bag_ids, progress)
    except Cancelled:
        return ", but was not checked on held-out bags"
    except BagtagError as error:
        context.log(f"the check on held-out bags was not possible: {error}")
        return ", but could not be checked on held-out bags"
    with context.store.write() as connection:
        training_runs.add_scores(connection, run_id, found)
    return ""


def _warm_start(context: JobContext, earlier: Any, name: str, index: BagSetIndex) -> Any:
    """Return the previous model, if it is of the same kind, classes and features."""
    if earlier is None or earlier.model != name or earlier.feature_key != index.feature_key:
        return None
    if json.loads(earlier.classes) != index.class_ids:
        return None
    try:
        return training_runs.load_model(context.store, earlier.id)
    except BagtagError as error:
        context.log(f"training without the previous model: {error}")
        return None
