"""Colours for classes that people with any kind of colour vision can distinguish.

The first eight are after Okabe and Ito (2008), without black; the next ones repeat these hues lighter and darker, so
that more classes than hues still differ in lightness.
"""

from __future__ import annotations

from collections.abc import Collection

_HUES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#7F5FB5")
_LIGHTER, _DARKER = 0.45, 0.4


def next_colour(used: Collection[str]) -> str:
    """Return the first unused colour, or the least used one if all are in use."""
    known = [*_HUES, *(_mix(c, 255, _LIGHTER) for c in _HUES), *(_mix(c, 0, _DARKER) for c in _HUES)]
    taken = [colour.upper() for colour in used]
    return min(known, key=lambda colour: (taken.count(colour), known.index(colour)))


def is_colour(text: str) -> bool:
    """Return whether a text is a colour, #RRGGBB."""
    return len(text) == 7 and text[0] == "#" and all(c in "0123456789abcdefABCDEF" for c in text[1:])


def _mix(colour: str, towards: int, share: float) -> str:
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(part + (towards - part) * share):02X}" for part in parts)
