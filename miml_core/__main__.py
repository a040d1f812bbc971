"""The command line: `python -m miml_core COMMAND ...`.

Each command is a module of `miml_core.commands` with `add_arguments(parser)` and `run(args) -> int`; it is
imported only when asked for, so that `--help` and quick commands stay quick.
"""

from __future__ import annotations

import argparse
import importlib
import sys

from miml_core.errors import BagtagError

COMMANDS = {
    "app": "open the app in the browser",
    "new": "make a project",
    "import": "add recordings or pictures to a project",
    "segment": "find the segments of the bags",
    "tag": "tag bags from a table",
    "train": "learn which segment carries which tag, and predict all",
    "predict": "predict what is new or has changed",
    "status": "say how far a project is",
    "export": "write segments with their labels to a file",
    "check": "look for damage, missing files and leftovers, and repair",
    "backup": "write a copy of a project's tags, labels and segments",
    "restore": "put a backup in the place of a project's database",
    "demo": "make a demo project: generated sounds or pictures, tagged, segmented, with a trained model",
    "warm": "compile the numba kernels now, so that nobody waits for them later",
    "bench": "measure the models on .npz and .arff data sets, beside the published figures",
    "bench-media": "measure segments, features and whole chains on recordings and pictures of known truth",
}

_MODULES = {"import": "import_"}
"""Commands whose name Python keeps for itself."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 when it worked, 1 when it could not be done, 2 for a wrong call."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="python -m miml_core", description="Bagtag without a screen."
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    asked = next((word for word in arguments if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=summary, description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == asked:
            module = importlib.import_module(f"miml_core.commands.{_MODULES.get(name, name.replace('-', '_'))}")
            subparser.epilog = module.__doc__
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    args = parser.parse_args(arguments)
    try:
        return int(args.run(args))
    except BagtagError as error:
        print(f"bagtag: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("bagtag: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
