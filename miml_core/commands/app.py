"""Examples:

bagtag app                     open the app in the browser
bagtag app --port 8600         on another port
bagtag app --no-browser        print the address only
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import miml_core
from miml_core.errors import BagtagError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=8501, help="port of 127.0.0.1 to serve the app on (default: 8501)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def run(args: argparse.Namespace) -> int:
    if not 1 <= args.port <= 65535:
        raise BagtagError(f"A port is a number from 1 to 65535, not {args.port}.")
    # -P: Python files in the folder in which the command was given are never imported.
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(app_script()), f"--server.port={args.port}"]
    return subprocess.call([*command, f"--server.headless={str(args.no_browser).lower()}"])


def app_script() -> Path:
    """Return the app's start script: beside the installed package, or at the top of the repository."""
    root = Path(miml_core.__file__).parent.parent
    for script in (root / "bagtag_app" / "app.py", root / "app.py"):
        if script.is_file():
            return script
    raise BagtagError(f"The files of the app are not in {str(root)!r}; install Bagtag again.")
