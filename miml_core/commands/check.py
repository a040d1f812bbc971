"""Examples:

  bagtag check ~/marsh
  bagtag check ~/marsh --repair      repair what can be repaired, after a backup; labels and tags are kept
  bagtag check ~/marsh --moved-to ~/archive     look for missing files in this folder and below
  bagtag check ~/marsh --allow /data/2024       allow reading media below this folder on this computer
  bagtag check ~/marsh --accept-changed         use files that have changed since they were added

The exit code is 0 if there is no problem, or none is left; otherwise 1.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome
from miml_core.project.media.changes import Accepted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("--repair", action="store_true", help="repair what can be repaired")
    parser.add_argument("--moved-to", type=Path, metavar="FOLDER", help="folder in which the media are now")
    parser.add_argument(
        "--allow", type=Path, metavar="FOLDER", action="append", default=[], help="a folder whose media may be read"
    )
    parser.add_argument("--accept-changed", action="store_true", help="accept media files that have changed")


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        for folder in args.allow:
            project.media.allow_folder(folder)
        found = [] if args.moved_to is None else project.media.relink(args.moved_to)
        accepted = project.media.accept_changed() if args.accept_changed else Accepted()
        problems = project.check(repair=args.repair)
    lines = [f"Found again: {path}" for path in found]
    lines += [f"Accepted the changed file: {path}" for path in accepted.paths] + accepted.notes
    lines += [f"{problem.sentence}{' Repaired.' if problem.repaired else ''}" for problem in problems]
    outcome = {"found_again": found, "problems": [asdict(problem) for problem in problems]}
    if args.accept_changed:
        outcome |= {"accepted": accepted.paths, "notes": accepted.notes}
    print_outcome(args, outcome, "\n".join(lines) or "no problems found")
    return 0 if all(problem.repaired for problem in problems) else 1
