"""Examples:

  bagtag backup ~/marsh                        into the project's folder backups
  bagtag backup ~/marsh /mnt/usb/marsh.db      into a new file

Other people can keep working meanwhile. A backup contains tags, labels, segments, history and settings, but no
recordings, pictures or model files.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("file", type=Path, nargs="?", help="a new file (default: one in the project's folder backups)")


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        path = project.store.backup_before("manual") if args.file is None else project.backup(args.file)
        outcome = {"backup": str(path), "bytes": path.stat().st_size}
    print_outcome(args, outcome, f"wrote {path}")
    return 0
