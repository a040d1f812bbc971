"""Types of arguments, which refuse infinite or out-of-range numbers and empty paths before a command begins."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.media.recording_place import Place

LARGEST_SEED = 2**32 - 1
LARGEST_ID = 2**63 - 1
MOST_PROCESSES = 256
_SHOWN = 40


def number(low: float, high: float) -> Callable[[str], float]:
    """Return a parser of numbers from `low` to `high`."""

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high or math.isinf(value):
            raise argparse.ArgumentTypeError(f"must be a number from {low:g} to {high:g}, not {_shown(text)}")
        return value

    return parse


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from `low` to `high`."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}, not {_shown(text)}")
        return value

    return parse


def place(text: str) -> Place:
    """Parse latitude and longitude in degrees."""
    try:
        return Place.parse(text)
    except BagtagError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def path(text: str) -> Path:
    """Parse a path; an empty one is refused, because it would mean the current folder."""
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"must be a path, not {_shown(text)}")
    return Path(text)


def check_types(parser: argparse.ArgumentParser) -> None:
    """Replace the types `Path`, `int` and `float` of a parser's arguments by the checked ones of this module."""
    stricter = {Path: path, int: whole_number(-LARGEST_ID, LARGEST_ID), float: number(-1e300, 1e300)}
    for action in parser._actions:
        action.type = stricter.get(action.type, action.type)  # type: ignore[call-overload]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
