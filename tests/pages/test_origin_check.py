"""Only this server's own pages get a response: every route and websocket, Streamlit's own included."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from starlette.datastructures import Headers

from pages.widgets.app.origin_check import OriginCheck, refusal_of

OWN = [("host", "localhost:8501")]
PATHS = ("/", "/review", "/_stcore/stream", "/_stcore/health", "/_stcore/upload_file/a/b", "/media/x.wav",
         "/component/x/index.html", "/static/js/index.js", "/bagtag/assets/x/canvas.js", "/bagtag/k/edits")  # fmt: skip

REFUSED = {"http": ("http.response.start", 403), "websocket": ("websocket.close", None)}


def scope_of(path: str = "/", kind: str = "http", method: str = "GET", headers: Any = (), **more: Any) -> dict:
    sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
    scheme = "ws" if kind == "websocket" else "http"
    return {"type": kind, "path": path, "method": method, "scheme": scheme, "headers": sent, **more}


def refused(headers: Any, path: str = "/_stcore/health", **more: Any) -> bool:
    scope = scope_of(path, headers=headers, **more)
    return refusal_of(scope, Headers(scope=scope)) is not None


def run(scope: dict) -> tuple[list[dict], list[str]]:
    """(what was sent, which paths the app behind was asked for)."""
    sent: list[dict] = []
    reached: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope["path"])
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"projects"})

    async def receive() -> dict:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    with ThreadPoolExecutor(1) as thread:  # in this one Playwright may have an event loop of its own
        thread.submit(asyncio.run, OriginCheck(app)(scope, receive, send)).result()
    return sent, reached


@pytest.mark.parametrize("path", PATHS)
def test_a_foreign_name_reaches_nothing(path):
    for kind in ("http", "websocket"):
        origin = [("host", "evil.example:8501"), ("origin", "http://evil.example:8501")]
        sent, reached = run(scope_of(path, kind, headers=origin))
        assert reached == []
        assert (sent[0]["type"], sent[0].get("status")) == REFUSED[kind]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "localhost.", "evil@localhost", "localhost:8501@evil.example", "", " ",
     "localhost:99999", "localhost:8501:8501", "localhost:x", "127.0.0.1.nip.io", "[::1", "0.0.0.0", "127.1",
     "localhost/"],
)  # fmt: skip
def test_hosts_that_are_not_this_computer(host):
    assert refused([("host", host)])


def test_hosts_of_this_computer_and_those_added(monkeypatch):
    for host in ("localhost", "LOCALHOST:8501", "127.0.0.1:1", "[::1]:8501", "[::1]"):
        assert not refused([("host", host)]), host
    assert refused([("host", "lab.example")])
    monkeypatch.setenv("BAGTAG_HOSTS", " Lab.example , 10.0.0.7")
    assert not refused([("host", "lab.example:8501")]) and not refused([("host", "10.0.0.7")])
    assert not refused([("host", "lab.example"), ("origin", "https://lab.example")]), "behind a proxy with TLS"
    assert refused([]) and refused([*OWN, *OWN]), "one Host, exactly"


def test_an_origin_is_exactly_this_servers():
    assert not refused([*OWN, ("origin", "http://localhost:8501")])
    foreign = "null  https://localhost:8501 http://localhost:9999 http://localhost localhost:8501 http://evil.example "
    foreign += "http://127.0.0.1:8501 http://localhost:8501/ http://x@localhost:8501"
    for origin in foreign.split(" "):
        assert refused([*OWN, ("origin", origin)]), origin
        assert refused([*OWN, ("origin", origin)], "/_stcore/stream", kind="websocket"), origin
    assert refused([*OWN, ("origin", "http://localhost:8501"), ("origin", "http://localhost:8501")])


def test_a_websocket_needs_an_origin_and_a_program_does_not():
    assert refused(OWN, "/_stcore/stream", kind="websocket")
    assert not refused([*OWN, ("origin", "http://localhost:8501")], "/_stcore/stream", kind="websocket")
    assert not refused(OWN)


def test_another_site_may_only_link_to_a_page():
    for site in ("cross-site", "same-site"):
        fetched = [*OWN, ("sec-fetch-site", site)]
        link = [*fetched, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")]
        for path in PATHS:
            assert refused(fetched, path)
            assert refused(link, path) == (path not in ("/", "/review")), path
            assert refused(link, path, method="POST")
            assert refused([*fetched, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")], path)
            assert refused([*fetched, ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "script")], path)
    for site in ("same-origin", "none"):
        assert not any(refused([*OWN, ("sec-fetch-site", site)], path) for path in PATHS)
    assert refused([*OWN, ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")])


def test_nothing_may_be_framed_or_guessed_at():
    for host in ("localhost:8501", "evil.example"):
        sent, _ = run(scope_of(headers=[("host", host)]))
        headers = Headers(raw=sent[0]["headers"])
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "evil" not in headers["content-security-policy"]
        assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
        assert headers["referrer-policy"] == "same-origin" and headers["cross-origin-opener-policy"] == "same-origin"
