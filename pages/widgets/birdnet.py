"""BirdNET on the pages: one line about its licence or installation, and loading it in the background."""

from __future__ import annotations

import logging
import threading

from miml_core import BagtagError
from miml_core.features.birdnet.files import LICENCE, VERSION, birdnet_status
from miml_core.project import Project
from pages.widgets.text import plain

BIRDNET_TITLE = f"BirdNET {VERSION}"
_log = logging.getLogger("bagtag.birdnet")
_lock = threading.Lock()
_started = False


def birdnet_line(use: str = "") -> str:
    """Return one line of Markdown; `use` is what BirdNET does here, shown where it is installed."""
    status = birdnet_status()
    if not status.installed:
        known = "recognises 6522 species without training"
        return f"{BIRDNET_TITLE} ({LICENCE}, non-commercial) {known}. {plain(status.reason)}"
    licence = f"its weights are licensed {LICENCE}, for non-commercial use with attribution."
    return f"{use} {BIRDNET_TITLE}: {licence}".strip()


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
