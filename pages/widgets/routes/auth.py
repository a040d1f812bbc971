"""What a route checks before it does anything: the token that only the component was given, and the project's key.

Where a request comes from (Host, Origin, Sec-Fetch-Site) is checked for the whole app in `origin_check.py`; the token
is against everything else on this computer that can send a request. Ids are numbers, never paths.
"""

from __future__ import annotations

import hmac
import logging
import math
import secrets
from asyncio import AbstractEventLoop, get_running_loop
from collections.abc import Callable
from typing import Any, get_args
from weakref import WeakKeyDictionary

from anyio import CapacityLimiter, to_thread
from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from miml_core import BagtagError
from miml_core.project import Gone, Project
from miml_core.project.errors import Busy
from pages.widgets.app.open_projects import project_by_key
from pages.widgets.routes.json_response import JSONResponse

TOKEN = secrets.token_urlsafe(32)
"""Accepted by every route; sent as the header `X-Bagtag-Token`."""
LISTEN_TOKEN = secrets.token_urlsafe(32)
"""Accepted by the route of sounds only, whose address an audio element has to carry (`?t=`)."""

MOST_BYTES = 256 * 1024
"""Longest body a route takes."""

_BUG = "An unexpected error occurred. The details are in the terminal where Bagtag was started; reload the page."
_log = logging.getLogger("bagtag.routes")

Handler = Callable[..., Response]
"""Gets the request and, unless the route is of no project, the project."""


class NotAllowed(Exception):
    """A request that is refused with this status and message."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class IdConvertor(Convertor[int]):
    """An id in a route's path (`{bag:id}`): digits, as many as `LARGEST_ID` allows for."""

    regex = "[0-9]{1,15}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


register_url_convertor("id", IdConvertor())


def authorised_route(
    handler: Handler, *, of_project: bool = True, by_address: bool = False, at_once: int = 16
) -> Callable[[Request], Any]:
    """Return a route that only the app's own pages may use.

    The handler works in a thread, so that the event loop never waits for it. At most `at_once` requests of the route
    are worked on at a time: memory stays bounded, and pictures or sounds never keep the threads that edits need.
    """
    turns: WeakKeyDictionary[AbstractEventLoop, CapacityLimiter] = WeakKeyDictionary()

    async def route(request: Request) -> Response:
        try:
            _check_token(request, by_address=by_address)
            arguments = (request, _project(request)) if of_project else (request,)
            request.state.body = await read_body(request)
            turn = turns.setdefault(get_running_loop(), CapacityLimiter(at_once))
            return _forbid_shared_caches(await to_thread.run_sync(handler, *arguments, limiter=turn))
        except NotAllowed as error:
            return _forbid_shared_caches(refusal(error.status, str(error)))
        except Gone as error:
            return _forbid_shared_caches(refusal(410, str(error)))
        except Busy as error:
            return _forbid_shared_caches(refusal(503, str(error)))
        except BagtagError as error:
            return _forbid_shared_caches(refusal(422, str(error)))
        except ClientDisconnect:
            return _forbid_shared_caches(refusal(400, "The request ended before it was complete."))
        except Exception:
            _log.exception("A route failed: %s", request.url.path)
            return _forbid_shared_caches(refusal(500, _BUG))

    return route


def send_nothing(request: Request) -> Response:
    """Send 404 for an unknown address; Streamlit would send its page instead."""
    return _forbid_shared_caches(refusal(404, "There is no such address."))


def refusal(status: int, sentence: str) -> Response:
    """Return an error that the canvas can show."""
    return JSONResponse({"error": sentence}, status)


def number_in(request: Request, name: str, low: float, high: float, default: float | None = None) -> float:
    """Return a number of the query, within bounds."""
    text = request.query_params.get(name)
    if text is None and default is not None:
        return default
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise NotAllowed(400, f"{name} must be a number from {low:g} to {high:g}.")
    return value


def choice_in(request: Request, name: str, choices: object, default: str) -> Any:
    """Return a value of the query that is one of those of a `Literal`."""
    value = request.query_params.get(name, default)
    if value not in get_args(choices):
        raise NotAllowed(400, f"{name} must be one of {', '.join(get_args(choices))}.")
    return value


async def read_body(request: Request) -> bytes:
    """Return the body of the request if it is short enough."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise NotAllowed(413, "The request is too large.")
        parts.append(part)
    return b"".join(parts)


def _check_token(request: Request, *, by_address: bool) -> None:
    given = request.headers.get("x-bagtag-token", "")
    if hmac.compare_digest(given.encode(), TOKEN.encode()):
        return
    token = request.query_params.get("t", "")
    if by_address and hmac.compare_digest(token.encode(), LISTEN_TOKEN.encode()):
        return
    raise NotAllowed(401, "The server was restarted. Reload this page.")


def _project(request: Request) -> Project:
    project = project_by_key(request.path_params["project"])
    if project is None:
        raise NotAllowed(401, "This project is not open here: reload the page.")
    return project


def _forbid_shared_caches(response: Response) -> Response:
    """Return the response with headers that forbid shared caches to keep it."""
    response.headers["Vary"] = "X-Bagtag-Token"
    response.headers.setdefault("Cache-Control", "private, no-store")
    return response
