"""Text that goes into a table and comes back the same, and does no harm on the way.

A spreadsheet runs a cell that begins like a formula, whoever wrote it; file names and annotators' names come from
anywhere. Such a cell gets an apostrophe in front, which spreadsheets take to mean "text".
"""

from __future__ import annotations

import re

from miml_core.errors import BagtagError

_FORMULA_STARTS = "=+-@|%＝＋－＠"
_SKIPPED_STARTS = " '\t\r\n"
_LINE_BREAKERS = {"\t": "%09", "\n": "%0A", "\r": "%0D"}
_ESCAPED = re.compile("%(09|0A|0D|25)")


def neutralise(text: str) -> str:
    """The text, with an apostrophe in front where a spreadsheet could take it for a formula."""
    return f"'{text}" if _looks_like_formula(text) else text


def restore(cell: str) -> str:
    """What `neutralise` was given; other texts, also those with an apostrophe of their own, are left alone."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell[1:]) else cell


def _looks_like_formula(text: str) -> bool:
    rest = text.lstrip(_SKIPPED_STARTS)
    skipped = text[: len(text) - len(rest)]
    return rest[:1] in tuple(_FORMULA_STARTS) or any(character in skipped for character in "\t\r\n")


def on_one_line(text: str) -> str:
    """The text as a cell of a tab-separated table that knows no quotes: tabs and line ends become %09, %0A, %0D."""
    text = _ESCAPED.sub(r"%25\1", text)
    return neutralise("".join(_LINE_BREAKERS.get(character, character) for character in text))


def from_one_line(cell: str) -> str:
    """The inverse of `on_one_line`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), restore(cell))


def number_text(value: float | None, decimals: int) -> str:
    """A number in the fewest digits that keep `decimals` decimals; an empty cell for None."""
    if value is None:
        return ""
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_number(cell: str | None, where: str) -> float | None:
    """The number in a cell (a decimal comma is understood), or None for an empty one."""
    cell = (cell or "").strip()
    if not cell:
        return None
    try:
        value = float(cell.replace(",", ".") if "." not in cell else cell)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise BagtagError(f"{where}: {cell!r} is not a number.")
    return value


def decode_text(content: bytes, name: str) -> str:
    """The text of a file: UTF-8 or UTF-16 as spreadsheets save it, else Windows' western code page."""
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BagtagError(f"{name!r} is not a text file.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig", errors="strict")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
