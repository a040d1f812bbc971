"""Work in a thread of the server, while a page shows its progress; it continues when the tab is closed."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from miml_core import BagtagError

_log = logging.getLogger("bagtag.pages")


class Stopped(Exception):
    """Raised inside of work that was asked to stop."""


@dataclass(kw_only=True)
class BackgroundWork:
    """The progress of some work and, when it is over, why it failed; a subclass adds its parameters and its result."""

    began: float = field(default_factory=time.monotonic)
    share: float = 0.0
    stop: bool = False
    over: bool = False
    problem: str | None = None
    number: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    """Its name in an address."""

    def start(self, function: Callable[[], None], *, failure: str) -> None:
        """Run `function` in a thread.

        Parameters
        ----------
        function : callable
            The work, which passes `report` to the computation and stores its result in this object.
        failure : str
            The beginning of the sentence that `problem` has if an unexpected error occurs, such as "The report could
            not be created". A `BagtagError` is shown as it is.
        """
        threading.Thread(target=self._run, args=(function, failure), name=type(self).__name__, daemon=True).start()

    def _run(self, function: Callable[[], None], failure: str) -> None:
        try:
            function()
        except Stopped:
            pass
        except BagtagError as error:
            self.problem = str(error)
        except OSError as error:
            _log.exception(failure)
            self.problem = f"{failure}: {error.strerror or error}. Check the disk and its permissions, then try again."
        except Exception:
            _log.exception(failure)
            self.problem = f"{failure}; the details are in the terminal where Bagtag was started."
        finally:
            self.over = True

    def report(self, step: int, of: int, info: Mapping[str, Any]) -> None:
        """Record the progress, as a `miml_core.progress.Progress`; raises `Stopped` if the work was asked to stop."""
        self.share = step / of if of else 0.0
        self.check_stop()

    def check_stop(self) -> None:
        """Raise `Stopped` if the work was asked to stop."""
        if self.stop:
            raise Stopped

    def end(self) -> None:
        """Ask the work to stop."""
        self.stop = True

    @property
    def seconds_left(self) -> float | None:
        """Estimated time until the end; None while too little is done to tell."""
        elapsed = time.monotonic() - self.began
        return elapsed * (1 - self.share) / self.share if self.share > 0.05 else None
