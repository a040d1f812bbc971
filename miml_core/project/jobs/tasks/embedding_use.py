"""Report how a job can use its embedding: that it cannot be used here, or that it does not describe some recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from sqlalchemy import select

from miml_core.errors import BagtagError
from miml_core.features.embeddings import find_embedding
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import bags, media
from miml_core.project.jobs.context import JobContext

_MOST_NOTES = 1000


def check(context: JobContext, bag_ids: Sequence[int]) -> bool:
    """Return whether the embedding of the settings can be used; if not, list one failure for all bags together.

    Features are stored under the name of the embedding, so without it these bags cannot be described. What was stored
    before stays.
    """
    with context.store.read() as connection:
        name, kind = settings.instance_settings(connection).embedding, settings.kind(connection)
        if name is None or not bag_ids:
            return True
        example = bag_row(connection, bag_ids[0]).name
    try:
        find_embedding(name, kind)
    except BagtagError as error:
        item = example if len(bag_ids) == 1 else f"{len(bag_ids)} bags, such as {example}"
        context.fail(
            item,
            f"{error} Stored segments and features stay as they are; start the job again once it is installed, or "
            "choose another embedding, or none, on the Segment page.",
        )
        return False
    return True


def note_not_described(context: JobContext, bag_ids: Sequence[int]) -> list[dict[str, str]]:
    """Return one note per recording that the embedding does not describe, and write them to the job's log."""
    with context.store.read() as connection:
        name, kind = settings.instance_settings(connection).embedding, settings.kind(connection)
        if name is None or not bag_ids:
            return []
        files = connection.execute(select(media.c.id, media.c.path, media.c.rate).order_by(media.c.id)).all()
        chosen = set(bag_ids)
        of_bags = connection.execute(select(bags.c.id, bags.c.media_id)).all()
    not_described = find_embedding(name, kind).not_described
    if not_described is None:
        return []
    used = {row.media_id for row in of_bags if row.id in chosen}
    notes = []
    for file in files:
        sentence = not_described(PurePosixPath(file.path).name, file.rate) if file.id in used and file.rate else ""
        if sentence:
            notes.append({"item": str(file.path), "note": sentence})
    for note in notes[:_MOST_NOTES]:
        context.log(note["note"])
    if len(notes) > _MOST_NOTES:
        context.log(f"{len(notes) - _MOST_NOTES} more recordings have such a note.")
    return notes[:_MOST_NOTES]


def mention(notes: Sequence[object]) -> str:
    """Return the end of a job's message that mentions its notes; empty without any."""
    if not notes:
        return ""
    return f"; {len(notes)} {'recording has' if len(notes) == 1 else 'recordings have'} a note (see the job's log)"
