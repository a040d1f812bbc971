"""Examples:

bagtag suggest ~/marsh                            species that BirdNET or the current run suggests, per bag
bagtag suggest ~/marsh --out suggestions.csv      the same as a table
bagtag suggest ~/marsh --json | jq '.suggestions[] | select(.score > 0.5)'

BirdNET's scores are kept in the project's cache: a command that was stopped continues where it was.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from miml_core.atomic_files import write_file
from miml_core.commands import project_commands
from miml_core.commands.arguments import path
from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError
from miml_core.exchange.cells import neutralise, number_text
from miml_core.exchange.tables import table_bytes
from miml_core.plurals import counted
from miml_core.project import Bag, Project, Suggestion

COLUMNS = ("file", "bag", "start_s", "end_s", "species", "scientific_name", "class", "score", "source")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument(
        "--out", type=path, help="write a CSV table to this file; an existing file is only replaced if it is one"
    )


def run(args: argparse.Namespace) -> int:
    if args.out is not None:
        _check_target(args.out)
    with project_commands.open_project(args) as project:
        rows, problems = _suggest_all(project, args)
        n_bags = len(project.bags.ids())
        if n_bags and len(problems) == n_bags and not rows:
            raise BagtagError(problems[0]["reason"])
        if args.out is not None:
            write_file(args.out, table_bytes(COLUMNS, [_cells(row) for row in rows]))
        outcome = {
            "bags": n_bags,
            "suggestions": rows,
            "failures": problems,
            "out": None if args.out is None else str(args.out),
        }
        print_outcome(args, outcome, _text(rows, n_bags, args.out))
    if not args.json:
        project_commands.print_failures((one["item"], one["reason"]) for one in problems)
    return project_commands.SOME_FAILED if problems else 0


def _check_target(out: Path) -> None:
    """Refuse to replace a file that is not a table of suggestions, before any work is done."""
    if not out.exists():
        return
    heading = ",".join(COLUMNS).encode()
    if out.is_dir():
        raise BagtagError(f"{str(out)!r} is a folder; give the file to write.")
    with out.open("rb") as file:
        start = file.read(len(heading) + 3).removeprefix("\ufeff".encode())
    if not start.startswith(heading):
        raise BagtagError(f"{str(out)!r} already exists and is not a table of suggestions; give another file.")


def _suggest_all(project: Project, args: argparse.Namespace) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    rows: list[dict[str, Any]] = []
    problems: list[dict[str, str]] = []
    ids = project.bags.ids()
    with project_commands.progress_bar(args, "suggest") as progress:
        for number, bag_id in enumerate(ids, start=1):
            bag = project.bags.get(bag_id)
            found = project.suggestions.of_bag(bag_id)
            if found.problem:
                problems.append({"item": bag.name, "reason": found.problem})
            rows += [_row(bag, one) for one in found.items]
            progress(number, len(ids), {"what": bag.name})
    return rows, problems


def _row(bag: Bag, one: Suggestion) -> dict[str, Any]:
    return {
        "file": bag.path,
        "bag": bag.name,
        "start_s": bag.start,
        "end_s": bag.end,
        "species": one.name,
        "scientific_name": one.scientific_name,
        "class": None if one.class_id is None else one.name,
        "score": round(one.probability, 4),
        "source": one.source,
    }


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        number_text(value, 4) if isinstance(value, float) else neutralise(value or "")
        for value in (row[column] for column in COLUMNS)
    ]


def _text(rows: list[dict[str, Any]], n_bags: int, out: Path | None) -> str:
    many = f"{counted(len(rows), 'suggestion')} for {counted(n_bags, 'bag')}"
    if out is not None:
        return f"{many} written to {str(out)!r}"
    lines = []
    for bag in dict.fromkeys(row["bag"] for row in rows):
        lines.append(bag)
        lines += [
            f"  {row['score']:4.2f}  {row['species']}"
            + (f" ({row['scientific_name']})" if row["scientific_name"] not in ("", row["species"]) else "")
            + ("" if row["class"] else ", no class yet")
            + f"  [{row['source']}]"
            for row in rows
            if row["bag"] == bag
        ]
    return "\n".join([*lines, many])
