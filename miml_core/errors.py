"""The one exception meant for people."""

from __future__ import annotations

import os


def printable(text: str | os.PathLike[str]) -> str:
    """Return text that can be stored and shown: a file name that is not valid UTF-8 has its odd bytes as `\\xff`.

    >>> printable("caf\\udce9.wav")
    'caf\\\\xe9.wav'
    """
    try:
        return os.fspath(text).encode("utf-8", errors="surrogateescape").decode("utf-8", errors="backslashreplace")
    except UnicodeEncodeError:  # half of a UTF-16 pair, as in some names on Windows
        return os.fspath(text).encode("utf-8", errors="backslashreplace").decode()


class BagtagError(ValueError):
    """Something a person can act on: its message is a sentence naming the file or the bag and what to do."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(printable(one) if isinstance(one, str) else one for one in args))
