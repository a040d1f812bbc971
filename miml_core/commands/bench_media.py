"""Measure segments, features and labels on recordings and pictures with known truth.

DIR has the layout of the benchmark data: audio/ (sets of recordings with events or boxes) and images/ (sets of pictures
with label maps, see miml_core/evaluation/picture_sets.py). A part that does not exist is left out. Labels are measured
given the tags and in new clips and pictures, without a background class and with one: the share that is right, and the
expected calibration error.

example:
  bagtag bench-media --data ../shared/data --json figures.json
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.commands.arguments import MOST_PROCESSES, whole_number
from miml_core.commands.output import write_json
from miml_core.errors import BagtagError

if TYPE_CHECKING:
    from rich.console import Console

PARTS = {
    "sound": ("audio", "miml_core.evaluation.media_sound", "measure_sound"),
    "pictures": ("images", "miml_core.evaluation.media_pictures", "measure_pictures"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with audio/ and images/")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    folds = whole_number(2, 1000)
    parser.add_argument(
        "--folds", type=folds, default=10, metavar="N", help="folds of clips, of pictures (default: 10)"
    )
    jobs = whole_number(-1, MOST_PROCESSES)
    parser.add_argument("--jobs", type=jobs, default=-1, metavar="N", help="processes that read files (default: all)")


def run(args: argparse.Namespace) -> int:
    from rich.console import Console

    if not args.data.is_dir():
        raise BagtagError(f"{args.data} is not a folder; give the folder that contains audio/ and images/.")
    if args.jobs == 0:
        raise BagtagError("Give the number of processes with --jobs: 1 or more, or -1 for one per core.")
    if args.json is not None and not args.json.resolve().parent.is_dir():
        raise BagtagError(f"{args.json} cannot be written: there is no folder {args.json.resolve().parent}; create it.")
    console = Console()
    figures: dict[str, Any] = {}
    for part, (folder, module, function) in PARTS.items():
        if not (args.data / folder).is_dir():
            console.print(f"{part}: left out, there is no {args.data / folder}")
            continue
        measure = getattr(importlib.import_module(module), function)
        figures[part] = _with_bar(console, part, measure, args.data, jobs=args.jobs, folds=args.folds)
        if not figures[part]:
            console.print(f"{part}: left out, {args.data / folder} contains no set in a known layout")
        for name, values in figures[part].items():
            _print_table(console, f"{part}: {name}", values)
    if not any(figures.values()):
        raise BagtagError(f"Nothing under {args.data} could be measured.")
    if args.json is not None:
        write_json(args.json, figures)
    return 0


def _with_bar(console: Console, part: str, measure: Any, data: Path, **options: int) -> dict[str, Any]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(part)

        def progress(step: int, of: int, info: dict[str, float]) -> None:
            bar.update(task, completed=step, total=of)

        return dict(measure(data, progress, **options))


def _print_table(console: Console, title: str, values: Any) -> None:
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for path, value in _leaves(values):
        table.add_row(path, f"{value:.4g}" if isinstance(value, float) else str(value))
    console.print(table)


def _leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every figure of a nested dict with its path; the items of a list have the path of the list."""
    if isinstance(values, dict):
        for name, inner in values.items():
            yield from _leaves(inner, f"{path}, {name}".lstrip(", ").replace("_", " "))
    elif isinstance(values, list):
        for item in values:
            yield from _leaves(item, path)
    else:
        yield path, values
