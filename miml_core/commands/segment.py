"""Examples:

  bagtag segment ~/marsh                       segment bags without segments, or with outdated ones
  bagtag segment ~/marsh --again               segment all bags again (drawn segments and labels are kept)
  bagtag segment ~/marsh --again --preview     show the effect on people's work, without doing it
  bagtag segment ~/marsh --embedding NAME      describe segments also by this embedding from now on:
                                               birdnet-2.4 (CC BY-NC-SA 4.0), another one that is installed (see
                                               miml_core/features/embeddings.py), or none

An interrupted run continues where it stopped. If a person labelled an automatic segment and no new segment is found
in its place, its label is lost; the command then lists these labels and stops, unless --yes is given.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from miml_core.commands import project_commands
from miml_core.commands.arguments import MOST_PROCESSES, whole_number
from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError
from miml_core.features.embeddings import find_embedding
from miml_core.plurals import counted
from miml_core.project import Job, Project, ResegmentPreview

_TRIED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("--again", action="store_true", help="include bags that are up to date")
    parser.add_argument("--unreviewed", action="store_true", help="only bags in which nobody labelled a segment")
    parser.add_argument(
        "--processes", type=whole_number(1, MOST_PROCESSES), help="number of processes (default: one per core)"
    )
    parser.add_argument("--embedding", metavar="NAME", help="from now on use birdnet-2.4, another embedding, or none")
    parser.add_argument("--preview", action="store_true", help="only show the effect on people's work")
    parser.add_argument("--yes", action="store_true", help="continue even if labels that people gave are lost")


def run(args: argparse.Namespace) -> int:
    scope = "unreviewed" if args.unreviewed else "stale"
    with project_commands.open_project(args) as project:
        if args.embedding is not None and not args.preview:
            _choose_embedding(project, args.embedding)
        if args.preview or not args.yes:
            stale = None if args.again else project.bags.ids(show="unsegmented")
            seen = project.segments.preview_resegment(stale, scope=scope, try_bags=_TRIED)
            if args.preview:
                print_outcome(args, asdict(seen), _describe(seen))
                return 0
            if seen.lost:
                raise BagtagError(f"{_describe(seen)}\nNothing was changed; use --yes to continue.")
        params = {"scope": scope, "again": args.again, "processes": args.processes}
        n_before = project.segments.n_to_describe()
        return project_commands.run_job(
            project, args, "segment", params, summarise=lambda job: _summarise(project, job, n_before)
        )


def _describe(seen: ResegmentPreview) -> str:
    kept = f"{counted(seen.n_bags, 'bag')}; segments drawn by hand that are kept: {seen.n_kept_as_drawn}"
    risk = f"of {counted(seen.n_at_risk, 'label')} on automatic segments, {len(seen.lost)} would be lost"
    return "\n".join([f"{kept}; {risk}" + (f" (tried {_TRIED} bags)" if seen.n_at_risk else ""), *seen.lost])


def _summarise(project: Project, job: Job, n_before: int) -> str:
    """Return what the job did; `n_before` bags had segments without up-to-date features when it started."""
    message = job.message
    if not job.result.get("bags"):
        message = "No bag was segmented" if project.jobs.failures(job.id) else "No bag had to be segmented"
    n_described = n_before - project.segments.n_to_describe()
    if n_described <= 0:
        return message
    embedding = project.settings.embedding
    means = "without an embedding" if embedding is None else f"with {embedding}"
    features = f"the features of {counted(n_described, 'bag')} were computed {means}"
    return f"{message}; {features}, and the next training uses them"


def _choose_embedding(project: Project, name: str) -> None:
    """Store the embedding in the project's settings; an unknown name is refused first."""
    if name != "none":
        find_embedding(name, project.kind)
    project.set_settings(replace(project.settings, embedding=None if name == "none" else name))
