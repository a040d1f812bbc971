"""Start worker processes, and find out whether they are alive.

A process of this computer is identified by its number and its start time, as recorded outside the project. Of any
other worker only the heartbeat is known, and only whether it changes is used: the clocks of two computers differ, and
a computer that slept for an hour has an old heartbeat and a live worker.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

import miml_core
from miml_core.installation import Worker
from miml_core.project.db.own_folders import find_own_folder, is_real_file, open_new_file, own_folder

HOST = socket.gethostname()

SILENT_S = 20.0
"""A heartbeat has stopped if it did not change while it was watched for this long."""
_LONGEST_GAP_S = 5.0
"""The time between two reads counts at most this much: the computer may have slept, or nobody read."""
_SAME_START_S = 2.0
"""Two readings of the start time of a process differ by up to a second (the time of boot is rounded)."""
_LOG_BYTES = 65_536
_PROGRAM = "miml_core.worker"

_clock = time.monotonic

_children: list[subprocess.Popen[bytes]] = []
_lock = threading.Lock()


def start_worker(folder: Path, job_id: int) -> int:
    """Start a detached process for one job; return its number. Its output is written to a file and never blocks it."""
    own_folder(folder, "logs")
    root = str(Path(miml_core.__file__).parent.parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        detached = {"creationflags": subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP}
    with open_new_file(_output_path(folder, job_id)) as file:
        child = subprocess.Popen(
            [sys.executable, "-m", _PROGRAM, str(folder), str(job_id)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            **detached,
        )
    with _lock:
        _children.append(child)
    return child.pid


def reap() -> None:
    """Collect ended child processes, so that they do not remain as zombies."""
    with _lock:
        _children[:] = [child for child in _children if child.poll() is None]


# live and dead processes


def process_of(pid: int) -> Worker | None:
    """Return what identifies a live process of this computer; None if there is none with this number."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        started = process.create_time()
    except (psutil.Error, ValueError, OverflowError):
        return None
    if sys.platform == "linux":
        started -= psutil.boot_time()  # since boot: setting the clock changes both on Linux
    return Worker(HOST, pid, started)


def is_alive(worker: Worker) -> bool:
    """Return whether a worker of this computer still runs (another process may have its number now)."""
    found = process_of(worker.pid)
    return found is not None and abs(found.started - worker.started) < _SAME_START_S


def kill(worker: Worker) -> None:
    """Kill a worker of this computer and the processes it started, if it is still the recorded one."""
    if worker.host != HOST or worker.pid == os.getpid() or not is_alive(worker):
        return
    with suppress(psutil.Error, OSError):
        if sys.platform != "win32" and os.getpgid(worker.pid) == worker.pid != os.getpgrp():
            os.killpg(worker.pid, signal.SIGKILL)
        else:
            psutil.Process(worker.pid).kill()


# heartbeats


@dataclass
class _Watch:
    heartbeat: object
    read_at: float
    silent_s: float


_watches: dict[tuple[str, int], _Watch] = {}


def is_silent(folder: Path, job_id: int, heartbeat: object) -> bool:
    """Return whether a heartbeat has not changed for `SILENT_S`, by the clock of this process, over several calls."""
    now = _clock()
    with _lock:
        watch = _watches.setdefault((str(folder), job_id), _Watch(heartbeat, now, 0.0))
        watch.silent_s += min(now - watch.read_at, _LONGEST_GAP_S)
        watch.read_at = now
        if watch.heartbeat != heartbeat:
            watch.heartbeat, watch.silent_s = heartbeat, 0.0
        return watch.silent_s > SILENT_S


# output


def last_output(folder: Path, job_id: int, lines: int = 20) -> list[str]:
    """Return the last lines that a worker printed."""
    path = _output_path(folder, job_id)
    if find_own_folder(folder, "logs") is None or not is_real_file(path):
        return []
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _LOG_BYTES))
            return file.read(_LOG_BYTES).decode(errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _output_path(folder: Path, job_id: int) -> Path:
    return folder / "logs" / f"job-{job_id}.txt"
