"""Compute the features of segments that are missing or were made with other settings."""

from __future__ import annotations

from typing import Any

from miml_core.errors import BagtagError
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.instances import feature_blocks
from miml_core.project.jobs.context import JobContext
from miml_core.project.queries import features


def run(context: JobContext) -> dict[str, Any]:
    """Describe all segments without up-to-date features."""
    n_bags, n_segments = describe_all(context)
    return {"message": f"described {n_segments} segments in {n_bags} bags", "bags": n_bags, "segments": n_segments}


def describe_all(context: JobContext) -> tuple[int, int]:
    """Return the numbers of bags and segments that were described; bags that fail are listed and left out."""
    import miml_core.instances  # noqa: F401  # loading it inside the transaction would keep annotators waiting

    with context.store.write() as connection:
        settings.renew_keys(connection)
    with context.store.read() as connection:
        chosen = features.bags_to_describe(connection)
        names = {bag_id: bag_row(connection, bag_id).name for bag_id in chosen}
    described = 0
    for number, bag_id in enumerate(chosen, start=1):
        try:
            described += feature_blocks.describe_bag(context.store, bag_id)
        except BagtagError as error:
            context.fail(names[bag_id], str(error), bag_id)
        context.report(number, len(chosen), f"describing segments: {names[bag_id]}")
    return len(chosen), described
