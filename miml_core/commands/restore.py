"""Examples:

  bagtag restore ~/marsh --list                         list the backups, the newest first
  bagtag restore ~/marsh                                restore the newest backup
  bagtag restore ~/marsh daily-2024-05-01.db            restore this backup
  bagtag restore ~/marsh /mnt/usb/marsh.db

The present database is first saved to the folder backups, so that a restore can be undone. Close Bagtag before.
"""

from __future__ import annotations

import argparse
from typing import Any

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError
from miml_core.plurals import counted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("backup", nargs="?", help="name of a backup in the folder backups, or a file (default: newest)")
    parser.add_argument("--list", action="store_true", help="only list the backups")


def run(args: argparse.Namespace) -> int:
    from miml_core.project.db import restoring

    if args.list:
        return _list(args)
    done = restoring.restore(args.project, args.backup)
    outcome = {"restored": str(done.backup), "kept": None if done.kept is None else str(done.kept)}
    kept = "" if done.kept is None else f"; the previous database is saved as {done.kept}"
    print_outcome(args, outcome, f"restored {done.backup}{kept}")
    return 0


def _list(args: argparse.Namespace) -> int:
    from miml_core.project.db import backups, restoring

    if not args.project.is_dir():
        raise BagtagError(f"There is no folder {str(args.project)!r}; give the folder of a project.")
    found: list[dict[str, Any]] = []
    lines = []
    for backup in backups.in_folder(args.project.absolute()):
        entry = {"name": backup.path.name, "made_at": backup.made_at.isoformat(" ", "minutes"), "bytes": backup.size}
        try:
            within = restoring.contents(backup.path)
            entry |= {"bags": within.bags, "tags": within.tags, "edits": within.edits}
            summary = ", ".join(counted(getattr(within, f"{noun}s"), noun) for noun in ("bag", "tag", "edit"))
        except BagtagError as error:
            entry |= {"problem": str(error)}
            summary = "damaged"
        found.append(entry)
        lines.append(f"{entry['made_at']}  {backup.size / 2**20:8.1f} MB  {entry['name']}: {summary}")
    print_outcome(args, {"backups": found}, "\n".join(lines) or "there are no backups")
    return 0
