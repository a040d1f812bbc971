"""Refuse every HTTP request and websocket that does not come from this server's own pages.

Other web sites can make a browser send requests to this computer: by a name of theirs that resolves to 127.0.0.1 (DNS
rebinding), by a page on another port of localhost, by a frame or a form. Streamlit 1.67 checks the Host of websockets
only and accepts any page of localhost; for other origins it first asks an outside address for this computer's public
IP, on the event loop. So the check is made here, around all routes, before Streamlit sees a request.

- Host must be one of `allowed_hosts()`, on any port.
- Origin, where it is sent, must be this server's own: same scheme, name and port. Browsers send it with every websocket
  and every request that changes something. A websocket without one is refused as well: only the browser's page uses it.
  A plain request without one is let through: programs (`curl`, health checks) send none, and browsers leave it out only
  where Sec-Fetch-Site and the response headers below protect the content.
- Sec-Fetch-Site must not name another site, except for a link or bookmark that opens one of the app's pages as a whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{1,5}))?")
_NO_PAGES = ("/bagtag/", "/_stcore/", "/media/", "/component/", "/static/", "/app/static/", "/auth/", "/oauth2callback")
"""What is no page of the app: a link from elsewhere never leads there."""

_OTHER_NAME = (
    "Bagtag does not accept this address. Open it as localhost, or start it with the name you use in BAGTAG_HOSTS."
)
_OTHER_SITE = "Requests from other sites are refused. Open Bagtag in a tab of its own."

_CONTENT = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; connect-src 'self' {sockets} data: blob:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
)
"""Streamlit needs inline scripts and evaluates charts; what matters here is that pages load from and send to this
server only, and that nobody frames them. No page uses a frame of its own."""


def allowed_hosts() -> frozenset[str]:
    """Return the host names that are accepted: those of this computer and what `BAGTAG_HOSTS` adds, with commas."""
    more = os.environ.get("BAGTAG_HOSTS", "").split(",")
    return _LOCAL | {name.strip().lower().strip("[]") for name in more if name.strip()}


class OriginCheck:
    """ASGI middleware, the outermost of the app."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = _only(headers.getlist("host")) or ""
        refused = refusal_of(scope, headers)
        if refused is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": refused})
            return

        async def send_protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                _protect(MutableHeaders(scope=message), "" if refused == _OTHER_NAME else host)
            await send(message)

        app = self.app if refused is None else _refusal(scope, refused)
        await app(scope, receive, send_protected)


def refusal_of(scope: Scope, headers: Headers) -> str | None:
    """Return why a request is refused; None when it comes from this server's own pages, or from a program."""
    host = _only(headers.getlist("host"))
    name = _name_in(host)
    if host is None or name not in allowed_hosts():
        return _OTHER_NAME
    origins = headers.getlist("origin")
    if (origins or scope["type"] == "websocket") and _only(origins) not in tuple(_own_origins(scope, host, name)):
        return _OTHER_SITE
    if scope["type"] == "http" and not _is_own_fetch(headers) and not _opens_page(scope, headers):
        return _OTHER_SITE
    return None


def _only(values: list[str]) -> str | None:
    return values[0] if len(values) == 1 else None


def _name_in(host: str | None) -> str | None:
    found = _HOST.fullmatch(host or "")
    if found is None or int(found["port"] or 0) > 65535:
        return None
    return str(found["v6"] or found["name"]).lower()


def _own_origins(scope: Scope, host: str, name: str) -> Iterator[str]:
    """Yield origins as a browser sends them: Streamlit's own check then finds them equal and looks nothing up."""
    scheme = "https" if scope.get("scheme") in ("https", "wss") else "http"
    yield f"{scheme}://{host}"
    if name not in _LOCAL:
        yield f"https://{host}"  # a name of BAGTAG_HOSTS may belong to a proxy that speaks HTTPS to the browser


def _is_own_fetch(headers: Headers) -> bool:
    sites = headers.getlist("sec-fetch-site")
    return not sites or _only(sites) in ("same-origin", "none")


def _opens_page(scope: Scope, headers: Headers) -> bool:
    """Return whether a link or bookmark opens a page of the app in a tab of its own."""
    return (
        scope["method"] in ("GET", "HEAD")
        and headers.getlist("sec-fetch-mode") == ["navigate"]
        and headers.getlist("sec-fetch-dest") == ["document"]
        and not any(part in f"{scope['path']}/" for part in _NO_PAGES)
    )


def _refusal(scope: Scope, sentence: str) -> Response:
    if scope["path"].startswith("/bagtag/"):
        return JSONResponse({"error": sentence}, 403)
    return PlainTextResponse(sentence, 403)


def _protect(headers: MutableHeaders, host: str) -> None:
    """Forbid framing, use by other sites, guessing of content types, and sending of addresses to others."""
    sockets = f"ws://{host} wss://{host}" if host else ""
    headers.append("Content-Security-Policy", _CONTENT.format(sockets=sockets))
    headers["X-Frame-Options"] = "DENY"
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "same-origin"
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
