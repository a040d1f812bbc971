"""Edits of the canvas: each one transaction, each done once, however often it is sent."""

from __future__ import annotations

import json
import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from miml_core import BagtagError
from miml_core.project import NeedsConfirmation, Project
from miml_core.project.errors import Busy
from pages.widgets.repredict import repredict_soon
from pages.widgets.routes.doors import NotAllowed

MOST_EDITS = 100
_NONCE = re.compile(r"[0-9a-zA-Z-]{8,64}")
_CANVAS_ACTS = {
    "tag", "finish", "unfinish", "nothing_here", "correct", "accept", "accept_bag", "draw", "redraw", "merge", "split",
    "delete", "undo", "redo", "add_class",
}  # fmt: skip
_MOVES_PREDICTIONS = _CANVAS_ACTS - {"add_class", "accept", "accept_bag"}


def take_edits(request: Request, project: Project) -> Response:
    """Do a batch in its order; answers what became of each edit and the project's revision afterwards.

    An edit that cannot be done gets its reason and does not hold up the others. When the project is busy the rest
    is left for another try.
    """
    edits = _edits_in(request)
    results: list[dict[str, Any]] = []
    for edit in edits:
        try:
            results.append(_done(project, edit))
        except Busy:
            if not results:
                raise
            break
    _look_again(project, edits)
    return JSONResponse({"results": results, "revision": project.revision})


def _done(project: Project, edit: dict[str, Any]) -> dict[str, Any]:
    number = edit["number"]
    try:
        result = project.apply_edit(
            edit["nonce"], number, edit["act"], annotator=edit["annotator"], seen=edit.get("seen")
        )
    except Busy:
        raise
    except NeedsConfirmation as question:
        return {"number": number, "error": str(question), "confirm": True}
    except BagtagError as error:
        return {"number": number, "error": str(error)}
    return {
        "number": number,
        "revision": result.revision,
        "created": result.created,
        "sentence": result.sentence,
        "overtook": result.overtook,
    }


def _edits_in(request: Request) -> list[dict[str, Any]]:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise NotAllowed(415, "Edits are sent as JSON.")
    try:
        edits = json.loads(request.state.body)["edits"]
    except (ValueError, KeyError, TypeError):
        raise NotAllowed(400, "These are no edits.") from None
    if not isinstance(edits, list) or not 0 < len(edits) <= MOST_EDITS:
        raise NotAllowed(400, f"From 1 to {MOST_EDITS} edits at once.")
    for edit in edits:
        _check(edit)
    return edits


def _check(edit: Any) -> None:
    """Refuse what no canvas sends; what an act's own values may be is the project's business."""
    sound = (
        isinstance(edit, dict)
        and isinstance(edit.get("nonce"), str)
        and _NONCE.fullmatch(edit["nonce"]) is not None
        and _is_number(edit.get("number"))
        and _is_number(edit.get("seen", 0))
        and _is_number(edit.get("bag", 0))
        and isinstance(edit.get("annotator"), str)
        and len(edit["annotator"]) <= 80
        and isinstance(edit.get("act"), dict)
        and edit["act"].get("act") in _CANVAS_ACTS
    )
    if not sound:
        raise NotAllowed(400, "This is not an edit of the canvas.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _look_again(project: Project, edits: list[dict[str, Any]]) -> None:
    """What a person says of one segment changes what the others may be."""
    for bag in {edit["bag"] for edit in edits if edit.get("bag") and edit["act"]["act"] in _MOVES_PREDICTIONS}:
        repredict_soon(project, bag)
