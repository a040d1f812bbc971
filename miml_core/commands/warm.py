"""Compiles every numba kernel and keeps the machine code on disk, so that no first click waits for it.

Example:

  python -m miml_core warm
"""

from __future__ import annotations

import argparse
import importlib
import time

from miml_core.commands.output import say

MODULES_WITH_KERNELS = [
    "miml_core.segments.acoustic",
    "miml_core.segments.visual",
    "miml_core.segments.learned",
    "miml_core.features.acoustic",
    "miml_core.features.visual",
    "miml_core.posterior",
    "miml_core.models.sim",
    "miml_core.models.mimlfast",
    "miml_core.models.gp_probit",
]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON, and nothing else")


def run(args: argparse.Namespace) -> int:
    started = time.perf_counter()
    for module in MODULES_WITH_KERNELS:
        importlib.import_module(module).warm()
    seconds = time.perf_counter() - started
    say(args, {"seconds": seconds}, f"Kernels ready in {seconds:.1f} s.")
    return 0
