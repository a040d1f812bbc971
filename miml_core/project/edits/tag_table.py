"""Tags from a table of files: find the bag of each line, and tag it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select

from miml_core.errors import BagtagError
from miml_core.exchange.problems import LineProblem, summarise
from miml_core.exchange.tags_csv import TagRow, read_tags
from miml_core.project.db.schema import bags
from miml_core.project.db.store import Store
from miml_core.project.edits.apply import perform
from miml_core.project.edits.classes import AddClasses
from miml_core.project.edits.tags import SetTags
from miml_core.project.errors import Busy
from miml_core.project.queries import classes
from miml_core.project.queries.file_names import FileFinder
from miml_core.project.records import TagImport

_SAME_SECONDS = 0.01


def import_tags(store: Store, path: Path, annotator: str) -> TagImport:
    """Tag the bags that the table names: one edit per bag, of all its lines."""
    left_out: list[LineProblem] = []
    by_bag: dict[int, TagRow] = {}
    lines = read_tags(path)
    with store.read() as connection:
        finder = FileFinder(connection, store.folder, beside=path.absolute().parent)
        by_medium = _bags_by_medium(connection)
    for line in lines:
        try:
            bag = _find(line, finder, by_medium)
            by_bag[bag.id] = _join_lines(by_bag[bag.id], line) if bag.id in by_bag else line
        except _LeftOut as error:
            left_out.append(error.problem)
    names = list(dict.fromkeys(name for line in by_bag.values() for name in (*line.present, *line.absent)))
    added = perform(store, AddClasses([{"name": name} for name in names]), annotator).created
    with store.read() as connection:
        class_ids = classes.ids_by_name(connection, names)
    n_tagged = 0
    for bag_id, line in by_bag.items():
        values = [(class_ids[name], 1) for name in line.present] + [(class_ids[name], -1) for name in line.absent]
        try:
            perform(store, SetTags(bag_id, values, finish=line.finished), annotator)
            n_tagged += 1
        except Busy:
            raise
        except BagtagError as error:
            left_out.append(LineProblem(line.where, str(error).rstrip(".")))
    return TagImport(n_tagged, len(added), summarise(left_out), len(left_out))


class _LeftOut(BagtagError):
    """A line that names no bag, or contradicts another."""

    def __init__(self, line: TagRow, reason: str, subject: str) -> None:
        self.problem = LineProblem(line.where, reason, subject)
        super().__init__(str(self.problem))


def _join_lines(first: TagRow, second: TagRow) -> TagRow:
    """Join two lines of the same bag; tables with one line per tag are common."""
    present = tuple(dict.fromkeys(first.present + second.present))
    absent = tuple(dict.fromkeys(first.absent + second.absent))
    both = set(present) & set(absent)
    if both:
        raise _LeftOut(second, "Present by one line of the bag and absent by another", repr(min(both)))
    return replace(first, present=present, absent=absent, finished=first.finished or second.finished)


def _bags_by_medium(connection: Connection) -> dict[int, list[Row[Any]]]:
    found: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(select(bags)).all():
        found[row.media_id].append(row)
    return found


def _find(line: TagRow, finder: FileFinder, by_medium: dict[int, list[Row[Any]]]) -> Row[Any]:
    """Return the one bag of a line."""
    medium, reason = finder.find(line.file)
    if medium is None:
        raise _LeftOut(line, reason, repr(line.file))
    candidates = by_medium[medium]
    if line.start_s is not None:
        candidates = [bag for bag in candidates if abs(bag.start - line.start_s) < _SAME_SECONDS]
    if not candidates:
        raise _LeftOut(line, "No bag of the file starts at this time", f"{line.file!r} at {line.start_s:g} s")
    if len(candidates) > 1:
        raise _LeftOut(line, "The file is cut into several bags; give the start of one in seconds", repr(line.file))
    return candidates[0]
