"""Run the survey demo for `bagtag demo --survey`, and print what it found."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core.commands.output import print_json
from miml_core.errors import BagtagError
from miml_core.progress import Progress

if TYPE_CHECKING:
    from miml_core.demo.survey.chain import ProgressOf
    from miml_core.demo.survey.report import ComparedEstimate, SpeciesReport, SurveyReport

_WIDTH = 118


def run(args: argparse.Namespace) -> int:
    """Generate the survey, run the chain and print the report."""
    from miml_core.demo.survey.chain import ARCHIVE, run_survey
    from miml_core.demo.survey.plan import SurveyPlan

    if args.kind != "sound" or not args.train:
        raise BagtagError("The survey demo is of sounds, with a trained model; leave out --kind and --no-train.")
    plan = SurveyPlan(args.hours, args.days, args.sites, args.seed)
    with _bars(args) as progress_of:
        report = run_survey(args.folder, plan, progress_of)
    if args.json:
        print_json({"folder": str(args.folder), "archive": str(args.folder / ARCHIVE), **report.to_dict()})
    else:
        _print(report, args.folder, args.folder / ARCHIVE)
    return 0


@contextmanager
def _bars(args: argparse.Namespace) -> Iterator[ProgressOf]:
    """Show a line per stage, with the time left."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<22}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
    with Bars(*columns, console=console, disable=args.json or not console.is_terminal) as bars:

        def progress_of(title: str) -> Progress:
            for task in bars.tasks:
                bars.update(task.id, total=task.total or 1, completed=task.total or 1)
            row = bars.add_task(title, total=None)
            return lambda step, of, _: bars.update(row, completed=step, total=of or None)

        yield progress_of


def _print(report: SurveyReport, folder: Path, archive: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from miml_core.demo.survey.report import WANTED_PRECISION

    table = Table(box=None, pad_edge=False)
    table.add_column("Species")
    for title in ("Calls", "Found", "Segments", "From", "Precision, 95 % (true)", "Count, 95 % (true)", "r"):
        table.add_column(title, justify="right")
    for one in report.species:
        table.add_row(*_row(one))
    print(
        f"{report.hours:.2f} hours in {report.files} recordings ({report.recording_bytes / 1e6:,.0f} MB), "
        f"{report.segments:,} segments.\n"
    )
    Console(width=_WIDTH, highlight=False).print(table)
    print(
        f"""
Calls: generated, of which a share is found. Segments: those that the model gives to the species, several per call.
From: lowest probability with a precision of {WANTED_PRECISION:.0%} by the sample (*: there is none; the best one).
Count: segments of any species by the model that are really of this one, estimated from the sample.
{report.covered} of {report.intervals} intervals contain the truth (!: those that do not).
The activity by hour of day of all species correlates with the known rhythms with r = {report.correlation:.3f}.

The truth of the generator was used for the tags of the clips and for the answers to the sample, as a person would give
them, and for this comparison. Learning saw the tags only.

Seconds: {", ".join(f"{title} {value:g}" for title, value in report.seconds.items())}
Open the project {str(folder)!r} in the app (bagtag app); its archive is {str(archive)!r}."""
    )


def _row(one: SpeciesReport) -> list[str]:
    return [
        one.name,
        f"{one.calls:,}",
        f"{one.found:.0%}",
        f"{one.detections:,}",
        f"{one.threshold:g}{'' if one.is_precise else '*'}",
        _percent(one.precision),
        _count(one.count),
        f"{one.correlation:.3f}",
    ]


def _percent(pair: ComparedEstimate) -> str:
    found = pair.estimate
    return f"{found.value:.0%}, {found.low:.0%}-{found.high:.0%} ({pair.true:.1%}){_mark(pair)}"


def _count(pair: ComparedEstimate) -> str:
    found = pair.estimate
    return f"{found.value:,.0f}, {found.low:,.0f}-{found.high:,.0f} ({pair.true:,.0f}){_mark(pair)}"


def _mark(pair: ComparedEstimate) -> str:
    return "" if pair.is_covered else "!"
