"""Examples:

  python -m miml_core check ~/marsh
  python -m miml_core check ~/marsh --repair      put right what can be, after a backup; what people said is kept
  python -m miml_core check ~/marsh --moved-to ~/archive     look there, and below, for the files that are missing
  python -m miml_core check ~/marsh --allow /data/2024       media below this folder may be read on this computer
  python -m miml_core check ~/marsh --accept-changed         go on with files that are others than were added

The exit code is 0 when nothing is wrong (any more), 1 otherwise.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from miml_core.commands import following
from miml_core.project.media_changes import Accepted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    following.add_project_argument(parser)
    parser.add_argument("--repair", action="store_true", help="put right what can be")
    parser.add_argument("--moved-to", type=Path, metavar="FOLDER", help="where the media are now")
    parser.add_argument(
        "--allow", type=Path, metavar="FOLDER", action="append", default=[], help="a folder whose media may be read"
    )
    parser.add_argument("--accept-changed", action="store_true", help="accept media files that have changed")


def run(args: argparse.Namespace) -> int:
    with following.open_project(args) as project:
        for folder in args.allow:
            project.allow_media_folder(folder)
        found = [] if args.moved_to is None else project.relink(args.moved_to)
        accepted = project.accept_changed() if args.accept_changed else Accepted()
        problems = project.check(repair=args.repair)
    lines = [f"Found again: {path}" for path in found]
    lines += [f"Accepted as it is now: {path}" for path in accepted.paths] + accepted.notes
    lines += [f"{problem.sentence}{' Repaired.' if problem.repaired else ''}" for problem in problems]
    outcome = {"found_again": found, "problems": [asdict(problem) for problem in problems]}
    if args.accept_changed:
        outcome |= {"accepted": accepted.paths, "notes": accepted.notes}
    following.say(args, outcome, "\n".join(lines) or "everything is in order")
    return 0 if all(problem.repaired for problem in problems) else 1
