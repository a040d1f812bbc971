"""Examples:

  bagtag tag ~/marsh tags.csv --annotator Ann

with a table like one of these (comma, semicolon or tab):

  file,start_s,tags                     file,Wren,Robin,Owl
  dawn.wav,0,Wren; Robin                dawn.wav,1,1,0
  dawn.wav,10,none                      dusk.wav,0,?,1

New classes are added. Lines without a matching bag are listed on standard error, and the exit code is 3.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome
from miml_core.plurals import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("table", type=Path, help="table (CSV) of files and their tags")


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        done = project.edits.import_tags(args.table)
    new = counted(done.n_new_classes, "new class", "new classes")
    print_outcome(args, asdict(done), f"tagged {counted(done.n_bags, 'bag')}, {new}")
    if not args.json:
        for line in done.left_out:
            print(f"bagtag: {line}", file=sys.stderr)
    return project_commands.SOME_FAILED if done.left_out else 0
