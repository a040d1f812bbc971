"""How sounds are shown: colours of the levels, and the frequency range that all bags of a project open with."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Project
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.json_response import JSONResponse

HIGHEST_HERTZ = 1e6


def sound_view(project: Project) -> dict[str, Any] | None:
    """Return what a browser colours and frames spectrograms by; None for pictures.

    `colours` is the colour map, six hexadecimal digits per colour; `quiet` and `loud` are the decibels at its ends,
    `levels` those at the ends of a grey tile. `band` is the frequency range in hertz (its end may be null: up to the
    highest), or null: all of it.
    """
    from miml_core.media.colour_maps import colour_map
    from miml_core.media.rendering import LEVEL_RANGE

    if project.kind != "sound":
        return None
    settings = project.settings.spectrogram
    return {
        "colours": colour_map(settings.colour_map).tobytes().hex(),
        "quiet": settings.quiet_db,
        "loud": settings.loud_db,
        "levels": LEVEL_RANGE,
        "band": project.view_band,
    }


def store_view_band(request: Request, project: Project) -> Response:
    """Store the frequency range that all bags are shown with: `low` and `high` in hertz; both null: all of it."""
    try:
        given = json.loads(request.state.body)
        low, high = given["low"], given["high"]
    except (ValueError, TypeError, KeyError):
        raise NotAllowed(400, "A frequency range has a low and a high end, in hertz.") from None
    if not all(end is None or _is_frequency(end) for end in (low, high)):
        raise NotAllowed(400, f"A frequency is a number of hertz from 0 to {HIGHEST_HERTZ:g}.")
    project.set_view_band(None if low is None and high is None else (low or 0.0, high))
    return JSONResponse({"band": project.view_band})


def _is_frequency(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST_HERTZ
