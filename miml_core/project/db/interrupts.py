"""Stop long statements of SQLite when somebody cancels the work they are part of."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_STEPS = 200_000
"""Virtual machine instructions of SQLite, a few milliseconds."""


@contextmanager
def interrupted_by(connection: sqlite3.Connection, check: Callable[[], object]) -> Iterator[None]:
    """Interrupt the statements of a connection when `check` raises an error, and raise that error."""
    raised: list[BaseException] = []

    def is_over() -> bool:
        try:
            check()
        except BaseException as error:  # raised again below, whatever it is
            raised.append(error)
        return bool(raised)

    connection.set_progress_handler(is_over, _STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        if raised:
            raise raised[0] from None
        raise
    finally:
        connection.set_progress_handler(None, 0)
