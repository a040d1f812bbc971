"""Predicting a bag again after edits, in the background, once the person pauses: a correction moves its neighbours.

One thread predicts for all projects, and rests after each bag: while many people edit, edits come before predictions.
"""

from __future__ import annotations

import logging
import threading
import time

from miml_core import BagtagError
from miml_core.project import Project

PAUSE = 0.4
_REST_SHARE, _LONGEST_REST = 1.0, 0.25
"""It rests as long as the bag took, so that at most half of a core goes to predictions."""

_log = logging.getLogger("bagtag.repredict")
_waiting: dict[tuple[str, int], tuple[float, Project]] = {}
"""Project and bag -> when it is due."""
_changed = threading.Condition()
_threads: list[threading.Thread] = []


def repredict_soon(project: Project, bag_id: int) -> None:
    """Predict a bag again after `PAUSE` seconds without a further call for it."""
    with _changed:
        _waiting[str(project.folder), bag_id] = (time.monotonic() + PAUSE, project)
        if not _threads or not _threads[0].is_alive():
            _threads[:] = [threading.Thread(target=_predict_on, name="predict again", daemon=True)]
            _threads[0].start()
        _changed.notify()


def _predict_on() -> None:
    while True:
        project, bag_id = _next_due()
        began = time.monotonic()
        _predict(project, bag_id)
        time.sleep(min(_REST_SHARE * (time.monotonic() - began), _LONGEST_REST))


def _next_due() -> tuple[Project, int]:
    """Wait for the bag that is due first."""
    with _changed:
        while True:
            first = min(_waiting, key=lambda name: _waiting[name][0], default=None)
            if first is None:
                _changed.wait()
                continue
            due, project = _waiting[first]
            if due <= time.monotonic():
                del _waiting[first]
                return project, first[1]
            _changed.wait(due - time.monotonic())


def _predict(project: Project, bag_id: int) -> None:
    try:
        project.predict_bag(bag_id)
    except BagtagError as error:
        _log.info("Bag %s keeps its predictions: %s", bag_id, error)
    except Exception:
        _log.exception("Bag %s could not be predicted again", bag_id)
