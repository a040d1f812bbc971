"""The suggested tags of a sound, with where they come from."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import BagSuggestions, Project, Suggestion
from pages.widgets.routes.json_response import JSONResponse

_ALL_PLACES = "Species of all regions are suggested. To limit them, enter the place of recording in the project menu."
_NOTHING = "BirdNET recognises no species here."


def send_suggestions(request: Request, project: Project) -> Response:
    """Send the suggested tags of a bag; BirdNET analyses it if it has not yet."""
    found = project.suggestions.of_bag(request.path_params["bag"])
    return JSONResponse({"items": [_item(one) for one in found.items], "note": note_about(project, found)})


def note_about(project: Project, found: BagSuggestions) -> str:
    """Return a sentence on how species were chosen, or why there are none; an empty text if neither is needed."""
    if found.problem:
        from miml_core.features.birdnet import birdnet_status

        # With a model of their own, people need not read on every clip that BirdNET could be installed.
        return found.problem if project.runs.current() is None or birdnet_status().installed else ""
    if not found.analysed:
        return ""
    nothing = "" if found.items else f"{_NOTHING} "
    if found.place is None:
        return f"{nothing}{_ALL_PLACES}" if found.items else nothing.strip()
    when = "" if found.week is None else f" in week {found.week} of 48"
    return f"{nothing}Filtered by place: species that occur at {found.place}{when}."


def _item(one: Suggestion) -> dict[str, Any]:
    return {
        "class": one.class_id,
        "name": one.name,
        "scientific_name": one.scientific_name,
        "probability": round(one.probability, 3),
        "source": one.source,
    }
