"""Predicting a bag anew after edits, in the background, once the person pauses: a correction moves its neighbours."""

from __future__ import annotations

import logging
import threading

from miml_core import BagtagError
from miml_core.project import Project

PAUSE = 0.4
_log = logging.getLogger("bagtag.repredict")
_timers: dict[tuple[str, int], threading.Timer] = {}
_lock = threading.Lock()
_one_at_a_time = threading.Lock()


def repredict_soon(project: Project, bag_id: int) -> None:
    """Predict a bag anew after `PAUSE` seconds without a further call for it."""
    name = (str(project.folder), bag_id)
    timer = threading.Timer(PAUSE, _repredict, (project, bag_id, name))
    timer.daemon = True
    with _lock:
        earlier = _timers.get(name)
        if earlier is not None:
            earlier.cancel()
        _timers[name] = timer
    timer.start()


def _repredict(project: Project, bag_id: int, name: tuple[str, int]) -> None:
    with _lock:
        if _timers.get(name) is threading.current_thread():
            del _timers[name]
    try:
        with _one_at_a_time:
            project.predict_bag(bag_id)
    except BagtagError as error:
        _log.info("Bag %s keeps its predictions: %s", bag_id, error)
    except Exception:
        _log.exception("Bag %s could not be predicted anew", bag_id)
