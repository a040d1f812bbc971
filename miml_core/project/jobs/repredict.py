"""Predict bags again after edits: the label of one segment changes the posterior of the others.

Every edit, whoever makes it, notes the bags whose predictions depend on it (`note_bags`); choosing a run and the end of
a training note those that are stale then (`note_stale`). A server predicts them in the background once the person
pauses (`Store.predicts_in_background`). Any other program predicts them when it closes the project (`predict_noted`);
what it leaves because it was killed, or never closes the project, a server finds (`note_revision`).
Many bags at once are left to a job. One thread predicts for all projects of a server, and pauses after each bag: while
many people edit, edits come before predictions.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from miml_core.errors import BagtagError
from miml_core.project.db import revisions, settings
from miml_core.project.db.store import Store
from miml_core.project.events import EditStored
from miml_core.project.jobs import queue as job_queue
from miml_core.project.learning import predicting
from miml_core.project.queries import predictions

PAUSE_S = 0.4
_MOST_BAGS = 20
"""More bags than this are predicted by a job."""
_ALL_STALE = 0
"""In place of a bag: find all stale bags, in the thread, because that takes seconds in a large project."""
_EDITED = -1
"""In place of a bag: find the bags that edits of other programs left to predict."""
_EDITED_PAUSE_S = 5.0
"""How long these programs have to predict them, and how often they are looked for at most."""
_PAUSE_RATIO, _LONGEST_PAUSE_S = 4.0, 1.0
"""The thread pauses four times as long as the bag took, so that predictions use at most a fifth of a core."""

_log = logging.getLogger("bagtag.repredict")
_waiting: dict[tuple[str, int], tuple[float, Store]] = {}
"""Project and bag -> when it is due."""
_changed = threading.Condition()
_threads: list[threading.Thread] = []


def note_edit(event: EditStored) -> None:
    """Note the bags whose predictions depend on a stored edit.

    With the first edit in a server all stale bags are noted: those that waited when a server was stopped. Merely
    opening a project, which may be somebody else's, writes nothing and starts nothing.
    """
    store = event.store
    note_bags(store, event.bags_to_predict)
    if store.predicts_in_background and not store.stale_bags_noted:
        store.stale_bags_noted = True
        predict_soon(store, _ALL_STALE)


def note_stale(store: Store) -> None:
    """Note all bags that the current run has not predicted since they last changed."""
    try:
        note_bags(store, predicting.stale_bags(store))
    except BagtagError as error:
        _log.info("Predictions stay as they are: %s", error)
    except Exception:
        _log.exception("The bags to predict again could not be found")


def note_revision(store: Store, revision: int) -> None:
    """Let a server find what edits of other programs left to predict; it is given every revision that it reads.

    A revision that is not new costs nothing, and the first one is only remembered: opening a project predicts nothing.
    """
    if not store.predicts_in_background:
        return
    if store.edits_noted_until is None:
        store.edits_noted_until = revision
    elif revision > store.edits_noted_until:
        _wait_for(store, _EDITED, _EDITED_PAUSE_S, again=False)


def _note_edited(store: Store) -> None:
    """Note the bags that edits changed since this was last done, unless they have been predicted."""
    try:
        with store.read() as connection:
            until = revisions.current(connection)
        edited = predicting.stale_bags(store, edited_after=store.edits_noted_until)
        if len(edited) > _MOST_BAGS and _has_job(store):
            return  # it predicts most of them; they are looked for again with the next revision that is read
        store.edits_noted_until = until
        note_bags(store, edited)
    except BagtagError as error:
        _log.info("Predictions stay as they are: %s", error)
    except Exception:
        _log.exception("The bags to predict again could not be found")


def note_bags(store: Store, bag_ids: Iterable[int]) -> None:
    """Note bags whose predictions an edit changed: they are predicted again soon, or when the project is closed."""
    bag_ids = list(bag_ids)
    if not bag_ids:
        return
    if not store.predicts_in_background:
        store.bags_to_predict.update(bag_ids)
    elif len(bag_ids) > _MOST_BAGS:
        _start_job(store)
    else:
        for bag_id in bag_ids:
            predict_soon(store, bag_id)


def predict_soon(store: Store, bag_id: int) -> None:
    """Predict a bag again after `PAUSE_S` seconds without a further call for it."""
    _wait_for(store, bag_id, PAUSE_S)


def _wait_for(store: Store, bag_id: int, pause: float, *, again: bool = True) -> None:
    """Put a bag in the queue of the thread; if it is there already, the pause begins `again` or goes on."""
    name = str(store.folder), bag_id
    with _changed:
        if name in _waiting and not again:
            return
        _waiting[name] = (time.monotonic() + pause, store)
        if not _threads or not _threads[0].is_alive():
            _threads[:] = [threading.Thread(target=_predict_forever, name="predict again", daemon=True)]
            _threads[0].start()
        _changed.notify()


def predict_noted(store: Store) -> None:
    """Predict the bags that were noted and not predicted yet; a project without a model has nothing to predict."""
    noted, store.bags_to_predict = sorted(store.bags_to_predict), set()
    if not noted or not store.is_in_place():
        return
    try:
        with store.read() as connection:
            run_id = settings.get(connection, "current_run")
            if run_id is None:
                return
            stale = set(predictions.bags_to_predict(connection, run_id))  # a training may have followed the edits
    except BagtagError as error:
        _log.info("Predictions stay as they are: %s", error)
        return
    noted = [bag_id for bag_id in noted if bag_id in stale]
    if len(noted) > _MOST_BAGS:
        _start_job(store)
        return
    for bag_id in noted:
        if not _predict(store, bag_id):
            _predict(store, bag_id)


def _predict_forever() -> None:
    while True:
        store, bag_id = _next_due()
        began = time.monotonic()
        if bag_id == _ALL_STALE:
            note_stale(store)
        elif bag_id == _EDITED:
            _note_edited(store)
        elif not _predict(store, bag_id):
            predict_soon(store, bag_id)
        time.sleep(min(_PAUSE_RATIO * (time.monotonic() - began), _LONGEST_PAUSE_S))


def _next_due() -> tuple[Store, int]:
    """Wait until a bag is due, and return it."""
    with _changed:
        while True:
            first = min(_waiting, key=lambda name: _waiting[name][0], default=None)
            if first is None:
                _changed.wait()
                continue
            due, store = _waiting[first]
            if due <= time.monotonic():
                del _waiting[first]
                return store, first[1]
            _changed.wait(due - time.monotonic())


def _predict(store: Store, bag_id: int) -> bool:
    """Predict a bag; return False if it changed meanwhile, so that it has to be predicted again."""
    try:
        return predicting.predict_bag(store, bag_id) is not None
    except BagtagError as error:
        _log.info("Bag %s keeps its predictions: %s", bag_id, error)
    except Exception:
        _log.exception("Bag %s could not be predicted again", bag_id)
    return True


def _has_job(store: Store) -> bool:
    return any(job.kind == "predict" for job in job_queue.list_jobs(store, active=True, limit=100))


def _start_job(store: Store) -> None:
    try:
        job_queue.start(store, "predict", {}, "")
    except BagtagError as error:
        _log.info("Predictions stay as they are: %s", error)
