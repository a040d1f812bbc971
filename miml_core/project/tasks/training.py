"""Train a model on what people said, then predict every segment.

The run becomes the current one only when its model file and all its predictions are stored; until then, and if it is
interrupted, the previous run stays in place.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from miml_core.bags import UNKNOWN, BagSet
from miml_core.errors import BagtagError
from miml_core.project import bagset, held_out, predictions, review_lines, run_blocks, runs
from miml_core.project.answers import ask
from miml_core.project.bagset import BagSetIndex
from miml_core.project.errors import Cancelled
from miml_core.project.job_context import JobContext
from miml_core.project.job_params import DEFAULT_MODEL
from miml_core.project.own_folders import own_folder
from miml_core.project.scores import held_out_agreement
from miml_core.project.tasks import describing

DEFAULT_PARAMS: dict[str, dict[str, Any]] = {
    "ored-lr": {"background": True, "leak": 0.01},
    "gp-probit": {"background": True, "leak": 0.01},
    "mimm": {"background": True, "leak": 0.01},
}
"""What the app and the command line switch on beyond a model's own defaults."""


def run(context: JobContext) -> dict[str, Any]:
    from miml_core.models import MODELS

    name = context.params.get("model") or DEFAULT_MODEL
    params = {**DEFAULT_PARAMS.get(name, {}), **MODELS[name].current_names(context.params.get("params") or {})}
    seed = int(context.params.get("seed") or 0)
    model = _make(name, params, seed)
    describing.describe_all(context)
    context.report(0, 0, "loading")
    with context.store.read() as connection:
        bags, index = bagset.load(connection)
        earlier = run_blocks.current_run(connection)
    run_id = _begin(context, name, params, seed, bags, index)
    began = time.monotonic()
    context.report(0, 0, "training")
    warm = _warm_start(context, earlier, name, index) if context.params.get("warm_start", True) else None
    learn_from, chosen = bagset.choose(bags, index, _spoken_of(bags))
    _fit(model, learn_from, context, warm)
    ended = runs.STOPPED_EARLY if context.enough else ""
    context.report(0, 0, "saving the model")
    model.save(own_folder(context.store.folder, "runs", str(run_id)) / "model.npz")
    context.report(0, 0, "predicting")
    answers = ask(model, bags)
    context.check()
    predictions.write(
        context.store, run_id, index, answers, tick=lambda done, of: context.report(done, of, "storing predictions")
    )
    _finish(context, run_id, time.monotonic() - began, model.has_background, ended)
    review_lines.summarise_all(
        context.store, tick=lambda done, of: context.report(done, of, "sorting the review queue")
    )
    if ended:
        return {"message": f"run {run_id} is ready, {ended}", "run": run_id}
    told = _compare(context, run_id, model, learn_from, chosen)
    return {"message": f"run {run_id} is ready{told}", "run": run_id}


def _make(name: str, params: dict[str, Any], seed: int) -> Any:
    from miml_core.models.parameters import make_model

    takes_seed = "random_state" in make_model(name, {}).get_params()
    return make_model(name, {"random_state": seed, **params} if takes_seed else params)


def _fit(model: Any, bags: BagSet, context: JobContext, warm: Any) -> None:
    model.fit(bags, progress=context.fit_progress, **({} if warm is None else {"warm_start": warm}))


def _begin(
    context: JobContext, name: str, params: dict[str, Any], seed: int, bags: BagSet, index: BagSetIndex
) -> int:
    with context.store.write() as connection:
        return runs.begin(
            connection,
            model=name,
            params=json.dumps(params),
            seed=seed,
            classes=json.dumps(index.class_ids),
            feature_key=index.feature_key,
            n_bags=len(_spoken_of(bags)),
            n_segments=bags.n_segments,
            n_corrections=int(np.count_nonzero(bags.labels != UNKNOWN)),
            annotator=context.annotator,
            job_id=context.job_id,
        )


def _finish(context: JobContext, run_id: int, seconds: float, background: bool, message: str) -> None:
    curves = {name: values for name, values in context.info.get("curves", {}).items() if values}
    with context.store.write() as connection:
        scores = {name: values[-1] for name, values in curves.items()}
        scores |= {name: context.info[name] for name in ("alpha",) if name in context.info}
        scores |= held_out_agreement(connection, run_blocks.current_run(connection))
        runs.change(
            connection,
            run_id,
            state="done",
            seconds=seconds,
            background=background,
            message=message,
            curves=json.dumps(curves),
            scores=json.dumps(scores),
        )
        runs.make_current(connection, run_id)


def _compare(context: JobContext, run_id: int, model: Any, bags: BagSet, index: BagSetIndex) -> str:
    """Keep the run's scores on held-out bags; answers what is to be told if there are none.

    The run is ready and in place before: whoever cancels now loses only these scores.
    """

    def progress(step: int, of: int, info: Any) -> bool:
        context.report(step, of, "checking on held-out bags")
        if context.enough:
            raise Cancelled
        return False

    try:
        found = held_out.score(model, bags, index.bag_ids, progress)
    except Cancelled:
        return ", but was not checked on held-out bags"
    except BagtagError as error:
        context.tell(f"the check on held-out bags was not possible: {error}")
        return ", but could not be checked on held-out bags"
    with context.store.write() as connection:
        runs.add_scores(connection, run_id, found)
    return ""


def _spoken_of(bags: BagSet) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Bags somebody has tagged, finished or corrected: an unknown bag teaches nothing."""
    said = (bags.tags != 0).any(axis=1)
    labelled = np.add.reduceat(bags.labels != UNKNOWN, bags.offsets[:-1]) > 0
    return np.flatnonzero(said | labelled)


def _warm_start(context: JobContext, earlier: Any, name: str, index: BagSetIndex) -> Any:
    """The previous model, if it is of the same kind, classes and features."""
    if earlier is None or earlier.model != name or earlier.feature_key != index.feature_key:
        return None
    if json.loads(earlier.classes) != index.class_ids:
        return None
    try:
        return runs.load_model(context.store, earlier.id)
    except BagtagError as error:
        context.tell(f"starting afresh: {error}")
        return None


