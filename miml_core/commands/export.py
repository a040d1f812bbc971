"""Examples:

  bagtag export ~/marsh calls.csv                                  labels and predictions, as CSV
  bagtag export ~/marsh tables --format raven --min-probability 0.8
  bagtag export ~/marsh labels.zip --format audacity --what confirmed

  bagtag export ~/marsh clips --format birdnet-training --class Wren --since 2024-05-01
  bagtag export ~/marsh clips --format cut-outs --padding 0.25 --rate 22050

Cut-outs and training folders take checked labels only, unless --what selects others. A file that ends in
.provenance.json is written beside, or into the folder, of every export: model, settings, people and filters.
A file that exists is only replaced if an export of this project wrote it and it has not changed since.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.arguments import number, whole_number

_IF_GIVEN = ("what", "classes", "since", "until", "site", "padding", "rate")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from miml_core.exchange import FORMATS
    from miml_core.exchange.cutouts import MOST_PADDING, RATES

    project_commands.add_project_argument(parser)
    parser.add_argument("target", type=Path, help="the file, folder or .zip to write")
    parser.add_argument("--format", choices=list(FORMATS), default="csv")
    parser.add_argument(
        "--what",
        choices=["confirmed", "accepted", "predicted", "all"],
        help="labels that a person checked (default of cut-outs and training folders); these and what was accepted by "
        "threshold; these and predictions (default of the others); or every segment",
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
    parser.add_argument(
        "--padding",
        type=number(0, MOST_PADDING),
        metavar="N",
        help="of cut-outs: seconds around a call, or pixels around a part of a picture (default 0.5 s or 8 pixels; "
        "training folders 0, with clips of 3 s or more)",
    )
    parser.add_argument(
        "--rate",
        type=whole_number(*RATES),
        metavar="HZ",
        help="sample rate of cut-outs (default: that of the recording; training folders 48000)",
    )
    parser.add_argument("--site", default="", metavar="TEXT", help="only files with this in their path")


def run(args: argparse.Namespace) -> int:
    params = {
        "format": args.format,
        "path": str(args.target.absolute()),
        "min_probability": args.min_probability,
        **{name: value for name in _IF_GIVEN if (value := getattr(args, name)) or isinstance(value, float)},
    }
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "export", params)
