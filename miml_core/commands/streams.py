"""Make standard streams usable that are closed or only accept ASCII."""

from __future__ import annotations

import io
import os
import sys


def make_streams_printable() -> None:
    """Escape characters that the terminal lacks, and send closed streams to the null device.

    Otherwise the next file that is opened would get the number of a closed stream, and libraries would print into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_output() -> None:
    """Discard output that is still buffered: Python would try to write it again at exit, and report an error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
