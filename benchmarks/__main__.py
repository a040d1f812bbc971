"""Speed, as ratios in one run: `python -m benchmarks`, or only some: `python -m benchmarks posterior models`."""

import importlib
import sys
from pathlib import Path


def main() -> None:
    every = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    chosen = sys.argv[1:] or every
    unknown = set(chosen) - set(every)
    if unknown:
        sys.exit(f"There is no benchmark called {', '.join(sorted(unknown))}; there are {', '.join(every)}.")
    for name in chosen:
        print(f"\n== {name} ==", flush=True)
        importlib.import_module(f"benchmarks.bench_{name}").run()


if __name__ == "__main__":
    main()
