"""Types of the fields of edits: what a browser may send, checked before the project sees it.

Whether a segment exists, or a label is valid, is checked when the edit is applied. A value that the editor never sends
is refused before that, so that any other error inside an edit is a bug of Bagtag.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from miml_core.bags import BACKGROUND
from miml_core.project.db.rows import LARGEST_ID

LONGEST_TEXT = 1000
LONGEST_NOTE = 10_000_000
_MOST_ITEMS = 5000
_REFERENCE = r"@[0-9]{1,15}(\.[0-9]{1,3})?"
_FARTHEST = 1e12

Schema = dict[str, Any]


@dataclass(frozen=True)
class FieldType:
    """What one field may hold, as a check and as JSON schema."""

    accepts: Callable[[Any], bool]
    schema: Schema
    refers: bool = False
    """Whether it may name "@7": what edit number 7 of the same screen created."""


def is_number(value: Any) -> bool:
    """Return whether this is a whole number that a browser and the database hold exactly."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_ID


def is_text(value: Any, longest: int = LONGEST_TEXT) -> bool:
    """Return whether this is text that can be stored: no zero bytes, no halves of characters."""
    return (
        isinstance(value, str)
        and len(value) <= longest
        and "\0" not in value
        and not any("\ud800" <= letter <= "\udfff" for letter in value)
    )


def _is_id(value: Any) -> bool:
    return is_number(value) or (isinstance(value, str) and re.fullmatch(_REFERENCE, value) is not None)


def _is_label(value: Any) -> bool:
    return value is None or (value == BACKGROUND and isinstance(value, int)) or _is_id(value)


def _is_list(value: Any, accepts: Callable[[Any], bool], most: float = math.inf) -> bool:
    return isinstance(value, list | tuple) and 0 < len(value) <= most and all(map(accepts, value))


def _is_point(value: Any) -> bool:
    return _is_list(value, _is_coordinate) and len(value) == 2


def _is_coordinate(value: Any) -> bool:
    """Return whether a number is inside the range of any recording or picture; 1e999 in JSON is infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _FARTHEST


def _is_line(value: Any) -> bool:
    return _is_list(value, _is_point)


def _is_tag_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2 and is_number(value[0]) and value[1] in (-1, 0, 1)


def _is_label_pair(value: Any) -> bool:
    if not isinstance(value, list | tuple) or len(value) != 2 or not is_number(value[0]):
        return False
    return is_number(value[1]) or (isinstance(value[1], int) and value[1] == BACKGROUND)


_NUMBER: Schema = {"type": "integer", "minimum": 0, "exclusiveMaximum": LARGEST_ID}
_ID: Schema = {"anyOf": [_NUMBER, {"type": "string", "pattern": f"^{_REFERENCE}$"}]}
_LABEL: Schema = {"anyOf": [{"type": "null"}, {"const": BACKGROUND}, *_ID["anyOf"]]}
_TEXT: Schema = {"type": "string", "maxLength": LONGEST_TEXT, "pattern": "^[^\\u0000\\ud800-\\udfff]*$"}
_POINT: Schema = {
    "type": "array",
    "items": {"type": "number", "exclusiveMinimum": -_FARTHEST, "exclusiveMaximum": _FARTHEST},
    "minItems": 2,
    "maxItems": 2,
}
_LINE: Schema = {"type": "array", "items": _POINT, "minItems": 1}


def _one_of(*values: Any) -> FieldType:
    return FieldType(lambda value: not isinstance(value, bool | float) and value in values, {"enum": list(values)})


BagId = Annotated[int, FieldType(is_number, _NUMBER)]
OptionalBagId = Annotated[
    int | None, FieldType(lambda value: value is None or is_number(value), {"anyOf": [{"type": "null"}, _NUMBER]})
]
OptionalNumber = OptionalBagId
BagIds = Annotated[
    list[int],
    FieldType(lambda value: _is_list(value, is_number), {"type": "array", "items": _NUMBER, "minItems": 1}),
]
ClassId = Annotated[int, FieldType(_is_id, _ID, refers=True)]
ClassIds = Annotated[
    list[int],
    FieldType(lambda value: _is_list(value, is_number), {"type": "array", "items": _NUMBER, "minItems": 1}),
]
SegmentId = Annotated[int, FieldType(_is_id, _ID, refers=True)]
SegmentIds = Annotated[
    list[int],
    FieldType(
        lambda value: _is_list(value, _is_id, _MOST_ITEMS),
        {"type": "array", "items": _ID, "minItems": 1, "maxItems": _MOST_ITEMS},
        refers=True,
    ),
]
LabelPairs = Annotated[
    list[tuple[int, int]],
    FieldType(
        lambda value: isinstance(value, list | tuple) and len(value) <= _MOST_ITEMS and all(map(_is_label_pair, value)),
        {
            "type": "array",
            "maxItems": _MOST_ITEMS,
            "items": {
                "type": "array",
                "prefixItems": [_NUMBER, {"anyOf": [{"const": BACKGROUND}, _NUMBER]}],
                "minItems": 2,
                "maxItems": 2,
            },
        },
    ),
]
"""(segment id, class id or `BACKGROUND`)."""
Probability = Annotated[
    float,
    FieldType(
        lambda value: isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1,
        {"type": "number", "minimum": 0, "maximum": 1},
    ),
]
Label = Annotated[int | None, FieldType(_is_label, _LABEL, refers=True)]
"""A class id, `BACKGROUND` or None."""
OptionalLabel = Annotated[
    int | None,
    FieldType(
        lambda value: value is None or is_number(value) or (isinstance(value, int) and value == BACKGROUND),
        {"anyOf": [{"type": "null"}, {"const": BACKGROUND}, _NUMBER]},
    ),
]
"""The same, which never refers to another edit."""
Flag = Annotated[bool, FieldType(lambda value: isinstance(value, bool), {"type": "boolean"})]
TagValue = Annotated[int, _one_of(1, 0, -1)]
TagPairs = Annotated[
    list[tuple[int, int]],
    FieldType(
        lambda value: isinstance(value, list | tuple) and all(map(_is_tag_pair, value)),
        {
            "type": "array",
            "items": {"type": "array", "prefixItems": [_NUMBER, {"enum": [1, 0, -1]}], "minItems": 2, "maxItems": 2},
        },
    ),
]
Rest = Annotated[str, _one_of("absent", "unknown")]
Text = Annotated[str, FieldType(is_text, _TEXT)]
Note = Annotated[str, FieldType(lambda value: is_text(value, LONGEST_NOTE), {**_TEXT, "maxLength": LONGEST_NOTE})]
OptionalText = Annotated[
    str | None, FieldType(lambda value: value is None or is_text(value), {"anyOf": [{"type": "null"}, _TEXT]})
]
Line = Annotated[list[Any], FieldType(_is_line, _LINE)]
"""Points (x, y) in real units."""
Rings = Annotated[
    list[Any],
    FieldType(lambda value: _is_list(value, _is_line), {"type": "array", "items": _LINE, "minItems": 1}),
]
"""The outline of a segment: closed lines in real units."""
ClassRows = Annotated[
    list[dict[str, str]],
    FieldType(
        lambda value: (
            isinstance(value, list | tuple)
            and all(isinstance(row, dict) and all(is_text(text) for text in row.values()) for row in value)
        ),
        {"type": "array", "items": {"type": "object", "additionalProperties": _TEXT}},
    ),
]
