"""Who may come in: this machine's own pages, with the token that only the component was given.

A door checks Host (against DNS rebinding), Origin and Sec-Fetch-Site (against other sites), the token (against
everything else on this machine that can send a request) and the project's key; ids are numbers, never paths.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from miml_core import BagtagError
from miml_core.project import Gone, Project
from miml_core.project.errors import Busy
from pages.widgets.open_projects import project_by_key

TOKEN = secrets.token_urlsafe(32)
"""Opens every door; sent as the header `X-Bagtag-Token`."""
LISTEN_TOKEN = secrets.token_urlsafe(32)
"""Opens the door for sound only, whose address an audio element has to carry (`?t=`)."""

_LOCAL = {"localhost", "127.0.0.1", "::1"}
_log = logging.getLogger("bagtag.routes")

Handler = Callable[[Request, Project], Response]


class NotAllowed(Exception):
    """A request that gets an answer with this status and sentence, and nothing else."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def guarded(handler: Handler, *, by_address: bool = False) -> Callable[[Request], Any]:
    """A route that lets only the app's own pages in, and works in a thread so that nobody else waits."""

    async def route(request: Request) -> Response:
        try:
            check_origin(request)
            _check_token(request, by_address=by_address)
            project = _project(request)
            request.state.body = await read_body(request)
            return _sealed(await run_in_threadpool(handler, request, project))
        except NotAllowed as error:
            return _sealed(refusal(error.status, str(error)))
        except Gone as error:
            return _sealed(refusal(410, str(error)))
        except Busy as error:
            return _sealed(refusal(503, str(error)))
        except BagtagError as error:
            return _sealed(refusal(422, str(error)))
        except Exception:
            _log.exception("A route failed: %s", request.url.path)
            return _sealed(refusal(500, "Something went wrong in Bagtag; the details are in its terminal."))

    return route


def check_origin(request: Request) -> None:
    """Refuse requests meant for another name of this machine, or made by another site."""
    host = request.headers.get("host", "")
    if _host_name(f"//{host}") not in allowed_hosts():
        raise NotAllowed(403, "This address is not Bagtag's.")
    origin = request.headers.get("origin")
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        raise NotAllowed(403, "Requests of other sites are refused.")
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise NotAllowed(403, "Requests of other sites are refused.")


def allowed_hosts() -> set[str]:
    """Names this server answers to: those of this machine, and what `BAGTAG_HOSTS` adds (separated by commas)."""
    more = os.environ.get("BAGTAG_HOSTS", "").split(",")
    return _LOCAL | {name.strip().lower() for name in more if name.strip()}


def refusal(status: int, sentence: str) -> Response:
    """An error the canvas can show."""
    return JSONResponse({"error": sentence}, status)


def number_in(request: Request, name: str, low: float, high: float, default: float | None = None) -> float:
    """A number of the address's query, within bounds."""
    text = request.query_params.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise NotAllowed(400, f"{name} must be a number from {low:g} to {high:g}.")
    return value


MOST_BYTES = 256 * 1024
"""Longest body a door takes."""


async def read_body(request: Request) -> bytes:
    """The request's body, as long as it is short enough."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise NotAllowed(413, "This is too much at once.")
        parts.append(part)
    return b"".join(parts)


def _check_token(request: Request, *, by_address: bool) -> None:
    given = request.headers.get("x-bagtag-token", "")
    if hmac.compare_digest(given.encode(), TOKEN.encode()):
        return
    heard = request.query_params.get("t", "")
    if by_address and hmac.compare_digest(heard.encode(), LISTEN_TOKEN.encode()):
        return
    raise NotAllowed(401, "This page is older than the server: reload it.")


def _project(request: Request) -> Project:
    project = project_by_key(request.path_params["project"])
    if project is None:
        raise NotAllowed(401, "This project is not open here: reload the page.")
    return project


def _host_name(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""


def _sealed(response: Response) -> Response:
    """No guessing of content types, no use by other sites, no shared caches."""
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    response.headers["Vary"] = "X-Bagtag-Token"
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response
