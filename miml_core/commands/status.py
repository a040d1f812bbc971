"""Examples:

bagtag status ~/marsh
bagtag status ~/marsh --json | jq .progress
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome
from miml_core.media.recording_place import Place
from miml_core.plurals import counted

_SHOWN_RUNS = 5
"""The latest ones; `--json` prints all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        project.media.refresh_missing()
        current = project.runs.current()
        sample = project.review.sample_accuracy()
        outcome: dict[str, Any] = {
            "project": str(project.folder),
            "name": project.name,
            "kind": project.kind,
            "place": None if project.place is None else asdict(project.place),
            "revision": project.revision,
            "progress": asdict(project.progress()),
            "to_describe": project.segments.n_to_describe(),
            "classes": [asdict(one) for one in project.classes.list()],
            "run": None if current is None else {**asdict(current), "curves": {}},
            "runs": [{**asdict(run_), "curves": {}} for run_ in project.runs.list()],
            "jobs": [asdict(job) for job in [*project.jobs.list(active=True), *project.jobs.list_stopped()]],
            "sample": asdict(sample),
            "blocked_folders": [asdict(one) for one in project.media.blocked_folders()],
        }
        print_outcome(args, outcome, _text(outcome))
    return 0


def _text(outcome: dict[str, Any]) -> str:
    done, run_, sample = outcome["progress"], outcome["run"], outcome["sample"]
    lines = [
        f"{outcome['name']} ({outcome['kind']}), {outcome['project']}",
        f"  files     {done['n_media']}"
        + (f", {done['n_missing']} missing" if done["n_missing"] else "")
        + (f", {done['n_changed']} changed since they were added" if done["n_changed"] else ""),
        *(
            f"  not read  {counted(one['n_files'], 'file')} in {one['folder']}: the folder was not chosen on this "
            "computer"
            for one in outcome["blocked_folders"]
        ),
        f"  bags      {done['n_bags']}: {done['n_tagged']} tagged, {done['n_finished']} finished, "
        f"{done['n_segmented']} segmented"
        + (f", {outcome['to_describe']} without up-to-date features" if outcome["to_describe"] else "")
        + (f", {done['n_errors']} with errors" if done["n_errors"] else ""),
        f"  segments  {done['n_segments']}: {done['n_predicted']} predicted, {done['n_reviewed']} reviewed",
        f"  classes   {', '.join(one['name'] for one in outcome['classes']) or 'none'}",
    ]
    if outcome["place"] is not None:
        lines.append(f"  place     {Place(**outcome['place'])}")
    if run_ is None:
        lines.append("  model     none yet")
    else:
        since = run_["n_corrections_since"]
        lines.append(
            f"  model     run {run_['id']}, {run_['model']}" + (f", {counted(since, 'label')} since" if since else "")
        )
        done_runs = [one for one in outcome["runs"] if one["state"] == "done"]
        lines += [f"  run {one['id']:<5} {_held_out(one)}" for one in done_runs[:_SHOWN_RUNS]]
    if sample["n"]:
        share, low, high = (f"{100 * sample[name]:.1f}" for name in ("accuracy", "low", "high"))
        lines.append(f"  accuracy  {share} % of {sample['n']} sampled segments (95 %: {low} to {high})")
    lines += [f"  job       {job['id']} {job['kind']}: {job['state']}, {job['message']}" for job in outcome["jobs"]]
    return "\n".join(lines)


def _held_out(run_: dict[str, Any]) -> str:
    """Return the scores of a run on held-out bags, by which runs can be compared."""
    scores = run_["scores"]
    if "held_out_log_likelihood" not in scores:
        return f"{run_['model']}, not checked on held-out bags"
    likelihood, precision = scores["held_out_log_likelihood"], scores.get("held_out_average_precision")
    text = f"{run_['model']}, {scores['held_out_bags']:.0f} held-out bags: log-likelihood {likelihood:.2f}"
    return text if precision is None else f"{text}, average precision {precision:.3f}"
