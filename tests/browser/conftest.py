"""A server on a free port and a real Chromium; screenshots of a run go to `screenshots/`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.browser.messages import SAY_CLICKS, MessageLog
from tests.conftest import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "tests" / "site"
"""Before the project in PYTHONPATH: see `tests/started_programs.py`."""
_FIRST_PORT, _PORTS_PER_WORKER = 21_000, 200
_LAST = 4000
"""Characters that are printed of a page and of a server's log when a test fails."""


class Server:
    """A Streamlit server of its own; it can be killed and started again on the same port."""

    def __init__(self, entry: Path, env: dict[str, str], log: Path) -> None:
        self.entry, self.env, self.log, self.cwd = entry, env, log, ROOT
        self.port = _free_port()
        self.url = f"http://localhost:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """Return the command line that starts it."""
        command = [sys.executable, "-m", "streamlit", "run", str(self.entry), "--server.headless=true"]
        return [*command, f"--server.port={self.port}", "--server.address=127.0.0.1"]

    def start(self) -> Server:
        env = {**os.environ, "PYTHONPATH": f"{SITE}:{ROOT}", "BAGTAG_THREADS": "1", **self.env}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command(), cwd=self.cwd, env=env, stdout=log, stderr=log, start_new_session=True
            )
        self._wait()
        return self

    def kill(self) -> None:
        """At once, as a power cut would."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def _wait(self, seconds: float = PATIENCE) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(OSError), urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2) as response:
                if response.status == 200:
                    return
            if self.process is None or self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"The server did not start:\n{self.log.read_text()[-3000:]}")


def _free_port() -> int:
    """Return the first free port of this process of pytest.

    The system gives ports of this range to nobody, so that none is taken before the server starts, or while it is
    killed and starts again. Servers of one module after the other have the same address, whose files Chromium keeps.
    """
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    first = _FIRST_PORT + worker * _PORTS_PER_WORKER
    for port in range(first, first + _PORTS_PER_WORKER):
        with socket.socket() as tried, suppress(OSError):
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(("127.0.0.1", port))
            return port
    raise RuntimeError(f"No port from {first} on is free.")


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """`start_server(entry, **env)` starts a server that ends with the tests of the module."""
    started: list[Server] = []

    def start(entry: str | Path = "app.py", **env: str) -> Server:
        folder = tmp_path_factory.mktemp("server")
        env = {"BAGTAG_HOME": str(folder / "home"), **env}
        server = Server(ROOT / entry, env, folder / "server.log")
        started.append(server)
        return server.start()

    yield start
    for server in started:
        server.kill()


@pytest.fixture(scope="session")
def cached_window(chromium: Any) -> Iterator[Any]:
    """One browser window per process of pytest, so that Streamlit's own files are fetched and compiled once."""
    from playwright.sync_api import expect

    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(PATIENCE * 1000)
    expect.set_options(timeout=PATIENCE * 1000)
    context.add_init_script(SAY_CLICKS)
    context.on("page", lambda page: setattr(page, "messages", MessageLog(page)))
    yield context
    context.close()


@pytest.fixture(scope="module")
def window(cached_window: Any, server: Server) -> Iterator[Any]:
    """The window without anything that tests of another module stored in it.

    A tab that stays open keeps the process of the window, and so the compiled code, from one test to the next.
    """
    kept_open = cached_window.new_page()
    kept_open.goto(f"{server.url}/_stcore/health")
    kept_open.evaluate("localStorage.clear()")
    yield cached_window
    for tab in cached_window.pages:
        tab.close()


@pytest.fixture
def tab(window: Any) -> Iterator[Any]:
    """A new tab in which no script may fail."""
    tab = window.new_page()
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    yield tab
    tab.close()
    assert problems == []


@pytest.fixture
def page(tab: Any) -> Any:
    """The same tab; modules may open something in it first."""
    return tab


def wait_until(page: Any, condition: Callable[[], Any]) -> None:
    """Wait for something that the page cannot be asked for, while its events and requests are handled."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        page.wait_for_timeout(20)


def repeat_until(act: Callable[[], Any], shown: Any, seconds: float = 5.0) -> None:
    """Repeat what a mouse does until the result is there: a chart or a table that is being drawn takes no click.

    A second click on a row of a table takes its selection back: these need more `seconds` on a busy computer.
    """
    from playwright.sync_api import TimeoutError

    end = time.monotonic() + PATIENCE
    while True:
        act()
        try:
            shown.wait_for(state="attached", timeout=seconds * 1000)
            return
        except TimeoutError:
            assert time.monotonic() < end, "it did not happen in time"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Print what the tabs showed, and what they and their server wrote, when a test fails."""
    report = yield
    if report.when == "call" and report.failed:
        fixtures = getattr(item, "funcargs", {})
        if (window := fixtures.get("cached_window")) is not None:
            report.sections += [(f"Tab {tab.url}", _shown(tab)) for tab in window.pages]
        if isinstance(server := fixtures.get("server"), Server):
            report.sections.append(("Server", server.log.read_text(errors="replace")[-_LAST:]))
    return report


def _shown(tab: Any) -> str:
    """Return the text of a tab and its messages; a tab that does not respond has no text."""
    from playwright.sync_api import Error

    try:
        text = tab.locator("body").inner_text(timeout=5000)
    except Error as error:
        text = str(error)
    return f"{text[-_LAST:]}\n\n{getattr(tab, 'messages', '')}"


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of the pages go (`BAGTAG_SCREENSHOTS`, or `screenshots/` of the project)."""
    folder = Path(os.environ.get("BAGTAG_SCREENSHOTS", ROOT / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
