"""What the pages say about BirdNET: its licence, or the command that installs it."""

from __future__ import annotations

from miml_core.features.birdnet.files import LICENCE, VERSION, birdnet_status
from pages.widgets.text import plain

BIRDNET_TITLE = f"BirdNET {VERSION}"


def birdnet_line(use: str = "") -> str:
    """Return one line of Markdown; `use` is what BirdNET does here, shown where it is installed."""
    status = birdnet_status()
    if not status.installed:
        return f"{BIRDNET_TITLE} ({LICENCE}, non-commercial) knows 6522 species from the start. {plain(status.reason)}"
    licence = f"its weights are licensed {LICENCE}, for non-commercial use with attribution."
    return f"{use} {BIRDNET_TITLE}: {licence}".strip()
