"""Edits of classes: adding, changing, merging and removing them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlalchemy import Connection, exists, func, select

from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db.rows import LIVE_CLASS, bag_row, class_row
from miml_core.project.db.schema import bags, tags, verdicts
from miml_core.project.db.schema import classes as table
from miml_core.project.edits import palette
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagId, ClassId, ClassIds, ClassRows, Flag, OptionalText, Text
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.edits.tags import add_tag
from miml_core.project.errors import NeedsConfirmation
from miml_core.project.queries.classes import ids_by_name, name_key

_FIELDS = ("name", "colour", "shortcut", "scientific_name", "note")
_LONGEST_NAME = 200


@dataclass(frozen=True)
class AddClass(Edit):
    """Add a class; without a colour it gets one that colour-blind people can distinguish from the others."""

    name: ClassVar[str] = "add_class"
    changes_predictions: ClassVar[bool] = False
    creates: ClassVar[str] = "classes"
    class_name: Text
    colour: Text = ""
    shortcut: Text = ""
    scientific_name: Text = ""
    note: Text = ""

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        values = _checked(changes.connection, _fields_of(self), None)
        _insert(changes, values)
        return Outcome(f"new class {values['name']}", None)


@dataclass(frozen=True)
class TagByName(Edit):
    """Tag a bag with the class of a name or scientific name, which is added if the project has none."""

    name: ClassVar[str] = "tag_by_name"
    creates: ClassVar[str] = "classes"
    bag: BagId
    class_name: Text
    scientific_name: Text = ""

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        bag = bag_row(changes.connection, self.bag)
        values = dict.fromkeys(_FIELDS, "") | {"name": self.class_name, "scientific_name": self.scientific_name}
        wanted = (_clean_name(self.class_name), self.scientific_name)
        known = ids_by_name(changes.connection, wanted)
        class_id = next((known[name] for name in wanted if name in known), None)
        if class_id is None:
            class_id = _insert(changes, _checked(changes.connection, values, None))
        add_tag(changes, bag.id, class_id)
        name = class_row(changes.connection, class_id).name
        return Outcome(f"{bag.name}: tagged {name}{'' if known else ', a new class'}", bag.id, class_id)


@dataclass(frozen=True)
class AddClasses(Edit):
    """Add those of a list of classes that the project does not have yet."""

    name: ClassVar[str] = "add_classes"
    from_screen: ClassVar[bool] = False
    changes_predictions: ClassVar[bool] = False
    creates: ClassVar[str] = "classes"
    classes: ClassRows

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        added = 0
        for row in self.classes:
            name = _clean_name(row.get("name", ""))
            if not ids_by_name(changes.connection, [name]):
                values = {field: row.get(field) or "" for field in _FIELDS}
                _insert(changes, _checked(changes.connection, values, None))
                added += 1
        return Outcome(f"{counted(added, 'class', 'classes')} from a list", None)


@dataclass(frozen=True)
class ChangeClass(Edit):
    """Change the name, colour, shortcut, scientific name or note of a class; None leaves a field as it is."""

    name: ClassVar[str] = "change_class"
    from_screen: ClassVar[bool] = False
    changes_predictions: ClassVar[bool] = False
    class_id: ClassId
    class_name: OptionalText = None
    colour: OptionalText = None
    shortcut: OptionalText = None
    scientific_name: OptionalText = None
    note: OptionalText = None

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        before = class_row(changes.connection, self.class_id)
        asked = {field: value for field, value in _fields_of(self).items() if value is not None}
        values = _checked(changes.connection, {**{f: getattr(before, f) for f in _FIELDS}, **asked}, before.id)
        changes.update(table, before.id, **values)
        if values["name"] != before.name:
            return Outcome(f"class {before.name} renamed to {values['name']}", None)
        return Outcome(f"class {before.name} changed", None)


@dataclass(frozen=True)
class MergeClasses(Edit):
    """Turn everything tagged or labelled with some classes into another class; the merged classes are removed."""

    name: ClassVar[str] = "merge_classes"
    from_screen: ClassVar[bool] = False
    classes: ClassIds
    into: ClassId

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        target = class_row(changes.connection, self.into)
        merged = [class_row(changes.connection, class_id) for class_id in self.classes if class_id != target.id]
        for each in merged:
            _clear_half_known(changes, each.id, target.id)
            tagged = select(tags.c.bag_id, tags.c.value).where(tags.c.class_id == each.id)
            for bag_id, value in changes.connection.execute(tagged).all():
                _move_tag(changes, bag_id, each.id, target.id, value)
            labelled = select(verdicts.c.segment_id).where(verdicts.c.class_id == each.id)
            for segment_id in list(changes.connection.execute(labelled).scalars()):
                changes.update(verdicts, segment_id, class_id=target.id)
            changes.update(table, each.id, merged_into=target.id)
        return Outcome(f"merged {', '.join(each.name for each in merged)} into {target.name}", None)


@dataclass(frozen=True)
class RemoveClass(Edit):
    """Remove a class and its tags and labels; `confirm` is needed if there are any."""

    name: ClassVar[str] = "remove_class"
    from_screen: ClassVar[bool] = False
    class_id: ClassId
    confirm: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        chosen = class_row(changes.connection, self.class_id)
        tagged = list(changes.connection.execute(select(tags.c.bag_id).where(tags.c.class_id == chosen.id)).scalars())
        labelled = list(
            changes.connection.execute(select(verdicts.c.segment_id).where(verdicts.c.class_id == chosen.id)).scalars()
        )
        if (tagged or labelled) and not self.confirm:
            raise NeedsConfirmation(
                f"{chosen.name} is a tag of {counted(len(tagged), 'bag')} and the label of "
                f"{counted(len(labelled), 'segment')}, which are removed with it. Confirm to continue."
            )
        for segment_id in labelled:
            changes.delete(verdicts, segment_id)
        for bag_id in tagged:
            changes.delete(tags, bag_id, chosen.id)
        changes.update(table, chosen.id, removed=True)
        return Outcome(f"removed class {chosen.name}", None)


def class_ids_for(changes: RowChanges, wanted: dict[str, str]) -> dict[str, int]:
    """Return {name: class id} for names with scientific names; classes that do not exist are added."""
    known = ids_by_name(changes.connection, wanted)
    for name, scientific_name in wanted.items():
        if name not in known:
            values = dict.fromkeys(_FIELDS, "") | {"name": name, "scientific_name": scientific_name}
            known[name] = _insert(changes, _checked(changes.connection, values, None))
    return known


def _fields_of(edit: AddClass | ChangeClass) -> dict[str, Any]:
    return {field: getattr(edit, "class_name" if field == "name" else field) for field in _FIELDS}


def _clear_half_known(changes: RowChanges, old: int, new: int) -> None:
    """Remove tags of `new` as absent from bags where `old` is unknown: the merged class is unknown there."""
    other = tags.alias("other")
    said_of_old = exists().where(other.c.bag_id == tags.c.bag_id, other.c.class_id == old)
    half_known = (
        select(tags.c.bag_id)
        .join(bags, bags.c.id == tags.c.bag_id)
        .where(tags.c.class_id == new, tags.c.value < 0, ~said_of_old, ~bags.c.finished | bags.c.rest_unknown)
    )
    for bag_id in list(changes.connection.execute(half_known).scalars()):
        changes.delete(tags, bag_id, new)


def _move_tag(changes: RowChanges, bag_id: int, old: int, new: int, value: int) -> None:
    """Merge two tags of a bag: present if either is; absent and unknown become unknown."""
    changes.delete(tags, bag_id, old)
    if value > 0:
        changes.put(tags, bag_id, new, value=1)


def _insert(changes: RowChanges, values: dict[str, str]) -> int:
    if not values["colour"]:
        used = changes.connection.execute(select(table.c.colour).where(LIVE_CLASS)).scalars()
        values = {**values, "colour": palette.next_colour(list(used))}
    return changes.insert(table, {**values, "merged_into": None, "removed": False})


def _checked(connection: Connection, values: dict[str, str], own_id: int | None) -> dict[str, str]:
    name = _clean_name(values["name"])
    others = select(table).where(LIVE_CLASS, table.c.id != (own_id or 0))
    twin = connection.execute(others.where(table.c.name_key == name_key(name))).first()
    if twin is not None:
        raise BagtagError(f"There is already a class called {twin.name!r}; choose another name.")
    if values["colour"] and not palette.is_colour(values["colour"]):
        raise BagtagError(f"{values['colour']!r} is not a colour; write it as #RRGGBB.")
    shortcut = values["shortcut"].strip()
    if len(shortcut) > 1:
        raise BagtagError(f"A shortcut is one key, not {shortcut!r}.")
    if shortcut:
        taken = connection.execute(others.where(func.lower(table.c.shortcut) == shortcut.lower())).first()
        if taken is not None:
            raise BagtagError(f"The key {shortcut!r} is already the shortcut of {taken.name!r}; choose another one.")
    return {**values, "name": name, "name_key": name_key(name), "shortcut": shortcut}


def _clean_name(name: Any) -> str:
    cleaned = " ".join(unicodedata.normalize("NFC", str(name)).split())
    if not cleaned:
        raise BagtagError("A class needs a name; type one.")
    if len(cleaned) > _LONGEST_NAME:
        raise BagtagError(f"A name of {len(cleaned)} characters is too long; use at most {_LONGEST_NAME}.")
    return cleaned
