"""The start as `make run` does it: seconds to the server, to the first page and to the first spectrogram.

Once in a copy of the app without compiled kernels, as after an installation (they are compiled in the background
meanwhile), and once again in the same copy when they are ready. Aim: the page within 5 s of the start.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from pages.widgets.app.open_projects import key_of
from tests.browser.conftest import ROOT, Server
from tests.browser.editor import Editor
from tests.browser.projects import sound_project
from tests.conftest import FLAGS, found_chromium

_APP = ("app.py", "pages", "assets", "miml_core", ".streamlit")
_DEADLINE_MS = 300_000


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        app = _copy_app(folder / "app")
        sound_project(folder / "home", (40,)).close()
        browser = playwright.chromium.launch(executable_path=found_chromium(), args=FLAGS)
        try:
            _print("kernels not compiled", _measure(browser, app, folder))
            subprocess.run([sys.executable, "-m", "miml_core", "warm"], cwd=app, check=True, stdout=subprocess.DEVNULL)
            _print("kernels compiled", _measure(browser, app, folder))
        finally:
            browser.close()


def _copy_app(folder: Path) -> Path:
    """Copy the app without anything compiled, then compile its Python as an installation does."""
    folder.mkdir()
    for name in _APP:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, folder / name)
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    return folder


def _measure(browser: Browser, app: Path, folder: Path) -> list[float]:
    """Return the seconds to the server, the first page and the first spectrogram, from the start of the process."""
    home, state = folder / "home", folder / "state"
    env = {"BAGTAG_HOME": str(home), "BAGTAG_STATE": str(state), "PYTHONPATH": str(app), "BAGTAG_THREADS": ""}
    server = Server(app / "app.py", env, folder / "server.log")
    server.cwd = app
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(_DEADLINE_MS)
    began = time.monotonic()
    try:
        server.start()
        seconds = [time.monotonic() - began]
        page.goto(server.url)
        page.locator("[data-testid=stApp][data-test-script-state=notRunning] button").first.wait_for()
        seconds.append(time.monotonic() - began)
        page.goto(f"{server.url}/segment?project={key_of(home / 'project')}")
        Editor(page).wait("s.image")
        return [*seconds, time.monotonic() - began]
    finally:
        page.close()
        server.kill()


def _print(title: str, seconds: list[float]) -> None:
    server, page, spectrogram = seconds
    print(f"{title}: server {server:.1f} s, first page {page:.1f} s, first spectrogram {spectrogram:.1f} s", flush=True)


if __name__ == "__main__":
    run()
