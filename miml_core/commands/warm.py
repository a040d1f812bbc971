"""Compile all Numba kernels and store the machine code on disk, so that nothing has to wait for it later.

Example:

  bagtag warm
"""

from __future__ import annotations

import argparse
import time

from miml_core import kernels
from miml_core.json_text import to_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    parser.add_argument(
        "--background", action="store_true", help="compile at low priority, as the app does, and print nothing"
    )


def run(args: argparse.Namespace) -> int:
    if args.background:
        kernels.work_in_background()
        return 0
    started = time.perf_counter()
    kernels.compile_all()
    seconds = time.perf_counter() - started
    print(to_json({"seconds": seconds}) if args.json else f"Kernels ready in {seconds:.1f} s.")
    return 0
