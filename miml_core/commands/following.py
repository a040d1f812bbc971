"""What commands on a project share: opening it, following a job, printing for people or for programs."""

from __future__ import annotations

import argparse
import getpass
import json
import os
import sys
from pathlib import Path
from typing import Any

from miml_core.errors import BagtagError
from miml_core.project import Job, Project

SOME_FAILED = 3
"""Exit code when the work was done but some files could not be dealt with."""


def add_project_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", type=Path, help="folder of the project")
    add_common_arguments(parser)


def add_common_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON, and nothing else")
    parser.add_argument("--annotator", default=None, help="who acts (default: $BAGTAG_ANNOTATOR, or your login name)")


def open_project(args: argparse.Namespace) -> Project:
    return Project.open(args.project, annotator=who(args))


def who(args: argparse.Namespace) -> str:
    if args.annotator is not None:
        return str(args.annotator)
    try:
        return os.environ.get("BAGTAG_ANNOTATOR") or getpass.getuser()
    except (KeyError, OSError):
        return ""


def say(args: argparse.Namespace, outcome: dict[str, Any], sentence: str) -> None:
    """The outcome, once."""
    print(json.dumps(outcome, ensure_ascii=False) if args.json else sentence)


def do_job(project: Project, args: argparse.Namespace, kind: Any, params: dict[str, Any]) -> int:
    """Start a job, follow it to its end with a progress bar, and say how it ended.

    Interrupting stops the job too; closing the terminal does not.
    """
    job = project.start_job(kind, params)
    try:
        job = _follow(project, args, job)
    except KeyboardInterrupt:
        project.cancel_job(job.id)
        project.wait_job(job.id, timeout=10)
        raise
    failures = project.job_failures(job.id)
    if job.state != "done":
        _list(failures)
        raise BagtagError(job.message if job.state == "failed" else f"the job ended as {job.state}: {job.message}")
    outcome = {"job": job.id, "state": job.state, "message": job.message, **job.result}
    outcome["failures"] = [{"item": failure.item, "reason": failure.reason} for failure in failures]
    say(args, outcome, job.message)
    if not args.json:
        for note in job.result.get("notes", []):
            print(f"bagtag: {note['item']}: note: {note['note']}", file=sys.stderr)
        _list(failures)
    return SOME_FAILED if failures else 0


def _list(failures: list[Any]) -> None:
    for failure in failures:
        print(f"bagtag: {failure.item}: {failure.reason}", file=sys.stderr)


def _follow(project: Project, args: argparse.Namespace, job: Job) -> Job:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=args.json or not console.is_terminal) as bar:
        task = bar.add_task(job.kind, total=None)

        def tick(now: Job) -> None:
            bar.update(task, description=now.message[:60], completed=now.done, total=now.of or None)

        return project.wait_job(job.id, tick=tick)
