"""The peak memory of a process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_megabytes() -> float:
    """Return the peak memory of this process, in MB.

    On Linux, `getrusage` gives a process at least the memory that its parent had when it started it, so the peak is
    read from /proc instead.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        return int(line.split()[1]) * 1024 / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # bytes on macOS
