"""Let the browser get everything a run has drawn before the next run begins.

Works around a fault of Streamlit 1.67. A script runner that has ended refuses requests, so `AppSession.request_rerun`
starts another one at once. What the ended one has drawn may still wait for the server's event loop then, which
discards it ("Ignoring event from non-current ScriptRunner"; `request_rerun` describes it in a comment, and
https://github.com/streamlit/streamlit/issues/9921 is one effect): a page stays half drawn or empty, or a dialog does
not show what a click in it has changed. Fragments that poll make it likely, on a busy computer above all.

All that a run has drawn is scheduled on the event loop before its runner refuses requests. So it is enough to start
the next runner behind it.

Without this, `tests/browser/test_half_drawn.py` fails. It can go when that passes without it.
"""

from __future__ import annotations

from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

_start_runner = AppSession._create_scriptrunner


def deliver_runs_completely() -> None:
    """Have every session start a script runner only after everything that the one before it has drawn was delivered."""
    AppSession._create_scriptrunner = _start_when_delivered  # type: ignore[method-assign]


def _start_when_delivered(self: AppSession, initial_rerun_data: RerunData) -> None:
    ended = self._scriptrunner
    if ended is None:
        _start_runner(self, initial_rerun_data)
        return

    def start() -> None:
        if self._state == AppSessionState.SHUTDOWN_REQUESTED:
            return
        current = self._scriptrunner
        if current is None or current is ended:
            _start_runner(self, initial_rerun_data)
        elif not current.request_rerun(initial_rerun_data):  # another request came first; its run has ended by now, too
            _start_when_delivered(self, initial_rerun_data)

    self._event_loop.call_soon(start)
