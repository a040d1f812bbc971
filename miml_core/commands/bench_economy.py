"""Measure how many seconds of work correct labels cost, with a simulated annotator on sets of known truth.

DIR has the layout of the benchmark data: miml/, audio/ and images/. Seconds: 3 per typed tag or label, 1 per accepted
suggestion, 1.5 per corrected segment, 0.2 per tile on the wall. Printed are the shares of right segments against
seconds, which are shares of those it takes to type the label of every segment (see miml_core/review/economy.py): the
means over several seeds, which determine the order of the bags, and the range of what 95 % cost.

examples:
  bagtag bench-economy --data ../shared/data --json economy.json
  bagtag bench-economy --data ../shared/data --sets hja
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.commands.arguments import LARGEST_SEED, MOST_PROCESSES, whole_number
from miml_core.commands.output import write_json
from miml_core.errors import BagtagError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

    from miml_core.progress import Progress

_TABLE_WIDTH = 150
_MOST_SEEDS = 100
_SHOWN = (0.05, 0.1, 0.12, 0.15, 0.2, 0.5)
"""Shares of the seconds of labelling one by one, at which the share of right segments is printed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with miml/, audio/ and images/")
    parser.add_argument(
        "--sets", default="", metavar="A,B", help="sets whose name contains one of these (default: all)"
    )
    parser.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N", help="the first seed")
    seeds = whole_number(1, _MOST_SEEDS)
    parser.add_argument("--seeds", type=seeds, default=3, metavar="N", help="number of seeds (default: 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    jobs = whole_number(1, MOST_PROCESSES)
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes that read files (default: 1)")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    from miml_core.review.economy import N_STEPS, measure_economy
    from miml_core.review.economy_sets import labelled_sets

    if not args.data.is_dir():
        raise BagtagError(f"{args.data} is not a folder; give the folder that contains miml/, audio/ and images/.")
    if args.json is not None and not args.json.resolve().parent.is_dir():
        raise BagtagError(f"{args.json} cannot be written: there is no folder {args.json.resolve().parent}; create it.")
    console = Console()
    console.width = max(console.width, _TABLE_WIDTH)
    figures: dict[str, list[dict[str, Any]]] = {}
    wanted = [word for word in args.sets.split(",") if word]
    for one in labelled_sets(args.data, wanted, args.jobs):
        of = N_STEPS * args.seeds
        with console.status(f"{one.name}: 0 of {of} ways") as status:
            figures[one.name] = []
            for number in range(args.seeds):
                progress = _progress(status, one.name, N_STEPS * number, of)
                figures[one.name].append(measure_economy(one.bags, one.truth, args.seed + number, progress))
        _print_table(console, one.name, figures[one.name])
        if args.json is not None:
            write_json(args.json, figures)
    return 0


def _progress(status: Status, name: str, before: int, of: int) -> Progress:
    """Return the progress of one seed, as part of that of all seeds."""
    return lambda step, *_: status.update(f"{name}: {before + step} of {of} ways")


def _print_table(console: Console, name: str, seeds: list[dict[str, Any]]) -> None:
    from rich.table import Table

    first = seeds[0]
    every = first["one_by_one_seconds"]
    title = f"{name}: {first['segments']} segments, {first['tags']} tags; one by one {every:.0f} s; {len(seeds)} seeds"
    table = Table(title=title, title_justify="left")
    table.add_column("right after", no_wrap=True)
    for share in _SHOWN:
        table.add_column(f"{share:.0%}", justify="right", no_wrap=True)
    table.add_column("95 % after", justify="right", no_wrap=True)
    table.add_column("stopped after", justify="right", no_wrap=True)
    for way in first["ways"]:
        found = [one["ways"][way] for one in seeds]
        cells = [_mean([_accuracy_at(one["points"], share * every) for one in found]) for share in _SHOWN]
        reached = [one["target_share_of_seconds"] for one in found]
        spread = "" if None in reached or len(seeds) == 1 else f" ({min(reached):.1%} – {max(reached):.1%})"
        stopped = _mean([one["stopped_share_of_seconds"] for one in found])
        right = _mean([None if one["stopped"] is None else one["stopped"]["accuracy"] for one in found])
        table.add_row(way, *cells, f"{_mean(reached)}{spread}", f"{stopped}: {right}" if stopped else "")
    console.print(table)
    tagged = ", ".join(str(one["tagged_until_wall"]) for one in seeds)
    console.print(f"some tags: {tagged} of {first['bags']} bags")


def _mean(values: list[float | None]) -> str:
    """Return the mean in per cent; nothing if one is missing."""
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.1%}" if len(known) == len(values) else ""


def _accuracy_at(points: list[dict[str, float]], seconds: float) -> float | None:
    """Return the accuracy of the last point at or before some seconds; None before the first."""
    before = [point["accuracy"] for point in points if point["seconds"] <= seconds]
    return before[-1] if before else None
