"""Examples:

  bagtag demo ~/bagtag-demo                    the sound demo, with a trained model
  bagtag demo ~/bagtag-demo --kind both        ~/bagtag-demo/sound and ~/bagtag-demo/picture
  bagtag demo ~/bagtag-demo --no-train --json
  bagtag demo ~/bagtag-survey --survey         50 hours at 3 sites, from 60 tagged clips to activity curves
  bagtag demo ~/bagtag-survey --survey --hours 2 --days 4 --sites 2

Everything is generated; nothing is downloaded. The true labels are in truth.json, which training does not use; the
figures at the end compare the model with them.

With --survey, ten days of recordings are generated in which each species has a known daily rhythm. A random sample of
60 clips is tagged, a model is trained and applied to all recordings, a sample of its detections is checked, and the
activity by hour of day is compared with the known rhythm. A stopped command continues when it is started again.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any, cast

from miml_core.commands import demo_survey
from miml_core.commands.arguments import LARGEST_SEED, number, whole_number
from miml_core.commands.output import print_json
from miml_core.demo.media import Kind


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, help="folder for the demo project")
    parser.add_argument("--kind", choices=["sound", "picture", "both"], default="sound")
    seed = whole_number(0, LARGEST_SEED)
    parser.add_argument("--seed", type=seed, default=0, help="another seed gives other recordings (default: 0)")
    parser.add_argument(
        "--train",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="train the default model, so that there are predictions to review",
    )
    parser.add_argument("--survey", action="store_true", help="a survey of many hours, and all steps to its activity")
    parser.add_argument(
        "--hours", type=number(0.01, 2000), default=50.0, help="hours of sound in the survey (default: 50)"
    )
    parser.add_argument("--days", type=whole_number(1, 60), default=10, help="days of the survey (default: 10)")
    parser.add_argument("--sites", type=whole_number(1, 6), default=3, help="sites of the survey (default: 3)")
    parser.add_argument("--json", action="store_true", help="print the figures as one JSON object")


def run(args: argparse.Namespace) -> int:
    if args.survey:
        return demo_survey.run(args)
    kinds = ["sound", "picture"] if args.kind == "both" else [args.kind]
    made = {}
    for kind in kinds:
        folder = args.folder / kind if args.kind == "both" else args.folder
        made[kind] = _make(folder, cast(Kind, kind), args)
    if args.json:
        print_json(made)
    else:
        for kind, figures in made.items():
            print(_sentence(kind, figures))
    return 0


def _make(folder: Path, kind: Kind, args: argparse.Namespace) -> dict[str, Any]:
    from rich.progress import Progress as Bar

    from miml_core.demo import make_demo, score_demo

    began = time.monotonic()
    with Bar(transient=True, disable=args.json or not sys.stderr.isatty()) as bar:
        task = bar.add_task(f"creating the {kind} demo")
        project = make_demo(
            folder,
            kind,
            args.seed,
            lambda step, of, _: bar.update(task, completed=step, total=of),
            train=args.train,
        )
    with project:
        seconds = round(time.monotonic() - began, 1)
        done = project.progress()
        figures = {"folder": str(folder), "seconds": seconds, "bags": done.n_bags, "segments": done.n_segments}
        return figures | ({"scores": score_demo(project)} if project.runs.current() else {})


def _sentence(kind: str, figures: dict[str, Any]) -> str:
    text = (
        f"{figures['folder']}: {figures['bags']} {'recordings' if kind == 'sound' else 'pictures'}, "
        f"{figures['segments']} segments, in {figures['seconds']} s."
    )
    if "scores" not in figures:
        return text
    scores = figures["scores"]
    return (
        f"{text}\nTrained on tags only, the model labels {scores['accuracy']:.1%} of the segments correctly "
        f"({scores['accuracy_calls']:.1%} of those that are not background; "
        f"the most common tag of each bag: {scores['majority_tag']:.1%})."
    )
