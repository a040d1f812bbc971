"""Access folders that may not respond: a dead network mount blocks its caller, for minutes or for ever.

A function that accesses the file system runs in a daemon thread, and the caller continues after a timeout. A folder
that blocked is not accessed again while the first call is still blocked, so that no threads pile up.

The timeout is counted in steps, so that seconds in which the whole process did not get to run (a busy machine, a
library that keeps the interpreter's lock) count as one step: they say nothing about the folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from miml_core import BagtagError

TIMEOUT_SECONDS = 1.0
"""How long a page waits for folders that do not respond, all together."""

_STEPS = 20

Result = TypeVar("Result")

_blocked: dict[str, tuple[threading.Thread, float]] = {}
_lock = threading.Lock()


class NotReachable(BagtagError):
    """A folder did not respond in time."""


def call_all_with_timeout(
    functions: Mapping[Path, Callable[[], Result]], seconds: float = TIMEOUT_SECONDS, *, below: bool = False
) -> dict[Path, Result | Exception]:
    """Run a function for each folder, all at the same time; return what each returned or raised, or `NotReachable`.

    Calls that go `below` their folder are known as such: if one is blocked, the folder itself may still respond.
    """
    results: dict[Path, Result | Exception] = {}
    threads = [_start(path, function, results, seconds, below) for path, function in functions.items()]
    for _ in range(_STEPS):
        running = next((thread for thread in threads if thread is not None and thread.is_alive()), None)
        if running is None:
            break
        running.join(seconds / _STEPS)
    found = dict(results)
    return {path: found.get(path, _no_response(path)) for path in functions}


def call_with_timeout(
    path: Path, function: Callable[[], Result], seconds: float = TIMEOUT_SECONDS, *, below: bool = False
) -> Result:
    """Run a function that accesses a folder; raises what it raises, or `NotReachable`."""
    result = call_all_with_timeout({path: function}, seconds, below=below)[path]
    if isinstance(result, Exception):
        raise result
    return result


def _start(
    path: Path, function: Callable[[], Result], results: dict[Path, Result | Exception], seconds: float, below: bool
) -> threading.Thread | None:
    """Start a call, unless an earlier one for the same folder has been blocked for longer than the timeout."""

    def run() -> None:
        try:
            results[path] = function()
        except Exception as error:
            results[path] = error

    name = f"below {path}" if below else str(path)
    with _lock:
        for known in [known for known, (thread, _) in _blocked.items() if not thread.is_alive()]:
            del _blocked[known]
        earlier = _blocked.get(name)
        if earlier is not None and time.monotonic() - earlier[1] >= seconds:
            return None
        thread = threading.Thread(target=run, name=f"access {name}", daemon=True)
        if earlier is None:
            _blocked[name] = (thread, time.monotonic())
        thread.start()
    return thread


def _no_response(path: Path) -> NotReachable:
    return NotReachable(f"{str(path)!r} does not respond. Check its network or disk, then reload the page.")
