"""Lists of bags: searched, filtered, sorted, one page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, bindparam, cast, exists, func, or_, select

from miml_core.errors import BagtagError
from miml_core.project.db import revisions, settings
from miml_core.project.db.schema import bags, classes, media, predictions, tags
from miml_core.project.errors import Gone
from miml_core.project.media import state as media_state
from miml_core.project.queries.conflicts import has_conflict
from miml_core.project.records import Bag, BagPage, ProjectCounts

_SORTS: dict[str, ColumnElement[Any]] = {
    "added": bags.c.id,
    "name": func.lower(bags.c.name),
    "time": bags.c.recorded_at,
    "duration": bags.c.end - bags.c.start,
    "progress": 2.0 * cast(bags.c.finished, Integer)
    + cast(bags.c.n_tags > 0, Integer)
    + bags.c.n_reviewed / (bags.c.n_segments + 1.0),
    "changed": bags.c.revision,
    "doubt": func.coalesce(bags.c.doubt, -1.0),
}
_TAGS_OF_BAG = select(tags.c.class_id, tags.c.value).where(tags.c.bag_id == bindparam("bag"))


def list_bags(
    connection: Connection,
    folder: Path,
    *,
    search: str,
    show: str,
    class_id: int | None,
    sort: str,
    descending: bool,
    offset: int,
    limit: int,
) -> BagPage:
    """Return one page, and the number of bags on all pages."""
    chosen = _chosen(connection, select(bags.c.id), search, show, class_id)
    total = connection.execute(select(func.count()).select_from(chosen.subquery())).scalar()
    ordered = _sorted(chosen, sort, descending).offset(max(0, offset)).limit(max(0, limit))
    shown = list(connection.execute(ordered).scalars())
    return BagPage(_bags(connection, folder, shown), int(total or 0), revisions.current(connection))


def list_ids(
    connection: Connection, *, search: str, show: str, class_id: int | None, sort: str, descending: bool
) -> list[int]:
    """Return the ids of the bags that match, in the chosen order."""
    chosen = _chosen(connection, select(bags.c.id), search, show, class_id)
    return list(connection.execute(_sorted(chosen, sort, descending)).scalars())


def get_bag(connection: Connection, folder: Path, bag_id: int) -> Bag:
    """Return one bag; raises `Gone` if there is none."""
    found = _bags(connection, folder, [bag_id], quick=False)
    if not found:
        raise Gone(f"Bag {bag_id!r} is not in the project; it may have been removed. Choose another one.")
    return found[0]


def progress(connection: Connection) -> ProjectCounts:
    """Return the counts of the whole project."""
    totals = connection.execute(
        select(
            func.count(),
            func.total((bags.c.n_tags > 0) | bags.c.finished),
            func.total(bags.c.finished),
            func.total(bags.c.segment_key == settings.segment_key(connection)),
            func.total(bags.c.error.is_not(None)),
            func.total(bags.c.n_segments),
            func.total(bags.c.n_reviewed),
        )
    ).one()
    state = media_state.STORED_STATE
    n_media, n_missing, n_changed = connection.execute(
        select(
            func.count(), func.total(state == media_state.MISSING), func.total(state == media_state.CHANGED)
        ).select_from(media)
    ).one()
    n_predicted = connection.execute(select(func.count()).select_from(predictions)).scalar()
    return ProjectCounts(*(int(number or 0) for number in (n_media, n_missing, *totals, n_predicted, n_changed)))


def _chosen(connection: Connection, query: Select[Any], search: str, show: str, class_id: int | None) -> Select[Any]:
    for word in search.split():
        pattern = "%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        named = or_(*(column.ilike(pattern, escape="\\") for column in (classes.c.name, classes.c.scientific_name)))
        of_class = tags.c.class_id.in_(select(classes.c.id).where(named))
        tagged = exists().where(tags.c.bag_id == bags.c.id, tags.c.value > 0, of_class)
        written = (column.ilike(pattern, escape="\\") for column in (bags.c.name, bags.c.note))
        query = query.where(or_(*written, tagged))
    if class_id is not None:
        has_class = exists().where(tags.c.bag_id == bags.c.id, tags.c.class_id == class_id, tags.c.value > 0)
        query = query.where(has_class)
    condition = _condition(connection, show)
    return query if condition is None else query.where(condition)


def _condition(connection: Connection, show: str) -> ColumnElement[bool] | None:
    key = settings.segment_key(connection)
    conditions: dict[str, ColumnElement[bool] | None] = {
        "all": None,
        "untagged": (bags.c.n_tags == 0) & ~bags.c.finished,
        "unfinished": ~bags.c.finished,
        "finished": bags.c.finished.is_(True),
        "unreviewed": bags.c.finished & (bags.c.n_reviewed < bags.c.n_segments),
        "unsegmented": or_(bags.c.segment_key.is_(None), bags.c.segment_key != key),
        "error": bags.c.error.is_not(None),
        "missing": bags.c.media_id.in_(select(media.c.id).where(media_state.STORED_STATE == media_state.MISSING)),
        "changed file": bags.c.media_id.in_(select(media.c.id).where(media_state.STORED_STATE == media_state.CHANGED)),
        "conflicts": has_conflict(),
        "tag conflicts": has_conflict(of_tags=True),
        "empty": (bags.c.segment_key == key) & (bags.c.n_segments == 0),
    }
    if show not in conditions:
        raise BagtagError(f"Bags can be shown as {', '.join(conditions)}, not {show!r}.")
    return conditions[show]


def _sorted(query: Select[Any], sort: str, descending: bool) -> Select[Any]:
    if sort not in _SORTS:
        raise BagtagError(f"Bags can be sorted by {', '.join(_SORTS)}, not {sort!r}.")
    column = _SORTS[sort]
    return query.order_by(column.desc() if descending else column, bags.c.id.desc() if descending else bags.c.id)


def _bags(connection: Connection, folder: Path, bag_ids: Sequence[int], *, quick: bool = True) -> list[Bag]:
    key = settings.segment_key(connection)
    of_file = (media.c.path, media.c.size, media.c.fingerprint, media_state.STORED)
    with_file = select(bags, *of_file).join(media, media.c.id == bags.c.media_id)
    rows = connection.execute(with_file.where(bags.c.id.in_(bag_ids)))
    tagged: dict[int, dict[int, int]] = {}
    for row in connection.execute(select(tags).where(tags.c.bag_id.in_(bag_ids))):
        tagged.setdefault(row.bag_id, {})[row.class_id] = row.value
    made = {}
    for row in rows:
        state = media_state.check_file(folder, row, quick=quick).state
        made[row.id] = _bag(row, state, tagged.get(row.id, {}), key)
    return [made[bag_id] for bag_id in bag_ids if bag_id in made]


def _bag(row: Row[Any], state: media_state.FileState, tagged: dict[int, int], key: str) -> Bag:
    mark = row.fingerprint[:16] + ("-changed" if state == "changed" else "")  # no thumbnail of the old file
    return Bag(
        id=row.id,
        name=row.name,
        media_id=row.media_id,
        path=row.path,
        start=row.start,
        end=row.end,
        recorded_at=row.recorded_at,
        missing=state == "missing",
        tags=tagged,
        finished=bool(row.finished),
        rest_unknown=bool(row.rest_unknown),
        n_segments=row.n_segments,
        n_reviewed=row.n_reviewed,
        segmented=row.segment_key == key,
        error=row.error,
        revision=row.revision,
        thumbnail_key=f"{mark}-{row.start:.3f}-{row.end:.3f}",
        doubt=row.doubt,
        note=row.note,
        changed=state == "changed",
        not_allowed=state == "not allowed",
    )


def tags_of_bag(connection: Connection, bag_id: int) -> dict[int, int]:
    """Return {class id: +1 or -1}, as people tagged the bag."""
    rows = connection.execute(_TAGS_OF_BAG, {"bag": bag_id})
    return {row.class_id: row.value for row in rows}
