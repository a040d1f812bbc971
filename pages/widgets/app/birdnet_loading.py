"""Load BirdNET in the background as soon as a project is open that will use it."""

from __future__ import annotations

import logging
import threading

from miml_core import BagtagError
from miml_core.project import Project

_log = logging.getLogger("bagtag.birdnet")
_lock = threading.Lock()
_started = False


def load_birdnet(project: Project) -> None:
    """Start loading the network, once per server, so that the first suggestion does not wait for it."""
    global _started
    with _lock:
        if _started or project.kind != "sound" or not project.suggestions.available():
            return
        _started = True
    threading.Thread(target=_load, name="load BirdNET", daemon=True).start()


def _load() -> None:
    from miml_core.features.birdnet import find_species, load_network

    try:
        load_network()
        find_species("Wren")  # builds the index of names
    except BagtagError as error:  # the Tag page shows it where it matters
        _log.info("BirdNET was not loaded: %s", error)
