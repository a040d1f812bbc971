"""Examples:

  bagtag new ~/marsh                       a project for recordings
  bagtag new ~/meadow --kind picture       a project for pictures
  bagtag new ~/marsh --classes species.csv
  bagtag new ~/marsh --place=43.61,3.88

The next commands are import, segment, tag, train and export. Media files stay in their place.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from miml_core.commands import arguments, project_commands
from miml_core.commands.output import print_outcome


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("--kind", choices=["sound", "picture"], default="sound")
    parser.add_argument("--name", help="name of the project (default: the name of the folder)")
    parser.add_argument(
        "--classes", type=Path, help="species list: CSV with a column name and, optionally, scientific_name"
    )
    parser.add_argument(
        "--place",
        type=arguments.place,
        metavar="LAT,LON",
        help="where the recordings were made, in degrees, for those without GPS: --place=43.61,3.88",
    )


def run(args: argparse.Namespace) -> int:
    from miml_core.exchange.species_csv import read_species
    from miml_core.project import Project

    if args.classes is not None:
        read_species(args.classes)  # raises an error before the project is created
    with Project.create(
        args.project, kind=args.kind, name=args.name, annotator=project_commands.annotator_name(args)
    ) as project:
        if args.classes is not None:
            project.edits.import_classes(args.classes)
        if args.place is not None:
            project.set_place(args.place)
        outcome: dict[str, Any] = {"project": str(project.folder), "name": project.name, "kind": project.kind}
        outcome["classes"] = [one.name for one in project.classes.list()]
        outcome["place"] = None if project.place is None else asdict(project.place)
        print_outcome(args, outcome, f"created the {args.kind} project {project.folder}")
    return 0
