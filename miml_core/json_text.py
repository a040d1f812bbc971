"""Write JSON that every program can read: no NaN, no Infinity, no NumPy types."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any


def to_json(value: Any, *, indent: int | None = None, ascii_only: bool = False, compact: bool = False) -> str:
    """Return a value as JSON text; numbers that are not finite become null, arrays lists, paths strings.

    >>> to_json({"accuracy": float("nan"), "bags": 3})
    '{"accuracy": null, "bags": 3}'
    """
    options: dict[str, Any] = {"indent": indent, "ensure_ascii": ascii_only, "allow_nan": False}
    if compact:
        options["separators"] = (",", ":")
    try:
        return json.dumps(value, **options)
    except (TypeError, ValueError):  # rare: converting all values takes ten times as long
        return json.dumps(_plain(value), default=str, **options)


def iso_time(seconds: float) -> str:
    """Return a time, in seconds since 1970, as ISO 8601 in UTC.

    >>> iso_time(1714537800)
    '2024-05-01T04:30:00+00:00'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str | int) else str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, PurePath) else value
