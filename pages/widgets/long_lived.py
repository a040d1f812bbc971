"""Keeping Python's search for garbage away from what lives as long as the server.

Streamlit collects garbage after every run of a page or fragment, and nothing else in the server moves meanwhile. With
the libraries loaded that took 100 ms and more, twice an edit: edits waited for it. What modules hold is never garbage.
"""

from __future__ import annotations

import gc
import sys
import threading

_MANY_MODULES = 40
_lock = threading.Lock()
_seen = 0


def set_modules_aside() -> None:
    """After many new modules were loaded: exempt what is alive now from all later searches."""
    global _seen
    if len(sys.modules) - _seen < _MANY_MODULES or not _lock.acquire(blocking=False):
        return
    try:
        _seen = len(sys.modules)
        gc.collect()
        gc.freeze()
    finally:
        _lock.release()
