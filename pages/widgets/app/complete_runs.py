"""Have callbacks run to their end, and the browser get everything a run has drawn before the next run begins.

Works around two faults of Streamlit 1.67.

1. A script runner that has ended refuses requests, so `AppSession.request_rerun` starts another one at once. What the
   ended one has drawn may still wait for the server's event loop then, which discards it ("Ignoring event from
   non-current ScriptRunner"; `request_rerun` describes it in a comment, and
   https://github.com/streamlit/streamlit/issues/9921 is one effect): a page stays half drawn or empty, or a dialog does
   not show what a click in it has changed. All that a run has drawn is scheduled on the event loop before its runner
   refuses requests. So it is enough to start the next runner behind it.
2. A request that arrives while callbacks run stops them where they next use `st.session_state` or draw something, and
   those that have not begun are never called (https://github.com/streamlit/streamlit/issues/10578): what a button does
   is lost or half done when another one, or a link, is clicked at once. Here the request waits until they have run.

Without this, `tests/browser/test_half_drawn.py` fails. It can go when that passes without it.
"""

from __future__ import annotations

import threading
from typing import Any

from streamlit.runtime.app_session import AppSession, AppSessionState
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state import SafeSessionState

_start_runner = AppSession._create_scriptrunner
_call_callbacks = SafeSessionState.on_script_will_rerun
_handle_requests = ScriptRunner._maybe_handle_execution_control_request
_this_thread = threading.local()


def complete_runs() -> None:
    """Have every session start a script runner only after what the one before it has drawn, and end its callbacks."""
    AppSession._create_scriptrunner = _start_when_delivered  # type: ignore[method-assign]
    SafeSessionState.on_script_will_rerun = _call_all_callbacks  # type: ignore[method-assign]
    ScriptRunner._maybe_handle_execution_control_request = _handle_requests_later  # type: ignore[method-assign]


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


def _call_all_callbacks(self: SafeSessionState, *args: Any, **kwargs: Any) -> None:
    _this_thread.calls_back = True
    try:
        _call_callbacks(self, *args, **kwargs)
    finally:
        _this_thread.calls_back = False


def _handle_requests_later(self: ScriptRunner) -> None:
    """Streamlit asks for this whenever something is drawn or read; it asks once more when the callbacks have run."""
    if not getattr(_this_thread, "calls_back", False):
        _handle_requests(self)
