"""Compute the features of segments that are missing or were made with other settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.instances import feature_blocks
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import embedding_use
from miml_core.project.jobs.tasks.processes import run_in_processes
from miml_core.project.queries import features


def run(context: JobContext) -> dict[str, Any]:
    """Compute the features of all segments without up-to-date ones."""
    described, n_segments = describe_all(context)
    notes = embedding_use.note_not_described(context, described)
    message = f"computed the features of {counted(n_segments, 'segment')} in {counted(len(described), 'bag')}"
    message += embedding_use.mention(notes)
    return {"message": message, "bags": len(described), "segments": n_segments, "notes": notes}


def describe_all(context: JobContext) -> tuple[list[int], int]:
    """Compute missing features; return the bags, and the number of segments. Bags that fail are listed and left out."""
    import miml_core.instances  # noqa: F401  # loading it inside the transaction would keep annotators waiting

    with context.store.write() as connection:
        settings.renew_keys(connection)
    with context.store.read() as connection:
        chosen = features.bags_to_describe(connection)
        names = {bag_id: bag_row(connection, bag_id).name for bag_id in chosen}
    if not embedding_use.check(context, chosen):
        return [], 0
    done, described = [], 0
    tasks = _tasks(context, chosen)
    for number, (bag_id, found) in enumerate(run_in_processes(context, tasks, _describe, len(chosen)), start=1):
        try:
            if isinstance(found, str):
                raise BagtagError(found)
            described += feature_blocks.store_described(context.store, found)
            done.append(bag_id)
        except BagtagError as error:
            context.fail(names[bag_id], str(error), bag_id)
        context.report(number, len(chosen), f"computing features: {names[bag_id]}")
    return done, described


def _tasks(context: JobContext, chosen: list[int]) -> Iterator[tuple[int, tuple[feature_blocks.BagToDescribe] | str]]:
    for bag_id in chosen:
        try:
            yield bag_id, (feature_blocks.read_bag(context.store, bag_id),)
        except BagtagError as error:
            yield bag_id, str(error)


def _describe(bag: feature_blocks.BagToDescribe) -> feature_blocks.DescribedBag | str:
    """Describe the segments of one bag, in any process; return the reason if that fails."""
    try:
        return feature_blocks.describe(bag)
    except BagtagError as error:
        return str(error)
