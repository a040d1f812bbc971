"""A script runner is started only after everything that the one before it has drawn was delivered."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from streamlit.runtime.app_session import AppSessionState
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData

from pages.widgets.app import complete_runs

FIRST, SECOND, THIRD = (RerunData(query_string=name) for name in ("first", "second", "third"))


class FakeRunner:
    """A script runner that accepts requests until it has ended."""

    def __init__(self, started_for: RerunData) -> None:
        self.requests = [started_for]
        self.ended = False

    def request_rerun(self, request: RerunData) -> bool:
        if not self.ended:
            self.requests.append(request)
        return not self.ended


class FakeLoop:
    """An event loop: what is scheduled is called in its order. (Playwright runs one of asyncio's in this thread.)"""

    def __init__(self) -> None:
        self._scheduled: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()

    def call_soon(self, function: Callable[..., None], *args: Any) -> None:
        self._scheduled.append((function, args))

    def run(self) -> None:
        while self._scheduled:
            function, args = self._scheduled.popleft()
            function(*args)


class FakeSession:
    """What `_start_when_delivered` uses of an `AppSession`."""

    def __init__(self) -> None:
        self._event_loop = FakeLoop()
        self._state = AppSessionState.APP_IS_RUNNING
        self._scriptrunner: FakeRunner | None = None
        self.happened: list[str] = []

    def draw(self, what: str) -> None:
        """Have something delivered by the event loop, as a runner does."""
        self._event_loop.call_soon(self.happened.append, f"{what} delivered")


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> FakeSession:
    def start(session: FakeSession, request: RerunData) -> None:
        session._scriptrunner = FakeRunner(request)
        session.happened.append(f"{request.query_string} started")

    monkeypatch.setattr(complete_runs, "_start_runner", start)
    return FakeSession()


def ask(session: Any, request: RerunData) -> None:
    complete_runs._start_when_delivered(session, request)


def end_first_run(session: FakeSession) -> FakeRunner:
    """Let a first runner draw something and end."""
    ask(session, FIRST)
    runner = session._scriptrunner
    assert runner is not None
    session.draw("first")
    runner.ended = True
    return runner


def test_the_first_run_of_a_session_starts_at_once(session):
    ask(session, FIRST)
    assert session.happened == ["first started"]
    session._event_loop.run()
    assert session.happened == ["first started"]


def test_a_run_starts_after_what_the_ended_one_has_drawn(session):
    ended = end_first_run(session)
    ask(session, SECOND)
    assert session.happened == ["first started"] and session._scriptrunner is ended
    session._event_loop.run()
    assert session.happened == ["first started", "first delivered", "second started"]


def test_a_run_starts_if_the_ended_runner_was_removed_meanwhile(session):
    end_first_run(session)
    ask(session, SECOND)
    session._scriptrunner = None
    session._event_loop.run()
    assert session.happened == ["first started", "first delivered", "second started"]


def test_a_later_request_joins_the_run_that_an_earlier_one_started(session):
    end_first_run(session)
    ask(session, SECOND)
    ask(session, THIRD)
    session._event_loop.run()
    assert session.happened == ["first started", "first delivered", "second started"]
    assert session._scriptrunner.requests == [SECOND, THIRD]


def test_a_later_request_starts_a_run_if_that_of_the_earlier_one_has_ended(session):
    """It starts after what that run has drawn."""

    def end_second() -> None:
        session.draw("second")
        session._scriptrunner.ended = True

    end_first_run(session)
    ask(session, SECOND)
    session._event_loop.call_soon(end_second)
    ask(session, THIRD)
    session._event_loop.run()
    started = ["first started", "first delivered", "second started", "second delivered", "third started"]
    assert session.happened == started and session._scriptrunner.requests == [THIRD]


def test_nothing_starts_in_a_session_that_is_shut_down(session):
    ended = end_first_run(session)
    ask(session, SECOND)
    session._state = AppSessionState.SHUTDOWN_REQUESTED
    session._event_loop.run()
    assert session.happened == ["first started", "first delivered"] and session._scriptrunner is ended
