"""Examples:

  bagtag pack ~/marsh marsh.zip                 tags, labels, segments and runs, without the recordings
  bagtag pack ~/marsh marsh.zip --media         with the recordings or pictures

The project may be open meanwhile. A file that exists is only replaced if Bagtag wrote it for this project and it has
not changed since. Media that are missing are listed on standard error, and the exit code is 3.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("target", type=Path, metavar="FILE.zip", help="the file to write")
    parser.add_argument("--media", action="store_true", help="pack the recordings or pictures too")


def run(args: argparse.Namespace) -> int:
    params = {"path": str(args.target.absolute()), "media": args.media}
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "pack", params)
