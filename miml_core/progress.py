"""The type of the progress callbacks that long computations accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Progress = Callable[[int, int, Mapping[str, float]], Any]
"""Called as `progress(step, of, info)`: `step` of `of` steps are done, and `info` has numbers to show, such as a loss.

If it returns a true value, the computation stops early and keeps its result so far; an exception that it raises cancels
the computation.
"""
