"""Starting worker processes, and telling live ones from dead ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Row

import miml_core

HOST = socket.gethostname()

_SILENT_SECONDS = 20.0
"""Without a sign of life for so long, a worker whose process cannot be looked at counts as dead."""
_HUNG_SECONDS = 600.0
"""The same for one whose process is there."""

_children: list[subprocess.Popen[bytes]] = []
_guard = threading.Lock()


def start_worker(folder: Path, job_id: int) -> int:
    """A detached process that does one job; its output goes to a file, so that nothing ever blocks on it."""
    output = output_path(folder, job_id)
    output.parent.mkdir(exist_ok=True)
    root = str(Path(miml_core.__file__).parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        apart = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    with output.open("ab") as file:
        child = subprocess.Popen(
            [sys.executable, "-m", "miml_core.project.worker", str(folder), str(job_id)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            **apart,
        )
    with _guard:
        _children.append(child)
    return child.pid


def reap() -> None:
    """Collect workers of ours that have ended, so that they do not stay behind as zombies."""
    with _guard:
        _children[:] = [child for child in _children if child.poll() is None]


def is_dead(job: Row[Any]) -> bool:
    """Has the worker of a running job gone?"""
    silent = time.time() - (job.heartbeat or 0)
    if job.pid is None or job.host != HOST or sys.platform == "win32":
        return silent > _SILENT_SECONDS
    return not _is_worker(job.pid) or silent > _HUNG_SECONDS


def output_path(folder: Path, job_id: int) -> Path:
    return folder / "logs" / f"job-{job_id}.txt"


def last_output(folder: Path, job_id: int, lines: int = 20) -> list[str]:
    """The end of what a worker printed."""
    try:
        return output_path(folder, job_id).read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _is_worker(pid: int) -> bool:
    """Is there a live process of this number, and is it a worker? (Numbers are used again.)"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    process = Path("/proc") / str(pid)
    try:
        if process.joinpath("stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        return b"worker" in process.joinpath("cmdline").read_bytes()
    except OSError:
        return not process.parent.is_dir()
