"""Edits of the canvas: each one transaction, each done once, however often it is sent."""

from __future__ import annotations

import logging
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core import BagtagError
from miml_core.project import NeedsConfirmation, Project
from miml_core.project.errors import BadAct, Busy
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.edit_fields import is_edit, parsed
from pages.widgets.routes.json_response import JSONResponse

MOST_EDITS = 100
_OWN_FAULT = "Bagtag could not store this edit because of a fault of its own; the details are in its terminal."
_log = logging.getLogger("bagtag.edits")


def take_edits(request: Request, project: Project) -> Response:
    """Do a batch in its order; returns what became of each edit and the project's revision afterwards.

    An edit that cannot be done gets its reason and does not hold up the others. When the project is busy or cannot be
    written the rest is left for another try. So it is after an edit that fails by a fault of Bagtag's own, because
    later ones may depend on it: the browser tries it again, and then decides what goes on without it.
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
        except Exception:
            _log.exception("An edit failed: %s %s", edit["act"]["act"], edit["number"])
            results.append({"number": edit["number"], "error": _OWN_FAULT, "failed": True})
            break
    return JSONResponse({"results": results, "revision": project.revision})


def _done(project: Project, edit: dict[str, Any]) -> dict[str, Any]:
    number = edit["number"]
    try:
        result = project.apply_edit(
            edit["nonce"], number, edit["act"], annotator=edit["annotator"], seen=edit.get("seen")
        )
    except (Busy, BadAct):  # the fields were checked: arguments an act cannot take are Bagtag's own fault
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
        edits = parsed(request.state.body)["edits"]
    except (ValueError, KeyError, TypeError):
        raise NotAllowed(400, "These are no edits.") from None
    if not isinstance(edits, list) or not 0 < len(edits) <= MOST_EDITS:
        raise NotAllowed(400, f"From 1 to {MOST_EDITS} edits at once.")
    if not all(map(is_edit, edits)):
        raise NotAllowed(400, "Bagtag cannot read this edit. Reload the page and try again.")
    return edits
