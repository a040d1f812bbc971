"""Tags of bags: present, absent, not known, and "this is all there is"."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, bindparam, select

from miml_core.errors import BagtagError
from miml_core.project import bags, classes
from miml_core.project.changes import Changes
from miml_core.project.errors import NeedsConfirmation
from miml_core.project.schema import bags as bags_table
from miml_core.project.schema import segments, verdicts
from miml_core.project.schema import tags as tags_table

_OF_BAG = select(tags_table.c.class_id, tags_table.c.value).where(tags_table.c.bag_id == bindparam("bag"))
_WORDS = {1: "tagged {}", -1: "tagged as without {}", 0: "no longer tagged {}"}


def of_bag(connection: Connection, bag_id: int) -> dict[int, int]:
    """Class id -> +1 or -1, as people said it."""
    rows = connection.execute(_OF_BAG, {"bag": bag_id})
    return {row.class_id: row.value for row in rows}


def tag(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, class, value, confirm}"""
    bag = bags.row(changes.connection, act["bag"])
    name = classes.row(changes.connection, act["class"]).name
    value = _value(act.get("value", 1))
    _set(changes, bag, {int(act["class"]): value}, confirm=bool(act.get("confirm")))
    return f"{bag.name}: {_WORDS[value].format(name)}", bag.id


def set_tags(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, tags: [[class, value], ...], confirm, finish}: all tags of a bag at once, finished too if asked."""
    bag = bags.row(changes.connection, act["bag"])
    wanted = {int(class_id): _value(value) for class_id, value in act["tags"]}
    names = [classes.row(changes.connection, class_id).name for class_id, value in wanted.items() if value > 0]
    cleared = dict.fromkeys(set(of_bag(changes.connection, bag.id)) - set(wanted), 0)
    _set(changes, bag, {**cleared, **wanted}, confirm=bool(act.get("confirm")))
    if act.get("finish"):
        changes.update(bags_table, bag.id, finished=True, rest_unknown=False)
    return f"{bag.name}: tagged {', '.join(names) or 'nothing'}{', finished' if act.get('finish') else ''}", bag.id


def finish(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, rest: "absent" or "unknown"}"""
    bag = bags.row(changes.connection, act["bag"])
    rest = act.get("rest", "absent")
    if rest not in ("absent", "unknown"):
        raise BagtagError(f'The rest of the tags can be "absent" or "unknown", not {rest!r}.')
    changes.update(bags_table, bag.id, finished=True, rest_unknown=rest == "unknown")
    return f"{bag.name}: finished" + (", not sure about the rest" if rest == "unknown" else ""), bag.id


def unfinish(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag}"""
    bag = bags.row(changes.connection, act["bag"])
    changes.update(bags_table, bag.id, finished=False, rest_unknown=False)
    return f"{bag.name}: not finished", bag.id


def nothing_here(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag, confirm}: finished, with no tag at all."""
    bag = bags.row(changes.connection, act["bag"])
    cleared = dict.fromkeys(of_bag(changes.connection, bag.id), 0)
    _set(changes, bag, cleared, confirm=bool(act.get("confirm")))
    changes.update(bags_table, bag.id, finished=True, rest_unknown=False)
    return f"{bag.name}: nothing here", bag.id


def add(changes: Changes, bag_id: int, class_id: int) -> bool:
    """Tag a bag with a class that one of its segments was found to be; False when it already is."""
    return changes.put(tags_table, bag_id, class_id, value=1)


def _set(changes: Changes, bag: Row[Any], wanted: dict[int, int], *, confirm: bool) -> None:
    _clear_labels(changes, bag, [class_id for class_id, value in wanted.items() if value <= 0], confirm=confirm)
    for class_id, value in wanted.items():
        if value == 0:
            changes.delete(tags_table, bag.id, class_id)
        else:
            changes.put(tags_table, bag.id, class_id, value=value)


def _clear_labels(changes: Changes, bag: Row[Any], class_ids: list[int], *, confirm: bool) -> None:
    """A tag cannot go while segments carry its label: ask, or take the labels along."""
    if not class_ids:
        return
    carrying = changes.connection.execute(
        select(segments.c.id, verdicts.c.class_id)
        .join(verdicts, verdicts.c.segment_id == segments.c.id)
        .where(segments.c.bag_id == bag.id, segments.c.alive, verdicts.c.class_id.in_(class_ids))
    ).all()
    if carrying and not confirm:
        named = ", ".join(
            sorted({classes.row(changes.connection, class_id).name for _, class_id in carrying})
        )
        many = f"{len(carrying)} segments of {bag.name} are" if len(carrying) > 1 else f"A segment of {bag.name} is"
        raise NeedsConfirmation(f"{many} labelled {named}; removing the tag clears that label too. Confirm to go on.")
    for segment_id, _ in carrying:
        changes.delete(verdicts, segment_id)


def _value(value: Any) -> int:
    if value not in (-1, 0, 1):
        raise BagtagError(f"A tag is 1 (present), -1 (absent) or 0 (not known), not {value!r}.")
    return int(value)
