"""Look at folders that may not respond: a dead network mount blocks whoever asks for it, for minutes or for ever.

A look is a function that asks the file system. It runs in a daemon thread, and whoever asked goes on after a limit. A
folder that blocked is not asked again while the first look at it is still blocked, so that no threads pile up.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from miml_core import BagtagError

LIMIT_SECONDS = 1.0
"""How long a page waits for folders that do not respond, all together."""

Result = TypeVar("Result")

_blocked: dict[str, tuple[threading.Thread, float]] = {}
_lock = threading.Lock()


class NotReachable(BagtagError):
    """A folder did not respond in time."""


def look_at(
    looks: Mapping[Path, Callable[[], Result]], seconds: float = LIMIT_SECONDS
) -> dict[Path, Result | Exception]:
    """Run all looks at the same time; returns what each returned or raised, `NotReachable` for those not in time."""
    until = time.monotonic() + seconds
    results: dict[Path, Result | Exception] = {}
    threads = {path: _start(path, look, results, seconds) for path, look in looks.items()}
    for thread in threads.values():
        if thread is not None:
            thread.join(max(until - time.monotonic(), 0.0))
    found = dict(results)
    return {path: found.get(path, _no_response(path)) for path in looks}


def look_in_time(path: Path, look: Callable[[], Result], seconds: float = LIMIT_SECONDS) -> Result:
    """Run one look; raises what it raises, or `NotReachable`."""
    result = look_at({path: look}, seconds)[path]
    if isinstance(result, Exception):
        raise result
    return result


def _start(
    path: Path, look: Callable[[], Result], results: dict[Path, Result | Exception], seconds: float
) -> threading.Thread | None:
    """Begin a look, unless an earlier one at the same folder has been blocked for longer than the limit."""

    def run() -> None:
        try:
            results[path] = look()
        except Exception as error:
            results[path] = error

    name = str(path)
    with _lock:
        for known in [known for known, (thread, _) in _blocked.items() if not thread.is_alive()]:
            del _blocked[known]
        earlier = _blocked.get(name)
        if earlier is not None and time.monotonic() - earlier[1] >= seconds:
            return None
        thread = threading.Thread(target=run, name=f"look at {name}", daemon=True)
        if earlier is None:
            _blocked[name] = (thread, time.monotonic())
        thread.start()
    return thread


def _no_response(path: Path) -> NotReachable:
    return NotReachable(f"{str(path)!r} does not respond. Check its network or disk, then reload the page.")
