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

ROOT = Path(__file__).resolve().parents[2]


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
        env = {**os.environ, "PYTHONPATH": str(ROOT), "BAGTAG_THREADS": "1", **self.env}
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

    def _wait(self, seconds: float = 60.0) -> None:
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
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


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


@pytest.fixture(scope="module")
def window(chromium: Any, server: Server) -> Iterator[Any]:
    """One browser window per module, so that Streamlit's own files are fetched once; a busy machine gets a minute.

    A tab that stays open keeps the process of the window, and so the compiled code, from one test to the next.
    """
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, accept_downloads=True)
    context.set_default_timeout(60_000)
    context.new_page().goto(f"{server.url}/_stcore/health")
    yield context
    context.close()


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


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures of the pages go (`BAGTAG_SCREENSHOTS`, or `screenshots/` of the project)."""
    folder = Path(os.environ.get("BAGTAG_SCREENSHOTS", ROOT / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
