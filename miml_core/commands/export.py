"""Examples:

  python -m miml_core export ~/marsh calls.csv                                  labels and predictions, as CSV
  python -m miml_core export ~/marsh tables --format raven --min-probability 0.8
  python -m miml_core export ~/marsh labels.zip --format audacity --what confirmed

A file that exists is only replaced if an export of this project wrote it and it has not changed since.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.arguments import number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from miml_core.exchange import FORMATS

    project_commands.add_project_argument(parser)
    parser.add_argument("target", type=Path, help="the file, folder or .zip to write")
    parser.add_argument("--format", choices=list(FORMATS), default="csv")
    parser.add_argument(
        "--what",
        choices=["confirmed", "accepted", "predicted", "all"],
        default="predicted",
        help="labels that a person checked; these and what was accepted by threshold; these and predictions (default); "
        "or every segment",
    )
    parser.add_argument(
        "--min-probability",
        type=number(0, 1),
        default=0.0,
        metavar="P",
        help="leave out predictions that are less probable",
    )
    parser.add_argument("--class", dest="classes", action="append", default=[], metavar="NAME", help="only this class")
    parser.add_argument("--since", default="", metavar="DAY", help="only recordings from this day on (2024-05-01)")
    parser.add_argument("--until", default="", metavar="DAY", help="only recordings up to this day")
    parser.add_argument("--site", default="", metavar="TEXT", help="only files with this in their path")


def run(args: argparse.Namespace) -> int:
    params = {
        "format": args.format,
        "path": str(args.target.absolute()),
        "what": args.what,
        "min_probability": args.min_probability,
        **{name: getattr(args, name) for name in ("classes", "since", "until", "site") if getattr(args, name)},
    }
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "export", params)
