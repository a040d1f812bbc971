"""Examples:

  python -m miml_core segment ~/marsh                       find segments where there are none, or old ones
  python -m miml_core segment ~/marsh --again               all bags anew (what people drew, and labels, are kept)
  python -m miml_core segment ~/marsh --again --preview     say what that would do to people's work, and do nothing
  python -m miml_core segment ~/marsh --embedding NAME      describe segments by an outside embedding, too (see
                                                            miml_core/features/embeddings.py); "none" for no more

Interrupted, it goes on where it was the next time. A label that a person gave to an automatic segment goes with it if
no new segment lies there: then the command says which and does nothing, unless told --yes.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from miml_core.commands import following
from miml_core.commands.arguments import MOST_PROCESSES, whole_number
from miml_core.errors import BagtagError
from miml_core.features.embeddings import find_embedding
from miml_core.project import Project, ResegmentPreview

_TRIED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    following.add_project_argument(parser)
    parser.add_argument("--again", action="store_true", help="also bags that are up to date")
    parser.add_argument("--unreviewed", action="store_true", help="only bags in which nobody labelled a segment")
    parser.add_argument(
        "--processes", type=whole_number(1, MOST_PROCESSES), help="how many to use (default: one a core)"
    )
    parser.add_argument("--embedding", metavar="NAME", help="an installed embedding to use from now on, or none")
    parser.add_argument("--preview", action="store_true", help="only say what would happen to people's work")
    parser.add_argument("--yes", action="store_true", help="go on even if labels that people gave would be lost")


def run(args: argparse.Namespace) -> int:
    scope = "unreviewed" if args.unreviewed else "stale"
    with following.open_project(args) as project:
        if args.embedding is not None and not args.preview:
            _choose_embedding(project, args.embedding)
        if args.preview or not args.yes:
            stale = None if args.again else project.bag_ids(show="unsegmented")
            seen = project.preview_resegment(stale, scope=scope, try_bags=_TRIED)
            if args.preview:
                following.say(args, asdict(seen), _told(seen))
                return 0
            if seen.lost:
                raise BagtagError(f"{_told(seen)}\nNothing was done; with --yes it is.")
        params = {"scope": scope, "again": args.again, "processes": args.processes}
        return following.do_job(project, args, "segment", params)


def _told(seen: ResegmentPreview) -> str:
    kept = f"{seen.n_bags} bags; {seen.n_kept_as_drawn} segments made by hand stay"
    risk = f"of {seen.n_at_risk} labels on automatic segments, {len(seen.lost)} would be lost"
    return "\n".join([f"{kept}; {risk}" + (f" (tried {_TRIED} bags)" if seen.n_at_risk else ""), *seen.lost])


def _choose_embedding(project: Project, name: str) -> None:
    """Kept in the project's settings; one that is not there is refused before anything is changed."""
    if name != "none":
        find_embedding(name, project.kind)
    project.set_settings(replace(project.settings, embedding=None if name == "none" else name))
