"""The type of the progress callbacks that long computations accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Progress = Callable[[int, int, Mapping[str, Any]], Any]
"""Called as `progress(step, of, info)`: `step` of `of` steps are done; `of` is 0 while their number is not known.

`info` has numbers to show, such as a loss, and perhaps a text: `info["what"]` is what is being done, such as "packing
dawn.wav".

If it returns a true value, a computation whose result so far is of use stops early and keeps it; an exception that it
raises cancels the computation.
"""


def ignore_progress(step: int, of: int, info: Mapping[str, Any]) -> None:
    """Ignore the progress: the `Progress` of callers that show none."""
