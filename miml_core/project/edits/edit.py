"""`Edit`: one change that a person makes to a project, as a typed value.

Each edit is a frozen dataclass. Its fields are what the browser sends (`from_json`), its JSON schema follows from them
(`json_schema`), and `apply` changes rows through `RowChanges`, so that every edit can be undone in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, get_args, get_type_hints

from miml_core.project.edits.fields import FieldType, Schema
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.errors import BadEdit

_PYTHON_NAMES = {"class": "class_id", "name": "class_name"}
"""Names in JSON that Python, or `Edit`, uses for something else."""
_JSON_NAMES = {python: name for name, python in _PYTHON_NAMES.items()}


class Outcome(NamedTuple):
    """What an edit did, for the history."""

    sentence: str
    bag_id: int | None
    """The one bag that it concerns."""
    meant: int | None = None
    """What a later edit of the same screen means by this one's number, if that may have existed before."""


@dataclass(frozen=True)
class Edit:
    """One edit of a person."""

    name: ClassVar[str]
    from_screen: ClassVar[bool] = True
    """Whether the editor in the browser may send it."""
    changes_predictions: ClassVar[bool] = True
    """Whether predictions of the bags it changes depend on it; `bags_to_predict` may be more precise."""
    creates: ClassVar[str] = "segments"
    """The table whose new rows `EditResult.created` lists."""

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        """Change the rows, and return what was done."""
        raise NotImplementedError

    @classmethod
    def bags_to_predict(cls, changes: RowChanges) -> list[int]:
        """Return the bags whose predictions depend on the changes of such an edit, or of undoing or redoing it."""
        return changes.bags() if cls.changes_predictions else []

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the edit with these fields; raises `BadEdit` for a field that is missing, unknown or of another type.

        >>> from miml_core.project.edits.tags import Tag
        >>> Tag.from_json({"bag": 3, "class": 1, "value": -1})
        Tag(bag=3, class_id=1, value=-1, confirm=False)
        """
        given = {_PYTHON_NAMES.get(name, name): value for name, value in values.items()}
        unknown = sorted(set(given) - set(_field_types(cls)))
        missing = [field.name for field in fields(cls) if field.default is MISSING and field.name not in given]
        for what, names in (("has no field", unknown), ("needs", missing)):
            if names:
                raise BadEdit(f"The edit {cls.name!r} {what} {_JSON_NAMES.get(names[0], names[0])!r}.")
        edit = cls(**given)
        edit.check()
        return edit

    def check(self) -> None:
        """Raise `BadEdit` for a field of another type or out of range."""
        for name, kind in _field_types(type(self)).items():
            value = getattr(self, name)
            if not kind.accepts(value):
                named, shown = _JSON_NAMES.get(name, name), repr(value)[:60]
                raise BadEdit(f"The edit {self.name!r} cannot have {shown} as its {named}.")

    @classmethod
    def json_schema(cls) -> Schema:
        """Return the JSON schema of what `from_json` takes, without the name of the edit."""
        types = _field_types(cls)
        needed = [field.name for field in fields(cls) if field.default is MISSING]
        return {
            "type": "object",
            "properties": {_JSON_NAMES.get(name, name): kind.schema for name, kind in types.items()},
            "required": [_JSON_NAMES.get(name, name) for name in needed],
            "additionalProperties": False,
        }

    def resolve(self, find: Callable[[str], int]) -> Self:
        """Return the edit with references such as "@7.1" replaced by the ids that `find` returns for them."""
        found: dict[str, Any] = {}
        for name, kind in _field_types(type(self)).items():
            value = getattr(self, name)
            if kind.refers and isinstance(value, list | tuple):
                found[name] = [find(each) if isinstance(each, str) else each for each in value]
            elif kind.refers and isinstance(value, str):
                found[name] = find(value)
        return replace(self, **found) if found else self


def find_edit(name: str) -> type[Edit]:
    """Return the edit of a name; `Edit` itself for one of another version of Bagtag."""
    return next((kind for kind in Edit.__subclasses__() if kind.name == name), Edit)


_known_types: dict[type[Edit], dict[str, FieldType]] = {}


def _field_types(cls: type[Edit]) -> dict[str, FieldType]:
    """Return {field: type}; cached, because computing them takes longer than an edit."""
    if cls not in _known_types:
        hints = get_type_hints(cls, include_extras=True)
        _known_types[cls] = {field.name: _field_type(hints[field.name]) for field in fields(cls)}
    return _known_types[cls]


def _field_type(hint: Any) -> FieldType:
    kinds = [part for part in get_args(hint) if isinstance(part, FieldType)]
    if not kinds:
        raise TypeError(f"{hint} is not a type of `edits/fields.py`")
    return kinds[0]
