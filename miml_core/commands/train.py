"""Examples:

  bagtag train ~/marsh                                    the default model, which suits most projects
  bagtag train ~/marsh --model sim --set lam=1e-7
  bagtag train ~/marsh --set alpha=0.01 --set kernel=rff --seed 1

All segments are predicted at the end. The previous run stays current until the new one is complete.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from miml_core.commands import project_commands
from miml_core.commands.arguments import LARGEST_SEED, whole_number
from miml_core.errors import BagtagError

_LARGEST = 2**63 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("--model", default=None, help="name of the model (default: ored-lr)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="set a parameter of the model")
    parser.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0)
    parser.add_argument("--cold", action="store_true", help="do not start from the previous model")


def run(args: argparse.Namespace) -> int:
    params = {
        "model": args.model,
        "params": dict(_parameter(text) for text in args.set),
        "seed": args.seed,
        "warm_start": not args.cold,
    }
    with project_commands.open_project(args) as project:
        return project_commands.run_job(project, args, "train", params)


def _parameter(text: str) -> tuple[str, Any]:
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise BagtagError(f"A parameter is written NAME=VALUE, not {text!r}.")
    try:
        parsed = json.loads(value)
    except ValueError:
        return name, value
    except RecursionError:
        parsed = math.inf
    if isinstance(parsed, int | float) and not -_LARGEST <= parsed <= _LARGEST:
        raise BagtagError(f"The parameter {name!r} must be a finite number, not {value[:40]!r}.")
    return name, parsed
