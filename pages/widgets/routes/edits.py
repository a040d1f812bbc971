"""Edits of the editor in the browser: each one transaction, each applied once, however often it is sent."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core import BagtagError
from miml_core.project import NeedsConfirmation, Project
from miml_core.project.edits.apply import parse_edit
from miml_core.project.edits.edit import Edit
from miml_core.project.edits.fields import is_number, is_text
from miml_core.project.errors import BadEdit, Busy
from pages.widgets.routes.auth import NotAllowed
from pages.widgets.routes.json_response import JSONResponse

MOST_EDITS = 100
_NONCE = re.compile(r"[0-9a-zA-Z-]{8,64}")
_LONGEST_ANNOTATOR = 80
_OWN_FAULT = (
    "Bagtag could not store this edit because of a bug; the details are in the terminal where Bagtag was started."
)
_log = logging.getLogger("bagtag.edits")


@dataclass(frozen=True)
class SentEdit:
    """One edit with its number in the outbox of a screen."""

    nonce: str
    number: int
    edit: Edit
    annotator: str
    seen: int | None


def apply_edits(request: Request, project: Project) -> Response:
    """Apply a batch in its order; return what became of each edit and the project's revision afterwards.

    An edit that is refused gets its reason and does not hold up the others. When the project is busy or cannot be
    written the rest is left for another try. So it is after an edit that fails by a bug of Bagtag, because
    later ones may depend on it: the browser tries it again, and then decides what goes on without it.
    """
    results: list[dict[str, Any]] = []
    for sent in _edits_in(request):
        try:
            results.append(_apply(project, sent))
        except Busy:
            if not results:
                raise
            break
        except Exception:
            _log.exception("An edit failed: %s %s", sent.edit.name, sent.number)
            results.append({"number": sent.number, "error": _OWN_FAULT, "failed": True})
            break
    return JSONResponse({"results": results, "revision": project.revision})


def _apply(project: Project, sent: SentEdit) -> dict[str, Any]:
    try:
        result = project.edits.apply_once(sent.nonce, sent.number, sent.edit, annotator=sent.annotator, seen=sent.seen)
    except Busy:
        raise
    except NeedsConfirmation as question:
        return {"number": sent.number, "error": str(question), "confirm": True}
    except BagtagError as error:
        return {"number": sent.number, "error": str(error)}
    return {
        "number": sent.number,
        "revision": result.revision,
        "changed": result.history_id is not None,
        "created": result.created,
        "sentence": result.sentence,
        "overtook": result.overtook,
    }


def _edits_in(request: Request) -> list[SentEdit]:
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise NotAllowed(415, "Edits are sent as JSON.")
    try:
        edits = parse_json(request.state.body)["edits"]
    except (ValueError, KeyError, TypeError):
        raise NotAllowed(400, "The request has no list of edits. Reload the page and try again.") from None
    if not isinstance(edits, list) or not 0 < len(edits) <= MOST_EDITS:
        raise NotAllowed(400, f"A request may have 1 to {MOST_EDITS} edits. Reload the page and try again.")
    try:
        return [_sent_edit(values) for values in edits]
    except BadEdit:
        raise NotAllowed(400, "Bagtag cannot read this edit. Reload the page and try again.") from None


def _sent_edit(values: Any) -> SentEdit:
    """Return one edit; raises `BadEdit` unless it is complete and all its fields are of the right types."""
    if not (
        isinstance(values, dict)
        and isinstance(values.get("nonce"), str)
        and _NONCE.fullmatch(values["nonce"]) is not None
        and is_number(values.get("number"))
        and is_number(values.get("seen", 0))
        and is_text(values.get("annotator"), _LONGEST_ANNOTATOR)
    ):
        raise BadEdit("An edit needs a nonce, a number and an annotator.")
    edit = parse_edit(values.get("act"))
    return SentEdit(values["nonce"], values["number"], edit, values["annotator"], values.get("seen"))


def parse_json(body: bytes) -> Any:
    """Return what a body of JSON holds; raises ValueError for anything else, NaN and endless nesting included."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")
