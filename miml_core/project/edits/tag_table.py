"""Tags from a table of files: find the bag of each line, and tag it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from miml_core.errors import BagtagError
from miml_core.exchange.tags_csv import TagRow, read_tags
from miml_core.project.db.schema import bags, media
from miml_core.project.db.store import Store
from miml_core.project.edits.apply import perform
from miml_core.project.edits.classes import AddClasses
from miml_core.project.edits.tags import SetTags
from miml_core.project.errors import Busy
from miml_core.project.media.access import real_path
from miml_core.project.queries import classes
from miml_core.project.records import TagImport

_SAME_SECONDS = 0.01


def import_tags(store: Store, path: Path, annotator: str) -> TagImport:
    """Tag the bags that the table names: one edit per bag, of all its lines."""
    by_file = _bags_by_file(store)
    left_out: list[str] = []
    by_bag: dict[int, TagRow] = {}
    for line in read_tags(path):
        try:
            bag = _find(line, by_file, path.absolute().parent)
            by_bag[bag.id] = _together(by_bag[bag.id], line) if bag.id in by_bag else line
        except BagtagError as error:
            left_out.append(f"{line.where}: {error}")
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
            left_out.append(f"{line.where}: {error}")
    return TagImport(n_tagged, len(added), left_out)


def _together(first: TagRow, second: TagRow) -> TagRow:
    """Join two lines of the same bag; tables with one line per tag are common."""
    present = tuple(dict.fromkeys(first.present + second.present))
    absent = tuple(dict.fromkeys(first.absent + second.absent))
    both = set(present) & set(absent)
    if both:
        raise BagtagError(f"{min(both)!r} is present by one line of the table and absent by another.")
    return replace(first, present=present, absent=absent, finished=first.finished or second.finished)


def _bags_by_file(store: Store) -> dict[str, list[Row[Any]]]:
    """Return bags by every name a table may use for their file: stored path, full path, bare name."""
    found: dict[str, list[Row[Any]]] = defaultdict(list)
    with store.read() as connection:
        rows = connection.execute(select(bags, media.c.path).join(media, media.c.id == bags.c.media_id)).all()
    for row in rows:
        for name in {row.path, str(real_path(store.folder, row.path)), Path(row.path).name}:
            found[name].append(row)
    return found


def _find(line: TagRow, by_file: dict[str, list[Row[Any]]], beside: Path) -> Row[Any]:
    """Return the one bag of a line."""
    written = line.file.replace("\\", "/")
    names = (line.file, written, str(real_path(beside, written)), Path(written).name)
    candidates = next((by_file[name] for name in names if by_file.get(name)), [])
    if not candidates:
        raise BagtagError(f"{line.file!r} is not in the project.")
    if len({bag.media_id for bag in candidates}) > 1:
        raise BagtagError(f"there are several files called {line.file!r}; write their paths.")
    if line.start_s is not None:
        candidates = [bag for bag in candidates if abs(bag.start - line.start_s) < _SAME_SECONDS]
    if not candidates:
        raise BagtagError(f"no bag of {line.file!r} starts at {line.start_s:g} s.")
    if len(candidates) > 1:
        raise BagtagError(f"{line.file!r} is cut into {len(candidates)} bags; give the start of one in seconds.")
    return candidates[0]
