"""The exception whose message is shown to users."""

from __future__ import annotations

import os
from typing import Any


def printable(text: str | os.PathLike[str]) -> str:
    """Return text that can be stored and shown: invalid UTF-8 bytes of a file name are written as `\\xff`.

    >>> printable("caf\\udce9.wav")
    'caf\\\\xe9.wav'
    """
    try:
        return os.fspath(text).encode("utf-8", errors="surrogateescape").decode("utf-8", errors="backslashreplace")
    except UnicodeEncodeError:  # half of a UTF-16 pair, as in some names on Windows
        return os.fspath(text).encode("utf-8", errors="backslashreplace").decode()


def short_repr(value: Any) -> str:
    """Return the `repr` of a value, cut to a length that fits into a message.

    >>> short_repr([1, 2]), short_repr(10**5000), len(short_repr("x" * 200))
    ('[1, 2]', 'a very large number', 80)
    """
    try:
        written = repr(value)
    except ValueError:  # Python writes no whole number of more than 4300 digits
        return "a very large number"
    return written if len(written) <= 80 else written[:77] + "..."


class BagtagError(ValueError):
    """An error that the user can correct: its message names the file or bag, and what to do."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(one) if isinstance(one, str) else one for one in args))
