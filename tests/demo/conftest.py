"""One small demo for all tests that need a project, made without a model."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from miml_core.demo.media import make_media


@pytest.fixture(scope="session")
def media_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The files of a sound demo of seven recordings."""
    folder = tmp_path_factory.mktemp("demo-media")
    make_media(folder, "sound", 0, 7)
    yield folder
