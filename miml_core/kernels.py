"""Compile the Numba kernels once, in the background, and report the progress.

Numba stores compiled kernels on disk, beside the modules. Compiling all of them takes about a minute of one core, so
that the app does it in a separate process after the page has opened (`compile_in_background`). A kernel that is needed
earlier is compiled on its own.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import psutil

from miml_core import installation
from miml_core.atomic_files import atomic_writer
from miml_core.file_lock import Locked, hold_lock
from miml_core.progress import Progress

MODULES = (
    "miml_core.segments.acoustic",
    "miml_core.features.acoustic",
    "miml_core.posterior",
    "miml_core.segments.visual",
    "miml_core.features.visual",
    "miml_core.segments.learned",
    "miml_core.models.sim",
    "miml_core.models.mimlfast",
    "miml_core.models.gp_probit",
)
"""Modules with kernels, in the order in which they are needed; each has a function `warm` that compiles them."""

_PACKAGE = Path(__file__).parent
_LOW_PRIORITY = 10


@dataclass(frozen=True)
class Compilation:
    """Progress of the compilation in the background."""

    done: int
    of: int


def compile_all(progress: Progress | None = None) -> None:
    """Compile every kernel, store the machine code on disk, and record that it is complete."""
    for number, module in enumerate(MODULES):
        if progress is not None:
            progress(number, len(MODULES), {})
        importlib.import_module(module).warm()
    with suppress(OSError):
        _stamp().touch()


def are_ready() -> bool:
    """Return whether all kernels of this version were compiled on this computer."""
    return _stamp().exists()


def compile_in_background() -> None:
    """Start a process of low priority that compiles the kernels, unless they are ready."""
    if are_ready():
        return
    paths = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-P", "-m", "miml_core", "warm", "--background"]  # -P: import nothing from this folder
    with suppress(OSError):
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )


def work_in_background() -> None:
    """Compile in this process, at low priority, and record the progress for `compilation`."""
    if sys.platform != "win32":
        os.nice(_LOW_PRIORITY)
    folder = installation.state_folder()
    folder.mkdir(parents=True, exist_ok=True)

    def note(done: int, of: int, info: Mapping[str, float]) -> None:
        with atomic_writer(folder / "kernels.json", durable=False) as file:
            file.write(json.dumps({"pid": os.getpid(), "done": done, "of": of}).encode())

    with suppress(Locked), hold_lock(folder / "kernels.lock"):
        compile_all(note)


def compilation() -> Compilation | None:
    """Return the progress of the compilation in the background; None if there is none."""
    if are_ready():
        return None
    with suppress(OSError, ValueError, TypeError, KeyError):
        noted = json.loads((installation.state_folder() / "kernels.json").read_text())
        if psutil.pid_exists(int(noted["pid"])):
            return Compilation(int(noted["done"]), int(noted["of"]))
    return None


def _stamp() -> Path:
    folder = _PACKAGE / "__pycache__"
    if not os.access(folder, os.W_OK):
        folder = installation.state_folder()
    return folder / f"kernels-{_version()}.ready"


@cache
def _version() -> str:
    """Return a hash of all that the stored machine code depends on: sources, versions, processor."""
    about = (sys.version, platform.machine(), platform.processor(), version("numba"))
    digest = hashlib.sha256(repr(about).encode())
    for path in sorted(_PACKAGE.rglob("*_kernels.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
