"""How numbers, times and names are written on the pages."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import Any

from miml_core import BACKGROUND

_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~<>:$&^=])")
_REPLACED_BY_STREAMLIT = re.compile(r":(?=[\w+/-]+:)|(?<= )(?=(?:<-|->|<->|--|>=|<=|~=) )")
_WORD_JOINER = "\u2060"
THIN_SPACE = "\u202f"
"""Between groups of three digits, and before a percent sign; no line breaks there."""

JOB_TITLES = {
    "import": "Adding files",
    "segment": "Detecting segments",
    "learn-segmenter": "Learning from your edits",
    "features": "Computing features",
    "train": "Training",
    "predict": "Predicting",
    "map": "Computing the map",
    "apply": "Applying the model to an archive",
    "sample": "Drawing a sample",
    "export": "Exporting",
    "pack": "Packing the project",
}


def plain(text: str) -> str:
    """Return a person's text (a name, a path, a note) as Markdown that shows exactly that text.

    Emoji short names and arrows are replaced by Streamlit after Markdown's escapes are gone, so an invisible word
    joiner keeps them apart; right-to-left text is isolated from the sentence around it.
    """
    text = " ".join(text.encode(errors="replace").decode().split())  # file names need not be valid text
    text = _REPLACED_BY_STREAMLIT.sub(lambda found: found.group() + _WORD_JOINER, text)
    return _isolated(_MARKDOWN.sub(r"\\\1", text))


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(letter) in ("R", "AL", "AN") for letter in text):
        return f"\u2068{text}\u2069"
    return text


def count(n: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 segment`, `12 000 segments` or `no segments`."""
    if n == 1:
        return f"1 {noun}"
    return f"{thousands(n) if n else 'no'} {nouns or noun + 's'}"


def sentence_case(text: str) -> str:
    """Return the text with a capital first letter; the rest, which may contain names, stays as it is."""
    return text[:1].upper() + text[1:]


def shorten(name: str, longest: int) -> str:
    """Return a name of at most so many characters; a short last word stays, as `Great Spott… call` differs by it.

    Examples
    --------
    >>> shorten("Great Spotted Woodpecker call", 18), shorten("Great Spotted Woodpecker", 18), shorten("Wren song", 18)
    ('Great Spotte… call', 'Great Spotted Woo…', 'Wren song')
    """
    if len(name) <= longest:
        return name
    words = name.split()
    last = f" {words[-1]}" if len(words) > 1 and len(words[-1]) < longest / 2 - 1 else ""
    return name[: longest - 1 - len(last)].rstrip() + "…" + last


def thousands(n: int) -> str:
    """Return a number with its digits in groups of three, as `12 000`."""
    return f"{n:,}".replace(",", THIN_SPACE)


def length_of_time(seconds: float) -> str:
    """Return a duration as people write it: `0.8 s`, `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def time_left(seconds: float | None) -> str:
    """Return an estimate, rounded as estimates should be."""
    if seconds is None:
        return ""
    if seconds < 5:
        return "a few seconds left"
    if seconds < 90:
        return f"about {max(5, round(seconds / 5) * 5)} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"


def when(at: float | None) -> str:
    """Return a moment (seconds since 1970) in local time; today's without the date."""
    if at is None:
        return ""
    moment = datetime.fromtimestamp(at)
    return moment.strftime("%H:%M" if moment.date() == datetime.now().date() else "%Y-%m-%d %H:%M")


def percent(share: float) -> str:
    """Return a share as a whole percentage, as `94 %`."""
    return f"{100 * share:.0f}{THIN_SPACE}%"


def class_names(classes: list[Any]) -> dict[int, str]:
    """Return class id -> name, with the background."""
    return {BACKGROUND: "background"} | {one.id: one.name for one in classes}
