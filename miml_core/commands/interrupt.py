"""Handle Ctrl-C while a command is still importing modules; imports as little as possible itself."""

import os
import signal
import sys


def exit_on_interrupt() -> None:
    """Exit at Ctrl-C with a message instead of a traceback, until another handler is set."""
    signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: object) -> None:
    if "--json" in sys.argv:
        os.write(1, b'{"error": "stopped", "kind": "stopped"}\n')
    else:
        os.write(2, b"bagtag: stopped\n")
    os._exit(130)
