"""Tags that another program gave a segment besides its label, such as whombat's call quality.

They are one text (JSON) in a row and in the project, so that every table can hold them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple


class OtherTag(NamedTuple):
    """A tag of a segment.

    Examples
    --------
    >>> text = pack_tags([OtherTag("call_quality", "truncated"), OtherTag("event", None)])
    >>> text
    '[["call_quality", "truncated"], ["event", null]]'
    >>> unpack_tags(text)[0].value, unpack_tags("no JSON")
    ('truncated', [])
    """

    key: str
    value: str | None
    """None: the label of the segment is the value."""
    score: float | None = None
    """Of a prediction, if it is not certain."""


def pack_tags(tags: Iterable[OtherTag]) -> str:
    """Return tags as text; empty if there are none."""
    packed = [tag[:2] if tag.score is None else tag for tag in tags]
    return json.dumps(packed, ensure_ascii=False) if packed else ""


def unpack_tags(text: str) -> list[OtherTag]:
    """Return the tags of a text, none of anything that is not one of `pack_tags`."""
    try:
        found = json.loads(text) if text else []
        return [tag for each in found if _is_tag(tag := OtherTag(*each))]
    except (ValueError, TypeError, RecursionError):
        return []


def unite_tags(texts: Iterable[str]) -> str:
    """Return the tags of several texts as one, each tag once.

    Examples
    --------
    >>> unite_tags(['[["quality", "A"]]', "", '[["quality", "A"], ["sex", "male"]]'])
    '[["quality", "A"], ["sex", "male"]]'
    """
    found: dict[tuple[str, str | None], OtherTag] = {}
    for text in texts:
        for tag in unpack_tags(text):
            found.setdefault((tag.key, tag.value), tag)
    return pack_tags(found.values())


def _is_tag(tag: OtherTag) -> bool:
    is_score = tag.score is None or isinstance(tag.score, int | float)
    return isinstance(tag.key, str) and bool(tag.key) and isinstance(tag.value, str | None) and is_score
