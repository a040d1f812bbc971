"""Examples:

  bagtag apply marsh.bagtag ~/recordings --out ~/archive                  one process per core
  bagtag apply marsh.bagtag /disk1 /disk2 --out ~/archive --site-pattern '(?P<site>S\\d+)_'
  bagtag apply marsh.bagtag /data --out /data/archive --scheduler tcp://10.0.0.1:8786

Writes a Parquet data set, by site and day: segments with their classes, clips with the probabilities of their tags, and
files that could not be processed. A command that was interrupted, in whatever way, continues when it is started again.
A site is the first folder below the given one, unless a pattern is given; a day is that of the recording.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core.commands import project_commands
from miml_core.commands.arguments import MOST_PROCESSES, whole_number
from miml_core.commands.output import print_outcome

if TYPE_CHECKING:
    from miml_core.archive.run import ApplyProgress

_FAILURES_SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the model, as `export-model` wrote it")
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folders of recordings or pictures")
    parser.add_argument("--out", type=Path, required=True, metavar="ARCHIVE", help="folder of the results")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler to use, such as tcp://10.0.0.1:8786")
    where.add_argument(
        "--workers", type=whole_number(1, MOST_PROCESSES), metavar="N", help="processes here (default: one per core)"
    )
    parser.add_argument(
        "--site-pattern", metavar="REGEX", help="takes the site from a file's path: the group named site, or the first"
    )
    parser.add_argument("--remove-missing", action="store_true", help="remove results of files that no longer exist")
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")


def run(args: argparse.Namespace) -> int:
    from miml_core.archive.bundle import read_bundle
    from miml_core.archive.reading import summarise
    from miml_core.archive.run import ApplyOptions, apply_model

    bundle = read_bundle(args.bundle)
    options = ApplyOptions(args.scheduler, args.workers, args.site_pattern, args.remove_missing)
    with _bar(args) as report:
        done = apply_model(args.bundle, args.folders, args.out, options, report)
    found = summarise(args.out, bundle.id)
    outcome = {
        "model": found.model,
        "files": found.files,
        "hours": found.hours,
        "clips": found.clips,
        "segments": found.segments,
        "new_segments": done.segments,
        "failures": [{"item": file, "reason": reason} for file, reason in found.failures],
    }
    amount = f"{found.hours:,.2f} hours" if bundle.kind == "sound" else f"{found.clips:,} pictures"
    sentence = f"{found.segments:,} segments in {found.files:,} files ({amount}) in {str(args.out)!r}"
    print_outcome(args, outcome, sentence)
    if not args.json:
        project_commands.print_failures(found.failures[:_FAILURES_SHOWN])
        if len(found.failures) > _FAILURES_SHOWN:
            print(f"bagtag: ... and {len(found.failures) - _FAILURES_SHOWN} more", file=sys.stderr)
    return project_commands.SOME_FAILED if found.failures else 0


@contextmanager
def _bar(args: argparse.Namespace) -> Iterator[Callable[[ApplyProgress], None]]:
    """Show files, hours, failures and the time left; the address of Dask's dashboard first."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(compact=True))
    with Progress(*columns, console=console, transient=True, disable=args.json or not console.is_terminal) as bar:
        row = bar.add_task("reading headers", total=None)
        shown = {"dashboard": "", "stage": ""}

        def report(now: ApplyProgress) -> None:
            if now.dashboard != shown["dashboard"] and not args.json:
                print(f"bagtag: Dask's dashboard is at {now.dashboard}", file=sys.stderr)
            if now.stage == "reading headers":
                bar.update(row, description=now.stage, completed=now.files, total=now.of_files)
            else:
                if now.stage != shown["stage"]:
                    bar.reset(row, total=now.of_seconds, completed=round(now.done_before))
                bar.update(row, description=now.sentence, completed=now.seconds, total=now.of_seconds)
            shown.update(dashboard=now.dashboard, stage=now.stage)

        yield report
