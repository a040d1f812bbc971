"""Examples:

bagtag predict ~/marsh              bags that are new or have changed, with the current run
bagtag predict ~/marsh --run 3      with an earlier run
"""

from __future__ import annotations

import argparse

from miml_core.commands import project_commands
from miml_core.commands.arguments import LARGEST_ID, whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument(
        "--run", type=whole_number(1, LARGEST_ID), dest="run_id", help="number of the run (default: the current one)"
    )


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "predict", {"run": args.run_id})
