"""Examples:

  bagtag import ~/marsh ~/recordings                      a folder with its subfolders
  bagtag import ~/marsh dawn.wav --bag-length 10          cut into bags of ten seconds
  bagtag import ~/marsh ~/night --bag-length 5 --overlap 1 --remainder drop

A file that is already in the project is not added again. Files that cannot be read are listed on standard error, the
others are imported, and the exit code is 3. A truncated recording is imported up to its end, with a note.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.arguments import number
from miml_core.project.media.files import check_windows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="files or folders")
    seconds = number(0, 1e7)
    parser.add_argument(
        "--bag-length", type=seconds, metavar="S", help="seconds per bag (default: one bag per recording)"
    )
    parser.add_argument(
        "--overlap", type=seconds, default=0.0, metavar="S", help="overlap of bags in seconds (default: 0)"
    )
    parser.add_argument(
        "--remainder",
        choices=["keep", "drop", "merge"],
        default="keep",
        help="what to do with a shorter rest at the end",
    )
    parser.add_argument("--flat", action="store_true", help="leave out subfolders")


def run(args: argparse.Namespace) -> int:
    params = {
        "paths": [str(path.absolute()) for path in args.paths],
        "bag_length": args.bag_length,
        "overlap": args.overlap,
        "remainder": args.remainder,
        "recursive": not args.flat,
    }
    check_windows(args.bag_length, args.overlap)
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "import", params)
