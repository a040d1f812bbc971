"""The command line: `bagtag COMMAND ...`, or without installing the package `python -m miml_core COMMAND ...`.

Each command is a module of `miml_core.commands` with `add_arguments(parser)` and `run(args) -> int`; it is
imported only when it is used, so that `--help` and short commands start quickly.

An error is one sentence on standard error, or with `--json` one object on standard output:
`{"error": sentence, "kind": "refused"}`. `kind` is "usage", "refused" or the name of a special refusal ("busy",
"not_saved", "gone" ...), "job_failed" (with "job" and "failures"), "file", "memory", "stopped" or "bug".
"""

from __future__ import annotations

if __name__ == "__main__":  # Ctrl-C while modules are imported ends without a traceback
    from miml_core.commands.interrupt import exit_on_interrupt

    exit_on_interrupt()

import argparse
import importlib
import os
import re
import signal
import sys
import time
import traceback
from typing import Any, NoReturn

from miml_core.errors import BagtagError

COMMANDS = {
    "app": "open the app in the browser",
    "new": "create a project",
    "import": "add recordings or pictures to a project",
    "segment": "detect the segments of the bags",
    "suggest": "list the species that BirdNET or the current run suggests for the bags",
    "tag": "tag bags from a table",
    "import-labels": "add labels of Raven, BirdNET, whombat, Label Studio and other programs",
    "train": "learn which segment carries which tag, and predict all segments",
    "predict": "predict the bags that are new or have changed",
    "status": "show the progress of a project",
    "export": "write segments with their labels to a file",
    "pack": "write a whole project to one zip file, to move or share it",
    "unpack": "unpack a packed project into a new folder",
    "merge": "add the tags and labels of another annotator's copy, and measure the agreement",
    "export-model": "write the trained model to one file, to apply it elsewhere",
    "apply": "apply an exported model to folders of recordings or pictures",
    "sample": "draw detections of an archive at random for review, and show estimates for the whole archive",
    "report": "write a report of a project or an archive as one HTML file: activity, sites, effort, model, checks",
    "check": "find and repair damage, missing files and leftovers",
    "backup": "write a copy of a project's tags, labels and segments",
    "restore": "replace a project's database by a backup",
    "demo": "create a demo project: generated sounds or pictures, tagged, segmented, with a trained model",
    "warm": "compile the Numba kernels now, so that nothing waits for them later",
    "bench": "measure the models on .npz and .arff data sets, and compare with published figures",
    "bench-media": "measure segments, features and labels on recordings and pictures with known truth",
    "bench-economy": "measure how many seconds of work correct labels cost, with a simulated annotator",
}

_MODULES = {"import": "import_"}
"""Modules of commands whose name is a keyword of Python."""
_JSON_IS_A_FILE = ("bench", "bench-media", "bench-economy")
_STOPPED, _CLOSED_PIPE = 130, 141


class _Parser(argparse.ArgumentParser):
    """A parser that prints errors as JSON if `--json` was given."""

    as_json = False

    def error(self, message: str) -> NoReturn:
        if not _Parser.as_json:
            super().error(message)
        _print_error(message, "usage", as_json=True)
        raise SystemExit(2)


def main(arguments: list[str] | None = None, *, program: str = "bagtag") -> int:
    """Run one command and return its exit code: 0 done, 1 not possible, 2 wrong arguments.

    `program` is what the user typed in front of the command, for help and usage errors.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    asked = next((word for word in arguments if not word.startswith("-")), None)
    as_json = _wants_json(arguments, asked)
    try:
        args = _parse(program, arguments, asked, as_json)
        return int(args.run(args))
    except BrokenPipeError:
        raise
    except BagtagError as error:
        _print_error(str(error), _kind(error), as_json, **getattr(error, "details", {}))
    except KeyboardInterrupt:
        _print_error("stopped", "stopped", as_json)
        return _STOPPED
    except OSError as error:
        _print_error(_file_sentence(error), "file", as_json)
    except MemoryError:
        _print_error("There is not enough memory. Close other programs, or process less at once.", "memory", as_json)
    except Exception as error:
        _print_error(_bug_sentence(error), "bug", as_json)
    return 1


def _parse(program: str, arguments: list[str], asked: str | None, as_json: bool) -> argparse.Namespace:
    from miml_core import __version__
    from miml_core.commands.arguments import check_types

    _Parser.as_json = as_json
    parser = _Parser(prog=program, description="Bagtag on the command line.")
    parser.add_argument("--version", action="version", version=f"bagtag {__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(
            name, help=summary, description=summary, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if name == asked:
            module = importlib.import_module(f"miml_core.commands.{_MODULES.get(name, name.replace('-', '_'))}")
            subparser.epilog = module.__doc__
            module.add_arguments(subparser)
            check_types(subparser)
            subparser.set_defaults(run=module.run)
    return parser.parse_args(arguments)


def _wants_json(arguments: list[str], asked: str | None) -> bool:
    """Return whether errors are printed as JSON, even if the other arguments cannot be parsed."""
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    return asked not in _JSON_IS_A_FILE and any(len(word) > 2 and "--json".startswith(word) for word in options)


def _print_error(sentence: str, kind: str, as_json: bool, **details: Any) -> None:
    if as_json:
        from miml_core.commands.output import print_json

        print_json({"error": sentence, "kind": kind, **details})
    else:
        print(f"bagtag: {sentence}", file=sys.stderr)


def _kind(error: BagtagError) -> str:
    name = type(error).__name__
    return "refused" if name == "BagtagError" else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _file_sentence(error: OSError) -> str:
    where = f" {error.filename!r}" if error.filename is not None else ""
    hint = "Check the path, its permissions and the free space."
    return f"A file could not be read or written{where}: {error.strerror or error}. {hint}"


def _bug_sentence(error: Exception) -> str:
    """Write the traceback to a file, or print it if `BAGTAG_DEBUG` is set, and return a message with its place."""
    details = traceback.format_exc()
    what = f"This is a bug in Bagtag ({type(error).__name__}: {error})"
    if os.environ.get("BAGTAG_DEBUG"):
        print(details, file=sys.stderr)
        return f"{what}; please report it with the lines above."
    from miml_core.installation import state_folder

    log = state_folder() / "errors.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {sys.argv!r}\n{details}\n")
    except OSError:
        print(details, file=sys.stderr)
        return f"{what}; please report it with the lines above."
    return f"{what}; please report it with the last lines of {str(log)!r}."


def run_as_program(program: str = "bagtag") -> int:
    """Run `main` with the streams and signals set up for a program of its own; the command `bagtag` calls this."""
    from miml_core.commands import streams

    streams.make_streams_printable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            code = main(program=program)
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has closed the pipe (`| head`), which is no error
        streams.discard_output()
        code = _CLOSED_PIPE
    except OSError as error:
        streams.discard_output()
        print(f"bagtag: The output could not be written: {error.strerror or error}.", file=sys.stderr)
        code = 1
    except KeyboardInterrupt:
        code = _STOPPED
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code


if __name__ == "__main__":
    sys.exit(run_as_program("python -m miml_core"))
