"""Examples:

  bagtag import-labels ~/marsh ~/raven-tables                       a folder of selection tables
  bagtag import-labels ~/marsh results.csv --as suggestions --min-score 0.5
  bagtag import-labels ~/bats project.json --as tags --rest absent  whombat's boxes as tags of the clips
  bagtag import-labels ~/marsh calls.csv --column label=bird --column start_s=from --column end_s=to
  bagtag import-labels ~/marsh calls.csv --class "SYLATR=Blackcap" --class "noise=" --dry-run

The format of each file is recognised by its content. A label becomes the class of that name, or a new one; `--class`
renames a label or, with nothing after the =, leaves it out; both are remembered in the project. The whole import is one
edit that can be undone. If lines cannot be read, they are listed and nothing is imported. Labels of files that are not
in the project are listed on standard error, and the exit code is 3.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.commands import project_commands
from miml_core.commands.arguments import number
from miml_core.commands.output import print_outcome

if TYPE_CHECKING:
    from miml_core.project.edits.import_preview import ImportPreview


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from miml_core.exchange.column_tables import FIELDS
    from miml_core.exchange.reading import READABLE

    project_commands.add_project_argument(parser)
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE", help="files, folders or zip archives of labels")
    parser.add_argument("--format", choices=list(READABLE), help="format of all files (default: recognise it)")
    parser.add_argument(
        "--as",
        dest="way",
        choices=["segments", "tags", "suggestions"],
        default="segments",
        help="confirmed segments (default), only tags of the bags, or suggestions to be reviewed",
    )
    parser.add_argument(
        "--column", action="append", default=[], type=_pair, metavar="FIELD=HEADING",
        help=f"column of a table: {', '.join(FIELDS)}",
    )  # fmt: skip
    parser.add_argument(
        "--class", dest="classes", action="append", default=[], type=_pair, metavar="LABEL=CLASS",
        help="class of a label; nothing after the = leaves the label out",
    )  # fmt: skip
    parser.add_argument(
        "--overlaps",
        choices=["keep", "replace", "skip"],
        default="replace",
        help="where a label overlaps segments: keep both, replace detected ones without a label (default), skip it",
    )
    parser.add_argument(
        "--rest",
        choices=["unknown", "absent"],
        default="unknown",
        help="whether classes without a label are absent from the bags of the named files (default: unknown)",
    )
    parser.add_argument(
        "--match",
        default="",
        metavar="PATTERN",
        help="pattern of the file names in the labels, with * for the name of the recording: 'x_*_v2'",
    )
    parser.add_argument("--min-score", type=number(0, 1), default=0.0, metavar="P", help="leave out lower scores")
    parser.add_argument("--leave-out-errors", action="store_true", help="import even if lines cannot be read")
    parser.add_argument("--dry-run", action="store_true", help="list what would be done, and do nothing")


def run(args: argparse.Namespace) -> int:
    from miml_core.exchange.problems import summarise
    from miml_core.exchange.reading import read_labels
    from miml_core.project.edits.label_plan import ImportOptions

    options = ImportOptions(args.way, dict(args.classes), args.overlaps, args.rest, args.match, args.min_score)
    with project_commands.open_project(args) as project:
        table = read_labels(args.paths, format=args.format, columns=dict(args.column))
        first = args.paths[0].absolute()
        shown = project.edits.preview_labels(table, options, beside=first if first.is_dir() else first.parent)
        if not args.json:
            for problem in shown.unreadable:
                print(f"bagtag: {problem}", file=sys.stderr)
        sentence = f"would import {shown.n_imported} {'tags' if args.way == 'tags' else args.way}"
        if not args.dry_run:
            result = project.edits.import_labels(shown, leave_out_errors=args.leave_out_errors)
            sentence = result.sentence
    left_out = summarise(shown.left_out)
    print_outcome(args, {**_outcome(shown), "message": sentence, "left_out": left_out}, sentence)
    if not args.json:
        if args.dry_run:
            _print_classes(shown)
        for line in left_out:
            print(f"bagtag: {line}", file=sys.stderr)
    return project_commands.SOME_FAILED if shown.left_out or shown.unreadable else 0


def _outcome(shown: ImportPreview) -> dict[str, Any]:
    return {
        "labels": shown.plan.n_labels,
        "imported": shown.n_imported,
        "bags": shown.n_bags,
        "across_bags": shown.plan.n_across,
        "cut": shown.plan.n_cut,
        "already_there": shown.shapes.n_there,
        "replaced": len(shown.shapes.replaced),
        "skipped": shown.shapes.n_skipped,
        "files": {use.name: use.path for use in shown.plan.files},
        "classes": {use.label: use.class_name for use in shown.plan.labels},
        "unreadable": [{"where": each.where, "reason": each.reason} for each in shown.unreadable],
        "n_left_out": len(shown.left_out),
        "notes": sum(map(len, shown.plan.notes.values())),
    }


def _print_classes(shown: ImportPreview) -> None:
    for use in shown.plan.labels:
        becomes = f"{use.class_name}{' (new class)' if use.is_new else ''}" if use.class_name else "left out"
        print(f"{use.n:>8}  {use.label} -> {becomes}")


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"must have the form NAME=VALUE, not {text!r}")
    return name, value
