"""Examples:

  python -m miml_core new ~/marsh                       a project for recordings
  python -m miml_core new ~/meadow --kind picture       a project for pictures
  python -m miml_core new ~/marsh --classes species.csv

Then: import, segment, tag, train, export. Media stay where they are.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from miml_core.commands import following


def add_arguments(parser: argparse.ArgumentParser) -> None:
    following.add_project_argument(parser)
    parser.add_argument("--kind", choices=["sound", "picture"], default="sound")
    parser.add_argument("--name", help="what to call it (default: the folder's name)")
    parser.add_argument("--classes", type=Path, help="a species list: CSV with a column name, maybe scientific_name")


def run(args: argparse.Namespace) -> int:
    from miml_core.exchange.species_csv import read_species
    from miml_core.project import Project

    if args.classes is not None:
        read_species(args.classes)  # what is wrong with the list is told before anything is made
    with Project.create(args.project, kind=args.kind, name=args.name, annotator=following.who(args)) as project:
        if args.classes is not None:
            project.import_classes(args.classes)
        outcome: dict[str, Any] = {"project": str(project.folder), "name": project.name, "kind": project.kind}
        outcome["classes"] = [one.name for one in project.classes()]
        following.say(args, outcome, f"made the {args.kind} project {project.folder}")
    return 0
