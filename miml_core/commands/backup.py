"""Examples:

  python -m miml_core backup ~/marsh                        into the project's own folder backups
  python -m miml_core backup ~/marsh /mnt/usb/marsh.db      into a new file

Others may go on working meanwhile. A backup holds tags, labels, segments, history and settings; recordings, pictures
and model files are not in it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import following


def add_arguments(parser: argparse.ArgumentParser) -> None:
    following.add_project_argument(parser)
    parser.add_argument("file", type=Path, nargs="?", help="a new file (default: one in the project's folder backups)")


def run(args: argparse.Namespace) -> int:
    with following.open_project(args) as project:
        path = project.store.backup_before("manual") if args.file is None else project.backup(args.file)
        outcome = {"backup": str(path), "bytes": path.stat().st_size}
    following.say(args, outcome, f"wrote {path}")
    return 0
