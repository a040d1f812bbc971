"""Print the outcome of a command, for people or for programs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from miml_core.atomic_files import write_file
from miml_core.json_text import to_json


def print_outcome(args: argparse.Namespace, outcome: dict[str, Any], sentence: str) -> None:
    """Print the outcome as JSON if `--json` was given, otherwise as a sentence."""
    if args.json:
        print_json(outcome)
    else:
        print(sentence)


def print_json(outcome: dict[str, Any]) -> None:
    """Print one JSON object on one line, in ASCII if the terminal has no other characters."""
    text = to_json(outcome)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = to_json(outcome, ascii_only=True)
    print(text)


def write_json(path: Path, value: Any) -> None:
    """Write JSON to a file that appears complete or not at all, or to a device such as `/dev/stdout`."""
    content = to_json(value, indent=1).encode() + b"\n"
    if path.exists() and not path.is_file():
        path.write_bytes(content)
    else:
        write_file(path, content)
