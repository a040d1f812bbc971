"""Tags from a table of files: which line means which bag."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from sqlalchemy import Row, select

from miml_core.errors import BagtagError
from miml_core.exchange.tags_csv import TagRow, read_tags
from miml_core.project import acts, classes
from miml_core.project.media import real_path
from miml_core.project.rows import TagImport
from miml_core.project.schema import bags, media
from miml_core.project.store import Store

_SAME_SECONDS = 0.01


def import_tags(store: Store, path: Path, annotator: str) -> TagImport:
    """Tag the bags that the table names, one act a line."""
    lines = read_tags(path)
    by_file = _bags_by_file(store)
    n_new = _add_classes(store, lines, annotator)
    with store.read() as connection:
        class_ids = {name: found.id for name in _names(lines) if (found := classes.find(connection, name))}
    left_out, tagged = [], set()
    for line in lines:
        try:
            bag = _find(line, by_file, store.folder, path.absolute().parent)
            said = [[class_ids[name], 1] for name in line.present] + [[class_ids[name], -1] for name in line.absent]
            acts.perform(store, "set_tags", {"bag": bag.id, "tags": said, "finish": line.finished}, annotator)
            tagged.add(bag.id)
        except BagtagError as error:
            left_out.append(f"{line.where}: {error}")
    return TagImport(len(tagged), n_new, left_out)


def _names(lines: list[TagRow]) -> list[str]:
    return list(dict.fromkeys(name for line in lines for name in (*line.present, *line.absent)))


def _add_classes(store: Store, lines: list[TagRow], annotator: str) -> int:
    named = [{"name": name} for name in _names(lines)]
    return len(acts.perform(store, "add_classes", {"classes": named}, annotator).created)


def _bags_by_file(store: Store) -> dict[str, list[Row[Any]]]:
    """Bags under every name a table may use for their file: stored path, full path, bare name."""
    found: dict[str, list[Row[Any]]] = defaultdict(list)
    with store.read() as connection:
        rows = connection.execute(select(bags, media.c.path).join(media, media.c.id == bags.c.media_id)).all()
    for row in rows:
        for name in {row.path, str(real_path(store.folder, row.path)), Path(row.path).name}:
            found[name].append(row)
    return found


def _find(line: TagRow, by_file: dict[str, list[Row[Any]]], folder: Path, beside: Path) -> Row[Any]:
    """The one bag a line means."""
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
        raise BagtagError(f"{line.file!r} is cut into {len(candidates)} bags; say which by its start in seconds.")
    return candidates[0]
