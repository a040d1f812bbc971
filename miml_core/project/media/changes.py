"""Accept a media file that has changed: its segments are detected again in the new file.

Tags stay. Segments stay until the next segment job replaces them, as after a change of settings: drawn ones are kept,
and labels of segments that are detected again. Features and predictions are removed at once, so that those of the old
file are not mixed with those of the new.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from miml_core.errors import BagtagError
from miml_core.project.db import counters, revisions, settings
from miml_core.project.db.history_notes import write_history_note
from miml_core.project.db.schema import bag_predictions, features, predictions
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import media as table
from miml_core.project.db.store import Store
from miml_core.project.media import files as media_files
from miml_core.project.media import state as media_state


@dataclass(frozen=True)
class Accepted:
    """Which files were accepted, and notes for the person."""

    paths: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def changed_ids(connection: Connection) -> list[int]:
    """Return the ids of the files that have changed, as last checked."""
    return list(connection.scalars(select(table.c.id).where(media_state.STORED_STATE == media_state.CHANGED)))


def accept_changed(store: Store, annotator: str, media_ids: Sequence[int] | None = None) -> Accepted:
    """Accept the changed files of a project (or some of them) as they are now; the next segment job reads them."""
    media_state.refresh(store, None if media_ids is None else list(media_ids))
    with store.read() as connection:
        kind = settings.kind(connection)
        query = select(table).where(media_state.STORED_STATE == media_state.CHANGED).order_by(table.c.id)
        rows = [row for row in connection.execute(query) if media_ids is None or row.id in media_ids]
    done = Accepted()
    for row in rows:
        path = media_files.real_path(store.folder, row.path)
        try:
            facts = media_files.read_file(store.folder, path, kind, bag_length=None, overlap=0.0, remainder="keep")
        except BagtagError as error:
            done.notes.append(f"Not accepted: {error}")
            continue
        done.notes.extend(_accept(store, annotator, row, facts))
        done.paths.append(row.path)
    media_state.save(store)
    return done


def _accept(store: Store, annotator: str, row: Row[Any], facts: media_files.FileFacts) -> list[str]:
    new = {name: value for name, value in facts.medium.items() if name not in ("recorded_at", "recorded_from")}
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id == row.id).values(**new))
        chosen = connection.execute(select(bags_table).where(bags_table.c.media_id == row.id)).all()
        bag_ids = [bag.id for bag in chosen]
        of_file = select(bags_table.c.id).where(bags_table.c.media_id == row.id)
        for made in (features, bag_predictions, predictions):
            connection.execute(delete(made).where(made.c.bag_id.in_(of_file)))
        again = {"segment_key": None, "grid_id": None, "error": None}
        connection.execute(update(bags_table).where(bags_table.c.media_id == row.id).values(**again))
        counters.refresh(connection, bag_ids)
        revision = revisions.advance(connection, changed_topics=["media"], changed_bags=bag_ids)
        sentence = f"{Path(row.path).name}: the changed file was accepted; detect its segments again"
        write_history_note(connection, annotator, "media", sentence, revision=revision)
    return [facts.note] * bool(facts.note) + _beyond_the_end(chosen, facts)


def _beyond_the_end(chosen: Sequence[Row[Any]], facts: media_files.FileFacts) -> list[str]:
    end = facts.medium.get("duration")
    if end is None:
        return []
    return [
        f"{bag.name!r} begins at {bag.start:g} s, after the new end of its file ({end:.1f} s). It is kept with its "
        "tags, but no segments can be detected in it."
        for bag in chosen
        if bag.start >= end
    ]
