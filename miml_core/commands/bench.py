"""Measure models on every .npz and .arff file below a folder, and compare them with the published figures.

A set whose segments are not all labelled, or whose tags are not the union of its labels, is measured in variants:
union (labelled segments only, tags made their union), filtered (labelled segments only, tags as given) and unfiltered
(all segments in training, scored on the labelled ones). Accuracies are in per cent: transductive (fit and labelled
with the tags known), inductive (bags held out, tags not known), mean and standard deviation over folds of bags. ECE is
the expected calibration error of the same probabilities, and of the predicted tags; in "unfiltered", segments without a
label count as background.

examples:
  bagtag bench --data data/miml
  bagtag bench --data data/miml --models ored-lr,sim --sets hja --json figures.json
  bagtag bench --data data/miml --models ored-lr --corrections 0,1,2,5,10,20
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from miml_core.commands.arguments import LARGEST_SEED, whole_number
from miml_core.commands.output import write_json
from miml_core.errors import BagtagError

COLUMNS = {
    "transductive": "with tags",
    "inductive": "new bags",
    "transductive_calibration_error": "ECE tags",
    "inductive_calibration_error": "ECE new",
    "tags_calibration_error": "ECE of tags",
    "bag_accuracy": "bags right",
    "hamming_loss": "Hamming",
    "ranking_loss": "ranking",
    "average_precision": "avg. prec.",
    "one_error": "one-error",
    "coverage": "coverage",
    "key_instance_accuracy": "key segm.",
    "each_auc": "AUC each",
    "each_log_likelihood": "log lik. each",
    "seconds": "seconds",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="folder with .npz and .arff files")
    parser.add_argument("--models", default="", metavar="A,B", help="which models (default: all)")
    parser.add_argument(
        "--sets", default="", metavar="A,B", help="sets whose name contains one of these (default: all)"
    )
    folds = whole_number(0, 1000)
    parser.add_argument("--folds", type=folds, default=10, metavar="N", help="folds of bags (default: 10; 0: none)")
    parser.add_argument("--seed", type=whole_number(0, LARGEST_SEED), default=0, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to a file as well")
    parser.add_argument(
        "--corrections",
        default="",
        metavar="0,1,2,5",
        help="instead: reveal these shares (per cent) of the true labels and score the rest",
    )


def run(args: argparse.Namespace) -> int:
    from miml_core.evaluation.configurations import CONFIGURATIONS, DEFAULT
    from miml_core.evaluation.data_sets import find_sets

    models = [name for name in args.models.split(",") if name] or DEFAULT
    for name in models:
        if name not in CONFIGURATIONS:
            raise BagtagError(f"There is no model called {name!r}; there are {', '.join(CONFIGURATIONS)}.")
    shares = _shares(args.corrections)
    report = _Report(args)
    sets = find_sets(args.data, [word for word in args.sets.split(",") if word], report.refuse)
    if shares:
        _corrections(sets, models, shares, report)
    else:
        _measure(sets, models, report)
    return 1 if report.refused else 0


class _Report:
    """The rows so far; the `--json` file is written after each of them, so that an interruption loses none."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.rows, self.refused = args, list[dict[str, Any]](), list[str]()

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self._write()

    def refuse(self, sentence: str) -> None:
        self.refused.append(sentence)
        print(sentence, file=sys.stderr)
        self._write()

    def _write(self) -> None:
        if self.args.json:
            figures = {"seed": self.args.seed, "folds": self.args.folds, "rows": self.rows, "refused": self.refused}
            write_json(self.args.json, figures)


def _shares(text: str) -> list[float]:
    try:
        shares = [float(part) for part in text.split(",") if part]
    except ValueError:
        raise BagtagError(f"Corrections are shares in per cent, such as 0,1,2,5, not {text!r}.") from None
    if any(not 0 <= share < 100 for share in shares):
        raise BagtagError("A share of corrections must be at least 0 and below 100 per cent.")
    return shares


def _measure(sets: list[Any], models: list[str], report: _Report) -> None:
    from miml_core.evaluation.benchmark import measure

    pairs = [(data, name) for data in sets for name in models if _suits(data, name)]
    folds, seed = report.args.folds, report.args.seed
    with _bar() as bar:
        task = bar.add_task("", total=len(pairs) * (1 + folds))
        for number, (data, name) in enumerate(pairs, start=1):
            bar.update(task, description=f"{data.name}: {name}")
            try:
                row = measure(data, name, folds=folds, seed=seed, progress=lambda *_: bar.advance(task))
            except BagtagError as error:
                report.refuse(f"{data.name}, {name}: {error}")
            else:
                report.add(row)
                bar.console.print(_sentence(row), markup=False)
            bar.update(task, completed=number * (1 + folds))
    _print_table(report.rows)


def _suits(data: Any, name: str) -> bool:
    """Return whether a model can be measured on a set.

    The upper bound needs true labels, SIM at least two classes, and the principal components more than ten features.
    """
    if name == "supervised-lr":
        return data.truth is not None
    if name.startswith("sim"):
        return data.bags.n_classes > 1
    return name != "mimm-pca" or data.bags.X.shape[1] > 10


def _corrections(sets: list[Any], models: list[str], shares: list[float], report: _Report) -> None:
    from rich.console import Console
    from rich.table import Table

    from miml_core.evaluation.benchmark import measure_corrections

    known = [data for data in sets if data.truth is not None]
    with _bar() as bar:
        task = bar.add_task("", total=len(known) * len(models) * len(shares))
        for data in known:
            for name in models:
                bar.update(task, description=f"{data.name}: {name}")
                try:
                    row = measure_corrections(
                        data, name, shares, seed=report.args.seed, progress=lambda *_: bar.advance(task)
                    )
                except BagtagError as error:
                    report.refuse(f"{data.name}, {name}: {error}")
                else:
                    report.add(row)
    table = Table(
        "set", "model", *(f"{share:g} %" for share in shares), title="Accuracy on the segments without a correction (%)"
    )
    for row in report.rows:
        table.add_row(row["set"], row["model"], *(f"{value:.1f}" for value in row["accuracy_on_the_rest"].values()))
    Console().print(table)


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import Progress

    return Progress(console=Console(stderr=True))


def _sentence(row: dict[str, Any]) -> str:
    keys = [key for key in ("transductive", "inductive", "bag_accuracy") if key in row]
    parts = [f"{COLUMNS[key]} {_number(row, key)}" for key in keys or ("average_precision",) if key in row]
    parts += [f"{COLUMNS[key]} {row[key]:.3f}" for key in COLUMNS if key.endswith("calibration_error") and key in row]
    parts.append(f"{row['seconds']:.1f} s per fit")
    return f"{row['set']}, {row['model']}: {', '.join(parts)}"


def _number(row: dict[str, Any], key: str) -> str:
    if key not in row:
        return ""
    per_cent = key in ("transductive", "inductive", "bag_accuracy")
    text = f"{row[key]:.1f}" if per_cent or key == "seconds" else f"{row[key]:.3f}"
    if per_cent and f"{key}_sd" in row:
        text += f" ± {row[f'{key}_sd']:.1f}"
    if key in row["published"]:
        text += f" [{row['published'][key]['value']:g}]"
    return text


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    used = [key for key in COLUMNS if any(key in row for row in rows)]
    table = Table("set", "model", *(COLUMNS[key] for key in used), title="Ours [published]")
    for row in rows:
        table.add_row(row["set"], row["model"], *(escape(_number(row, key)) for key in used))
    console = Console() if sys.stdout.isatty() else Console(width=190)
    console.print(table)
    sources = {figure["source"] for row in rows for figure in row["published"].values()}
    for source in sorted(sources):
        console.print(f"published: {source}")
