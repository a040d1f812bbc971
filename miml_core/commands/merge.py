"""Examples:

  bagtag merge ~/marsh ~/marsh-of-bob            another annotator's copy: the folder of the project
  bagtag merge ~/marsh marsh-bob.zip             or the file that `pack` wrote
  bagtag merge ~/marsh marsh-bob.zip --dry-run   list what would be done, and do nothing

Media are matched by their content, bags by their times, classes by name or scientific name, segments by region (the
same, or more than 90 % of the union in common). What only one annotator answered is taken; where both differ, the
answer of this project stays, and the conflict is listed on the Review and Import pages. The agreement is Cohen's kappa
over tags, and over labels given by eye, that both annotators gave independently, with its 95 % interval. The other copy
is only read; the merge is one edit that can be undone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from miml_core.bags import BACKGROUND
from miml_core.commands import project_commands
from miml_core.commands.output import print_outcome

if TYPE_CHECKING:
    from miml_core.evaluation.agreement import Kappa
    from miml_core.project.edits.merge_records import Agreement, MergePlan

_MOST_LISTED = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    project_commands.add_project_argument(parser)
    parser.add_argument("other", type=Path, help="folder of the other project, or a packed project")
    parser.add_argument("--dry-run", action="store_true", help="list what would be done, and do nothing")


def run(args: argparse.Namespace) -> int:
    with project_commands.open_project(args) as project:
        plan = project.edits.preview_merge(args.other)
        sentence = "nothing was changed"
        if not args.dry_run:
            sentence = project.edits.merge_copy(plan).sentence
        listed = [] if args.dry_run else _conflicts(project)
    outcome = {"message": sentence, "source": plan.source, "people": plan.people, **plan.counts()}
    outcome |= {"agreement": plan.agreement(), "missing_media": plan.unknown_media, "conflicts": listed}
    print_outcome(args, outcome, "\n".join([*_counts(plan), *_agreement(plan), *_shown(listed), sentence]))
    return 0


def _conflicts(project: Any) -> list[dict[str, Any]]:
    names = {one.id: one.name for one in project.classes.list()} | {BACKGROUND: "background", None: "no label"}
    found = []
    for each in project.review.conflicts():
        is_tag = each.segment_id is None
        what = names.get(each.class_id, "?") if is_tag else f"segment {each.number}"
        answers = [_answer(value, is_tag, names) for value in (each.ours, each.theirs)]
        ours, theirs = ([by or "somebody", answer] for by, answer in zip((each.ours_by, each.theirs_by), answers))
        found.append({"bag": each.bag, "what": what, "ours": ours, "theirs": theirs})
    return found


def _answer(value: int | None, is_tag: bool, names: dict[Any, str]) -> str:
    if is_tag:
        return "present" if value == 1 else "absent"
    return names.get(value, "a removed class")


def _counts(plan: MergePlan) -> list[str]:
    c = plan.counts()
    who = f" by {', '.join(plan.people)}" if plan.people else ""
    lines = [
        f"{plan.source}{who}: {c['media']} media and {c['bags']} bags are in both projects",
        f"new: {c['new_tags']} tags, {c['finished_bags']} bags finished, {c['new_labels']} labels, "
        f"{c['new_segments']} segments, {c['new_classes']} classes",
        f"alike: {c['agreed_tags']} tags, {c['agreed_labels']} labels",
        f"conflicts: {c['tag_conflicts']} of tags, {c['label_conflicts']} of labels"
        + (f"; {c['known_conflicts']} listed before" if c["known_conflicts"] else ""),
    ]
    if c["deleted_segments"] or c["kept_segments"]:
        lines.append(
            f"deleted there: {c['deleted_segments']} segments are deleted here, {c['kept_segments']} stay because of a "
            "label here"
        )
    if c["unknown_bags"]:
        lines.append(f"left out: {c['unknown_bags']} bags that this project does not have")
    return lines


def _agreement(plan: MergePlan) -> list[str]:
    lines = _table("tags", plan.tag_agreement) + _table("labels", plan.label_agreement)
    if not lines:
        return ["agreement: nothing was answered by both independently"]
    return ["agreement (Cohen's kappa):", *lines]


def _table(what: str, found: Agreement) -> list[str]:
    if not found.overall.n:
        return []
    rows = [(f"all {what}", found.overall), *sorted(found.classes.items())]
    return [f"  {name[:30]:30} {_kappa(each)}" for name, each in rows]


def _kappa(found: Kappa) -> str:
    alike = f"{found.n_agreed} of {found.n} alike"
    if found.kappa is None:
        return f"   -                   {alike}"
    return f"{found.kappa:5.2f} ({found.low:5.2f} to {found.high:5.2f})  {alike}"


def _shown(listed: list[dict[str, Any]]) -> list[str]:
    lines = [
        f"conflict: {each['bag']}, {each['what']}: {each['ours'][0]} {each['ours'][1]}, "
        f"{each['theirs'][0]} {each['theirs'][1]}"
        for each in listed[:_MOST_LISTED]
    ]
    more = len(listed) - len(lines)
    return [*lines, *([f"and {more} more conflicts"] if more > 0 else [])]
