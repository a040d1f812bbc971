"""Examples:

  python -m miml_core segment ~/marsh                       find segments where there are none, or old ones
  python -m miml_core segment ~/marsh --again               all bags anew (what people drew, and labels, are kept)
  python -m miml_core segment ~/marsh --again --preview     say what that would do to people's work, and do nothing
  python -m miml_core segment ~/marsh --embedding NAME      describe segments by an outside embedding, too (see
                                                            miml_core/features/embeddings.py); "none" for no more

Interrupted, it goes on where it was the next time.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace

from miml_core.commands import following
from miml_core.features.embeddings import find_embedding
from miml_core.project import Project

_TRIED = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    following.add_project_argument(parser)
    parser.add_argument("--again", action="store_true", help="also bags that are up to date")
    parser.add_argument("--unreviewed", action="store_true", help="only bags in which nobody labelled a segment")
    parser.add_argument("--processes", type=int, help="how many to use (default: one a core)")
    parser.add_argument("--embedding", metavar="NAME", help="an installed embedding to use from now on, or none")
    parser.add_argument("--preview", action="store_true", help="only say what would happen to people's work")


def run(args: argparse.Namespace) -> int:
    scope = "unreviewed" if args.unreviewed else "stale"
    with following.open_project(args) as project:
        if args.preview:
            seen = project.preview_resegment(scope=scope if args.unreviewed else "all", try_bags=_TRIED)
            lines = [
                f"{seen.n_bags} bags; {seen.n_kept_as_drawn} segments made by hand stay; "
                f"of {seen.n_at_risk} labels on automatic segments, {len(seen.lost)} would be lost"
                + (f" (tried {_TRIED} bags)" if seen.n_at_risk else ""),
                *seen.lost,
            ]
            following.say(args, asdict(seen), "\n".join(lines))
            return 0
        if args.embedding is not None:
            _choose_embedding(project, args.embedding)
        params = {"scope": scope, "again": args.again, "processes": args.processes}
        return following.do_job(project, args, "segment", params)


def _choose_embedding(project: Project, name: str) -> None:
    """Kept in the project's settings; one that is not there is refused before anything is changed."""
    if name != "none":
        find_embedding(name, project.kind)
    project.set_settings(replace(project.settings, embedding=None if name == "none" else name))
