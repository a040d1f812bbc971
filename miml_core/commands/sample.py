"""Examples:

  bagtag sample ~/archive --per-class 50 --into ~/check      draw detections to review, into a new project
  bagtag sample ~/archive --into ~/check --results           show the estimated precision and counts
  bagtag sample ~/archive --into ~/check --results --precision 0.95

Detections are drawn at random within each class and range of probability, spread over sites and days. Review them in
the app, on the Review page under "Archive sample". The results are estimates with 95 % intervals for the whole archive:
the precision above each threshold, the lowest threshold with the target precision, and corrected counts.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from miml_core.commands import project_commands
from miml_core.commands.arguments import LARGEST_SEED, number, whole_number
from miml_core.commands.output import print_outcome

if TYPE_CHECKING:
    from miml_core.archive.sampling import ClassEstimates

_MOST = 100_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("archive", type=Path, help="folder that `apply` wrote to")
    parser.add_argument("--into", type=Path, required=True, metavar="PROJECT", dest="project", help="the project")
    per_class = "detections of each class (default: 50); at least 3 of each of its 8 bins of probability"
    parser.add_argument("--per-class", type=whole_number(1, _MOST), default=50, metavar="N", help=per_class)
    parser.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0)
    parser.add_argument("--model", help="the beginning of a model's id, if several were applied")
    parser.add_argument("--recordings", type=Path, metavar="DIR", help="where the recordings are, if they were moved")
    parser.add_argument("--results", action="store_true", help="show the estimates so far, and draw nothing")
    parser.add_argument(
        "--precision", type=number(0, 1), default=0.9, help="target precision, for the thresholds (default: 0.9)"
    )
    project_commands.add_common_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return _show_results(args) if args.results else _draw(args)


def _draw(args: argparse.Namespace) -> int:
    from miml_core.archive.sample_project import draw_into_project

    with project_commands.progress_bar(args, "sample") as progress:
        found = draw_into_project(
            args.archive,
            args.project,
            args.per_class,
            seed=args.seed,
            model_id=args.model,
            recordings=args.recordings,
            annotator=project_commands.annotator_name(args),
            progress=progress,
        )
    listed = [{"item": file, "reason": reason} for file, reason in found.failures]
    outcome = {
        "model": found.model,
        "detections": found.detections,
        "bags": found.bags,
        "strata": [asdict(one) for one in found.strata],
        "failures": listed,
    }
    sentence = f"{found.detections} detections in {found.bags} clips to review in {str(args.project)!r}"
    print_outcome(args, outcome, sentence)
    if not args.json:
        project_commands.print_failures(found.failures)
    return project_commands.SOME_FAILED if found.failures else 0


def _show_results(args: argparse.Namespace) -> int:
    from miml_core.archive.sample_project import read_estimates

    with project_commands.open_project(args) as project:
        found = read_estimates(project)
    outcome = {"classes": [{**asdict(one), "threshold": one.threshold_for(args.precision)} for one in found]}
    print_outcome(args, outcome, "\n".join(line for one in found for line in _lines(one, args.precision)))
    return 0


def _lines(one: ClassEstimates, precision: float) -> list[str]:
    from miml_core.archive.estimate_tables import count_text, share_text

    lines = [f"{one.class_name}: {one.detections:,} detections, {one.answered} of {one.drawn} sampled ones reviewed"]
    if not one.answered:
        return lines
    threshold = one.threshold_for(precision)
    wanted = f"precision of at least {precision:.0%}"
    lines += [
        f"  correct            {count_text(one.correct)}",
        f"  total of the class {count_text(one.of_class)}, those with another label included",
        *(f"  precision >= {low:<5g} {share_text(found)}  of {n:,}" for low, n, found in one.thresholds),
        f"  {wanted}: " + ("at no threshold" if threshold is None else f"from {threshold:g}"),
    ]
    return lines
