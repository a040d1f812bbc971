"""Work in a thread of the server: its progress, its end, and what it shows of errors."""

import time

import pytest

from miml_core import BagtagError
from pages.widgets.background_work import BackgroundWork
from tests.conftest import PATIENCE


def run(function) -> BackgroundWork:
    work = BackgroundWork()
    work.start(lambda: function(work), failure="The report could not be created")
    until = time.monotonic() + PATIENCE
    while not work.over:
        assert time.monotonic() < until
        time.sleep(0.005)
    return work


def test_progress_is_recorded_and_an_unknown_number_of_steps_is_no_progress():
    work = run(lambda work: (work.report(3, 4, {}), work.report(3, 0, {}), work.report(1, 2, {"what": "plots"})))
    assert (work.share, work.problem) == (0.5, None) and work.seconds_left is not None


def test_work_that_is_asked_to_stop_ends_at_its_next_report_without_an_error():
    reached = []

    def stopped(work):
        work.end()
        work.report(1, 2, {})
        reached.append(True)

    assert run(stopped).problem is None and not reached


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (BagtagError("dawn.wav is damaged; copy it again."), "dawn.wav is damaged; copy it again."),
        (
            OSError(28, "No space left on device"),
            "The report could not be created: No space left on device. Check the disk and its permissions, then try "
            "again.",
        ),
        (
            ValueError("a bug"),
            "The report could not be created; the details are in the terminal where Bagtag was started.",
        ),
    ],
)
def test_an_error_becomes_a_sentence(error, problem):
    def fail(work):
        raise error

    assert run(fail).problem == problem
