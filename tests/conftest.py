"""Fixtures every test may use."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 200.0
"""Seconds that a test waits for a condition: a busy machine is no failure, and what works is there at once."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    # Tabs of one window share a process, which keeps Streamlit's compiled code: a tab opens in a third of the time.
    "--process-per-site",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--autoplay-policy=no-user-gesture-required",
]

# A first call may compile or import for a second; a busy machine is no failure.
settings.register_profile("bagtag", deadline=None)
settings.load_profile("bagtag")


LONGEST = (
    "tests/browser/test_pages.py",
    "tests/browser/test_kept_open.py",
    "tests/browser/test_journey.py",
    "tests/browser/test_canvas.py",
    "tests/test_package.py",
    "tests/browser/",
    "tests/demo/test_make_demo.py",
    "tests/demo/test_survey.py",
    "tests/models/test_sim.py",
    "tests/archive/test_kills.py",
    "tests/project/test_crash.py",
    "tests/project/test_job_recovery.py",
    "tests/project/test_embedding_choice.py",
    "tests/project/test_damaged.py",
    "tests/media/test_tiles.py",
    "tests/js/",
    "tests/fuzz/",
    "tests/commands/",
    "tests/evaluation/",
)
"""Files by the time they take, the longest first; all others take a few seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first: workers take one file after the other, and none should be left with a long one."""
    items.sort(key=lambda item: next((n for n, start in enumerate(LONGEST) if item.nodeid.startswith(start)), 99))


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests, and the workers and servers they start, keep their notes apart from those of the person who runs them."""
    os.environ["BAGTAG_STATE"] = str(tmp_path_factory.mktemp("state"))
    os.environ["BAGTAG_EMBEDDING"] = "none"  # BirdNET takes time; tests that need it choose it


@pytest.fixture(autouse=True)
def _own_main_module() -> Iterator[None]:
    """Put `__main__` back: `AppTest` leaves its script there, which every process forked later would run again."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


@pytest.fixture
def quick_workers() -> Iterator[None]:
    """Let jobs run in processes forked from one that has imported all they need, which takes seconds.

    Real workers run in `test_package`, in the browser tests, in the whole demo and in `tests/project/test_jobs`.
    """
    from tests.project.job_stages import forked_workers

    with forked_workers():
        yield


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data beside the project; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("BAGTAG_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs the real data (../shared/data, or BAGTAG_DATA)")
    return folder


def found_chromium() -> str | None:
    """The system's Chromium; None leaves the choice to Playwright."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for path in map(shutil.which, names) if path), None)


@pytest.fixture(scope="session")
def chromium() -> Iterator[object]:
    """The system's Chromium; tests are skipped with a reason where there is none."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=found_chromium(), args=FLAGS, headless=True)
        except api.Error as error:
            pytest.skip(f"needs a Chromium: {error.message.splitlines()[0]}")
        yield browser
        browser.close()
