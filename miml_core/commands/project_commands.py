"""Open a project and run a job for a command: what the commands on a project share."""

from __future__ import annotations

import argparse
import getpass
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project import Job, Project

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

SOME_FAILED = 3
"""Exit code if the work was done, but some files could not be processed."""


class JobFailed(BagtagError):
    """A job ended without being done; `details` are for programs."""

    def __init__(self, sentence: str, details: dict[str, Any]) -> None:
        super().__init__(sentence)
        self.details = details


def add_project_argument(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the project, and the arguments that all commands have."""
    parser.add_argument("project", type=Path, help="folder of the project")
    add_common_arguments(parser)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of commands that change a project: `--json` and `--annotator`."""
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    parser.add_argument(
        "--annotator", default=None, help="name to record edits under (default: $BAGTAG_ANNOTATOR, or your login name)"
    )


def open_project(args: argparse.Namespace) -> Project:
    """Open the project that the command was given."""
    if args.project.is_file():
        raise BagtagError(f"{str(args.project)!r} is a file; give the folder of the project.")
    return Project.open(args.project, annotator=annotator_name(args))


def annotator_name(args: argparse.Namespace) -> str:
    """Return the name to record edits under: that of `--annotator`, of `BAGTAG_ANNOTATOR` or of the login."""
    if args.annotator is not None:
        return str(args.annotator)
    try:
        return os.environ.get("BAGTAG_ANNOTATOR") or getpass.getuser()
    except (KeyError, OSError):
        return ""


def run_job(
    project: Project,
    args: argparse.Namespace,
    kind: Any,
    params: dict[str, Any],
    *,
    summarise: Callable[[Job], str] | None = None,
) -> int:
    """Start a job, show its progress until it ends, print its outcome and return the exit code.

    Ctrl-C cancels the job; closing the terminal does not. The message of a job that is done is printed, or what
    `summarise` returns.
    """
    try:
        with _delayed_interrupt():
            job = project.jobs.start(kind, params)
        job = _follow(project, args, job)
    except KeyboardInterrupt:
        project.jobs.cancel(job.id)
        project.jobs.wait(job.id, timeout=10)
        raise
    failures = project.jobs.failures(job.id)
    listed = [{"item": failure.item, "reason": failure.reason} for failure in failures]
    if job.state != "done":
        if not args.json:
            _print_failures(failures)
        sentence = job.message if job.state == "failed" else f"the job ended as {job.state}: {job.message}"
        raise JobFailed(sentence, {"job": job.id, "state": job.state, "failures": listed})
    message = job.message if summarise is None else summarise(job)
    outcome = {"job": job.id, "state": job.state, **job.result, "message": message, "failures": listed}
    print_outcome(args, outcome, message)
    if not args.json:
        for note in job.result.get("notes", []):
            print(f"bagtag: {note['item']}: note: {note['note']}", file=sys.stderr)
        _print_failures(failures)
    return SOME_FAILED if failures else 0


@contextmanager
def _delayed_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the end of the block: a job that is just being started would run on unseen."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def print_failures(failures: Iterable[tuple[str, str]]) -> None:
    """Print what could not be processed, (item, reason) by line."""
    for item, reason in failures:
        print(f"bagtag: {item}: {reason}", file=sys.stderr)


def _print_failures(failures: list[Any]) -> None:
    print_failures((failure.item, failure.reason) for failure in failures)


def _progress(args: argparse.Namespace) -> RichProgress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return RichProgress(*columns, console=console, transient=True, disable=args.json or not console.is_terminal)


@contextmanager
def progress_bar(args: argparse.Namespace, title: str) -> Iterator[Progress]:
    """Show the progress of work that the command does itself."""
    with _progress(args) as bar:
        task = bar.add_task(title, total=None)

        def show(step: int, of: int, info: Mapping[str, Any]) -> None:
            bar.update(task, description=info.get("what", title)[:60], completed=step, total=of or None)

        yield show


def _follow(project: Project, args: argparse.Namespace, job: Job) -> Job:
    with _progress(args) as bar:
        task = bar.add_task(job.kind, total=None)

        def tick(now: Job) -> None:
            bar.update(task, description=now.message[:60], completed=now.done, total=now.of or None)

        return project.jobs.wait(job.id, tick=tick)
