"""What an edit of the canvas may contain: types and bounds of every field, checked before the project sees it.

Whether a segment exists, or a label fits, is the project's business; an edit that no canvas could have sent is refused
here, so that an error inside an act is always a fault of Bagtag's own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from miml_core.bags import BACKGROUND
from pages.widgets.routes.auth import LARGEST_ID

_NONCE = re.compile(r"[0-9a-zA-Z-]{8,64}")
_MADE_BEFORE = re.compile(r"@[0-9]{1,15}(\.[0-9]{1,3})?")
_MOST_SEGMENTS = 5000
_LONGEST_ANNOTATOR = 80
_LONGEST_NAME = 1000

Check = Callable[[Any], bool]


def parsed(body: bytes) -> Any:
    """Return what a body of JSON holds; raises ValueError for anything else, NaN and nesting without end included."""
    try:
        return json.loads(body, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def is_edit(edit: Any) -> bool:
    """Is this one edit, complete and of the right types?"""
    return (
        isinstance(edit, dict)
        and isinstance(edit.get("nonce"), str)
        and _NONCE.fullmatch(edit["nonce"]) is not None
        and is_number(edit.get("number"))
        and is_number(edit.get("seen", 0))
        and is_number(edit.get("bag", 0))
        and _is_text(edit.get("annotator"), _LONGEST_ANNOTATOR)
        and isinstance(edit.get("act"), dict)
        and _is_act(edit["act"])
    )


def is_number(value: Any) -> bool:
    """Is this a whole number that a browser and the database hold exactly?"""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_ID


def _is_act(act: dict[str, Any]) -> bool:
    name = act.get("act")
    fields = ACTS.get(name) if isinstance(name, str) else None
    if fields is None or not set(act) <= {"act", *(field.rstrip("?") for field in fields)}:
        return False
    needed = {field for field in fields if not field.endswith("?")}
    return needed <= set(act) and all(
        check(act[field.rstrip("?")]) for field, check in fields.items() if field.rstrip("?") in act
    )


def _is_id(value: Any) -> bool:
    """An id, or "@7": what edit 7 of the same page made."""
    return is_number(value) or (isinstance(value, str) and _MADE_BEFORE.fullmatch(value) is not None)


def _is_label(value: Any) -> bool:
    return value is None or (value == BACKGROUND and isinstance(value, int)) or _is_id(value)


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= _MOST_SEGMENTS and all(map(_is_id, value))


def _is_line(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_point, value))


def _are_rings(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_is_line, value))


def _is_point(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_coordinate, value))


def _is_coordinate(value: Any) -> bool:
    """A number no further out than any recording or picture; 1e999 in JSON is infinite."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e12


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any, longest: int) -> bool:
    """Text that can be stored: no zero bytes, no halves of characters."""
    return (
        isinstance(value, str)
        and len(value) <= longest
        and "\0" not in value
        and not any("\ud800" <= letter <= "\udfff" for letter in value)
    )


def _is_name(value: Any) -> bool:
    return _is_text(value, _LONGEST_NAME)


def _one_of(*values: Any) -> Check:
    return lambda value: not isinstance(value, bool | float) and value in values


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


ACTS: dict[str, dict[str, Check]] = {
    "tag": {"bag": is_number, "class": _is_id, "value": _one_of(1, 0, -1), "confirm?": _is_flag},
    "finish": {"bag": is_number, "rest?": _one_of("absent", "unknown")},
    "unfinish": {"bag": is_number},
    "nothing_here": {"bag": is_number, "confirm?": _is_flag},
    "correct": {"segments": _are_ids, "label": _is_label, "sampled?": _is_flag},
    "accept": {"segments": _are_ids, "sampled?": _is_flag},
    "accept_bag": {"bag": is_number},
    "draw": {"bag": is_number, "rings": _are_rings, "label?": _is_label},
    "redraw": {"segment": _is_id, "rings": _are_rings},
    "merge": {"segments": _are_ids},
    "split": {"segment": _is_id, "line": _is_line},
    "delete": {"segments": _are_ids},
    "undo": {"bag?": is_number},
    "redo": {"bag?": is_number},
    "add_class": {"name": _is_name},
}
"""Act -> field -> what it may hold; "?" marks a field that may be left out."""
