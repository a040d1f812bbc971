"""Pages of other sites in a real browser: none reaches the app, and the app reaches nobody outside this computer."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.browser.conftest import ROOT
from tests.conftest import FLAGS, PATIENCE, found_chromium

pytestmark = pytest.mark.browser

RECORDER = """
import os, sys

LOCAL = ("127.", "localhost", "::1")
EVENTS = ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname")


def hook(event, args):
    if event not in EVENTS:
        return
    address = args[1] if event in EVENTS[:2] else args[0]
    host = address[0] if isinstance(address, tuple) else address
    host = host.decode() if isinstance(host, bytes) else host
    if isinstance(address, str) and address.startswith("/") or host in (None, "") or host.startswith(LOCAL):
        return
    with open(os.environ["OUTGOING_LOG"], "a") as log:
        log.write(f"{event} {address!r}\\n")
    raise OSError("no way out in this test")


sys.addaudithook(hook)
"""
"""What a `sitecustomize.py` makes of every attempt of the server to reach another computer: a line in a file."""

ATTACK = """async ([url, socket]) => {
  const opens = () => new Promise((done) => {
    const tried = new WebSocket(socket, ["streamlit"]);
    tried.onopen = () => done("open");
    tried.onerror = () => done("refused");
  });
  const reads = () => fetch(url, {credentials: "include"}).then((r) => r.text(), () => "refused");
  const posts = () => fetch(url + "/_stcore/agent/interact", {method: "POST", body: "{}"})
    .then((r) => r.text(), () => "refused");
  return {socket: await opens(), page: await reads(), post: await posts()};
}"""


class OtherPage(BaseHTTPRequestHandler):
    """A page of somebody else's that tries to frame the app."""

    target = ""

    def do_GET(self) -> None:
        page = f'<!doctype html><title>other</title><iframe id="frame" src="{self.target}"></iframe>'.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture(scope="module")
def outgoing(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("recorder")
    (folder / "sitecustomize.py").write_text(RECORDER)
    (folder / "outgoing.log").touch()
    return folder


@pytest.fixture(scope="module")
def server(start_server, outgoing):
    path = f"{outgoing}:{ROOT}"
    return start_server("app.py", PYTHONPATH=path, OUTGOING_LOG=str(outgoing / "outgoing.log"))


@pytest.fixture(scope="module")
def other_port(server):
    OtherPage.target = server.url
    pages = ThreadingHTTPServer(("127.0.0.1", 0), OtherPage)
    threading.Thread(target=pages.serve_forever, daemon=True).start()
    yield pages.server_address[1]
    pages.shutdown()


@pytest.fixture(scope="module")
def browser(chromium):
    """A Chromium to which `evil.example` is this computer, as after DNS rebinding."""
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    browser = chromium.browser_type.launch(executable_path=found_chromium(), args=[*FLAGS, rules], headless=True)
    yield browser
    browser.close()


@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close()


def test_a_name_that_was_rebound_to_this_computer_gets_a_refusal(page, server, other_port):
    response = page.goto(f"http://evil.example:{server.port}/")
    assert response.status == 403 and "does not accept this address" in page.inner_text("body")
    place = f"evil.example:{server.port}"
    tried = page.evaluate(ATTACK, [f"http://{place}", f"ws://{place}/_stcore/stream"])
    assert tried["socket"] == "refused" and "<title>" not in tried["page"], "same origin to the browser, yet refused"
    page.goto(f"http://evil.example:{other_port}/")
    tried = page.evaluate(ATTACK, [server.url, f"ws://localhost:{server.port}/_stcore/stream"])
    assert tried == {"socket": "refused", "page": "refused", "post": "refused"}


def test_a_page_on_another_port_of_localhost_can_neither_connect_nor_frame_the_app(page, server, other_port):
    with page.expect_response(lambda response: response.url.startswith(server.url)) as framed:
        page.goto(f"http://localhost:{other_port}/")
    assert framed.value.status == 403
    page.wait_for_function("document.querySelector('#frame').contentDocument === null")
    assert not any(frame.query_selector("#root") for frame in page.frames)
    tried = page.evaluate(ATTACK, [server.url, f"ws://localhost:{server.port}/_stcore/stream"])
    assert tried == {"socket": "refused", "page": "refused", "post": "refused"}


def test_a_link_on_another_page_opens_the_app_and_it_loads_only_from_its_own_server(page, server, other_port):
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    page.goto(f"http://localhost:{other_port}/")
    asked.clear()
    complaints.clear()
    page.evaluate("url => { const a = document.createElement('a'); a.href = url; document.body.append(a); a.click(); }",
                  server.url)  # fmt: skip
    page.get_by_role("heading").first.wait_for(timeout=60_000)
    own = (server.url, f"ws://localhost:{server.port}", "data:", "blob:")
    assert [url for url in asked if not url.startswith(own)] == []
    assert [text for text in complaints if "Content Security Policy" in text] == []


def test_a_foreign_websocket_makes_the_server_reach_for_nobody(server, outgoing):
    websockets = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import InvalidStatus

    for origin in ("https://evil.example", "http://192.0.2.7:8501", "null", None):
        with pytest.raises(InvalidStatus) as refused:
            websockets.connect(f"ws://127.0.0.1:{server.port}/_stcore/stream", origin=origin, open_timeout=PATIENCE)
        assert refused.value.response.status_code == 403, origin
    assert (outgoing / "outgoing.log").read_text() == "", "neither here nor at the start nor for the pages above"
