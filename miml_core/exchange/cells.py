"""Convert text and numbers to cells of tables and back, safely for spreadsheets.

A spreadsheet evaluates a cell that begins like a formula, and names of files and annotators may come from anybody.
Such a cell gets an apostrophe in front, which spreadsheets interpret as "text".
"""

from __future__ import annotations

import re

from miml_core.errors import BagtagError

_FORMULA_STARTS = "=+-@|%＝＋－＠"
_SKIPPED_STARTS = " '\t\r\n"
_LINE_BREAKERS = {"\t": "%09", "\n": "%0A", "\r": "%0D"}
_ESCAPED = re.compile("%(09|0A|0D|25)")


def neutralise(text: str) -> str:
    """Return the text, with an apostrophe in front if a spreadsheet could interpret it as a formula.

    Examples
    --------
    >>> neutralise("=1+1"), restore("'=1+1"), neutralise("Wren")
    ("'=1+1", '=1+1', 'Wren')
    """
    return f"'{text}" if _looks_like_formula(text) else text


def restore(cell: str) -> str:
    """Return the text that `neutralise` was called with; other texts with an apostrophe are unchanged."""
    return cell[1:] if cell.startswith("'") and _looks_like_formula(cell[1:]) else cell


def _looks_like_formula(text: str) -> bool:
    rest = text.lstrip(_SKIPPED_STARTS)
    skipped = text[: len(text) - len(rest)]
    return rest[:1] in tuple(_FORMULA_STARTS) or any(character in skipped for character in "\t\r\n")


def on_one_line(text: str) -> str:
    """Return the text as a cell of a tab-separated table without quotes: tabs and line ends become %09, %0A, %0D."""
    text = _ESCAPED.sub(r"%25\1", text)
    return neutralise("".join(_LINE_BREAKERS.get(character, character) for character in text))


def from_one_line(cell: str) -> str:
    """Return the text that `on_one_line` was called with."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), restore(cell))


def number_text(value: float | None, decimals: int) -> str:
    """Return a number with at most `decimals` decimals; an empty cell for None."""
    if value is None:
        return ""
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_number(cell: str | None, where: str) -> float | None:
    """Return the number in a cell, with a decimal point or comma, or None for an empty cell."""
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
    """Decode the text of a file: UTF-8 or UTF-16 as spreadsheets save it, else Windows' western code page."""
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BagtagError(f"{name!r} is not a text file; choose the file of labels that the other program wrote.")
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig", errors="strict")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
