"""Speed, as ratios in one run: `python -m benchmarks`, or only some: `python -m benchmarks posterior models`.

`python -m benchmarks load --seconds 30 --watch` is a shorter load, in which the annotators' screens ask for news, too.
"""

import argparse
import importlib
from pathlib import Path
from typing import Any


def main() -> None:
    every = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed, as ratios in one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which of {', '.join(every)} (default: all)")
    parser.add_argument("--seconds", type=float, help="of load: how long the annotators work (default: 120)")
    parser.add_argument("--watch", action="store_true", help="of load: the annotators' screens ask for news as well")
    parser.add_argument("--tasks", type=int, help="of archive: how many empty tasks (default: 100 000)")
    args = parser.parse_args()
    unknown = set(args.names) - set(every)
    if unknown:
        parser.error(f"there is no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(every)}")
    for name in args.names or every:
        print(f"\n== {name} ==", flush=True)
        options: dict[str, Any] = {}
        if name == "load":
            options = {"watch": args.watch} | ({"seconds": args.seconds} if args.seconds else {})
        if name == "archive" and args.tasks:
            options = {"tasks": args.tasks}
        importlib.import_module(f"benchmarks.bench_{name}").run(**options)


if __name__ == "__main__":
    main()
