"""Examples:

  bagtag export-model ~/marsh marsh.bagtag            the model of the current run, for `apply`
  bagtag export-model ~/marsh marsh.bagtag --run 3    of an earlier run

The file has everything that is needed to apply the model elsewhere: classes, settings, weights, and their provenance.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.arguments import LARGEST_ID, whole_number
from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError
from miml_core.plurals import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("target", type=Path, help="the file to write, with the extension .bagtag")
    parser.add_argument(
        "--run", type=whole_number(1, LARGEST_ID), dest="run_id", help="number of the run (default: the current one)"
    )


def run(args: argparse.Namespace) -> int:
    from miml_core.archive.bundle import SUFFIX, read_bundle
    from miml_core.archive.exporting import export_model

    if args.target.suffix != SUFFIX:
        raise BagtagError(f"The name of a model bundle ends in {SUFFIX}: give {args.target.stem + SUFFIX!r}.")
    with project_commands.open_project(args) as project:
        export_model(project, args.target, args.run_id)
    bundle = read_bundle(args.target)
    names = [one.name for one in bundle.classes]
    outcome = {"path": str(args.target), "model": bundle.id, "classes": names, "provenance": bundle.provenance}
    many = counted(len(names), "class", "classes")
    print_outcome(args, outcome, f"model {bundle.id} with {many} written to {str(args.target)!r}")
    return 0
