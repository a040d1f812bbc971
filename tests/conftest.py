"""Fixtures every test may use."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# A first call may compile or import for a second; a busy machine is no failure.
settings.register_profile("bagtag", deadline=None)
settings.load_profile("bagtag")


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tests, and the workers and servers they start, keep their notes apart from those of the person who runs them."""
    os.environ["BAGTAG_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real data beside the project; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("BAGTAG_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("needs the real data (../shared/data, or BAGTAG_DATA)")
    return folder
