"""Examples:

  bagtag report ~/marsh marsh.html                                 of a project's current run
  bagtag report ~/archive survey.html --sample ~/check             of an archive, with its checked sample
  bagtag report ~/archive wren.html --class Wren --threshold 0.8 --place "43.61, 3.88" --clock 60

Writes one HTML file that needs no network: model, data and effort, calibration, sample checks, plots and versions.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path

from miml_core.atomic_files import write_file
from miml_core.commands import project_commands
from miml_core.commands.arguments import number, whole_number
from miml_core.commands.output import print_outcome
from miml_core.errors import BagtagError

_MOST_MINUTES = 14 * 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=Path, help="folder of a project, or of an archive that `apply` wrote to")
    parser.add_argument("target", type=Path, help="the file to write, with the extension .html")
    parser.add_argument("--class", dest="class_name", metavar="NAME", help="only this class (default: all)")
    parser.add_argument(
        "--threshold", type=number(0, 1), help="lowest probability (default: that of the project, else 0.5)"
    )
    parser.add_argument("--model", help="of an archive: the beginning of a model's id, if several were applied")
    parser.add_argument("--sample", type=Path, metavar="PROJECT", help="of an archive: the project with its sample")
    parser.add_argument("--place", metavar="'LAT, LON'", help="where the recorders were, for sunrise and sunset")
    parser.add_argument(
        "--clock",
        type=whole_number(-_MOST_MINUTES, _MOST_MINUTES),
        metavar="MINUTES",
        help="how far the recorders' clocks were ahead of UTC, if the recordings do not state it",
    )
    parser.add_argument("--force", action="store_true", help="replace an existing file")
    project_commands.add_common_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from miml_core.insights import Choice, open_source
    from miml_core.insights.checks import sample_of
    from miml_core.insights.report import make_report
    from miml_core.media.recording_place import Place
    from miml_core.project import Project
    from miml_core.project.jobs.archive_targets import is_archive

    if args.target.suffix.lower() not in (".html", ".htm"):
        raise BagtagError(f"The name of a report ends in .html: give {args.target.stem + '.html'!r}.")
    if args.target.exists() and not args.force:
        raise BagtagError(f"{str(args.target)!r} exists already; give another name, or replace it with `--force`.")
    place = None if args.place is None else Place.parse(args.place)
    is_project = Project.is_project(args.source)
    if not is_project and not is_archive(args.source):
        raise BagtagError(
            f"{str(args.source)!r} is not a Bagtag project and not an archive; give the folder of a project, or one "
            "that `bagtag apply` wrote to."
        )
    if is_project and (args.model or args.sample):
        raise BagtagError("`--model` and `--sample` are for archives; a project has its own model and sample.")
    folder = args.source if is_project else args.sample
    with ExitStack() as opened:
        project = None
        if folder is not None:
            project = opened.enter_context(Project.open(folder, annotator=project_commands.annotator_name(args)))
        source = open_source(project=project) if is_project else open_source(archive=args.source, model_id=args.model)
        if args.sample is not None and project is not None and sample_of(project, source) is None:
            raise BagtagError(
                f"The project {str(args.sample)!r} has no sample of model {source.model_id} in {str(args.source)!r}; "
                "draw one with `sample`, or leave out `--sample`."
            )
        threshold = args.threshold
        if threshold is None:
            threshold = 0.5 if project is None else project.review.sure_from()
        source.label_of(args.class_name)
        choice = Choice(args.class_name, threshold)
        text = make_report(source, choice, project=project, place=place, utc_offset=args.clock)
    write_file(args.target, text.encode())
    outcome = {
        "path": str(args.target),
        "source": "project" if is_project else "archive",
        "detections": len(source.table),
        "files": source.n_files,
        "classes": list(source.classes),
        "threshold": threshold,
    }
    print_outcome(args, outcome, f"report of {len(source.table):,} detections written to {str(args.target)!r}")
    return 0
