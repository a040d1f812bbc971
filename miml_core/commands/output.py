"""The outcome of a command, for people or for programs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from miml_core.json_text import to_json


def say(args: argparse.Namespace, outcome: dict[str, Any], sentence: str) -> None:
    """The outcome, once."""
    if args.json:
        print_json(outcome)
    else:
        print(sentence)


def print_json(outcome: dict[str, Any]) -> None:
    """One JSON object on a line of its own, in ASCII where the terminal knows no more."""
    text = to_json(outcome)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = to_json(outcome, ascii_only=True)
    print(text)
