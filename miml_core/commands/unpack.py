"""Examples:

  bagtag unpack marsh.zip ~/marsh                                 make the project in a new folder
  bagtag unpack marsh.zip ~/marsh --media-from /mnt/recordings    find the recordings below a folder

Everything in the file is checked first, and nothing in it is run: jobs that were waiting in the project stay stopped.
Media that were packed are found in the folder media of the project, others below --media-from. Those that are found
nowhere are listed on standard error, and the exit code is 3; the Library page and `check --moved-to` find them later.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE.zip", help="a packed project")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the folder of the new project; it must not exist")
    parser.add_argument("--media-from", type=Path, metavar="DIR", help="folder with the media that were not packed")
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")


def run(args: argparse.Namespace) -> int:
    from miml_core.project.packing.unpack import unpack

    with project_commands.progress_bar(args, "unpacking") as progress:
        done = unpack(args.file, args.folder, media_from=args.media_from, progress=progress)
    made = done.manifest
    found = f"{done.n_media} media files in it"
    if done.relinked:
        found += f", {len(done.relinked)} found in {args.media_from}"
    outcome = {
        "project": str(done.folder),
        "name": made.name,
        "kind": made.kind,
        "packed_at": made.packed_at,
        "counts": made.counts,
        "media": done.n_media,
        "relinked": len(done.relinked),
        "missing": done.missing,
    }
    print_outcome(args, outcome, f"unpacked {made.name!r} to {done.folder}; {found}, {len(done.missing)} missing")
    if not args.json:
        project_commands.print_failures((path, "the file is missing") for path in done.missing)
    return project_commands.SOME_FAILED if done.missing else 0
