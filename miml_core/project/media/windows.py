"""Add single windows of recordings as bags, instead of cutting a whole recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import insert, select

from miml_core.project.db import revisions, settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import media as media_table
from miml_core.project.db.store import Store
from miml_core.project.media import files


def add_windows(store: Store, path: Path, windows: Sequence[tuple[float, float]]) -> list[int]:
    """Add windows of a file as bags; return the id of the bag of each window, also of those that exist already.

    Parameters
    ----------
    store : Store
    path : Path
        It must be in a folder that was allowed.
    windows : sequence of (start, end)
        In seconds; (0, 0) is a picture.
    """
    with store.read() as connection:
        kind = settings.kind(connection)
    facts = files.read_file(store.folder, path, kind, bag_length=None, overlap=0.0, remainder="keep")
    with store.write() as connection:
        files.store_file(connection, replace(facts, bags=[]))
        is_file = (media_table.c.fingerprint == facts.medium["fingerprint"]) & (
            media_table.c.size == facts.medium["size"]
        )
        media_id = connection.execute(select(media_table.c.id).where(is_file)).scalar_one()
        known = {
            (row.start, row.end): row.id
            for row in connection.execute(select(bags_table).where(bags_table.c.media_id == media_id))
        }
        new = [window for window in dict.fromkeys(windows) if window not in known]
        revision = revisions.advance(connection, changed_topics=["media"]) if new else 0
        for start, end in new:
            done = connection.execute(
                insert(bags_table).values(media_id=media_id, revision=revision, **_row(facts, path, start, end))
            )
            assert done.inserted_primary_key is not None
            known[start, end] = int(done.inserted_primary_key[0])
    return [known[window] for window in windows]


def _row(facts: files.FileFacts, path: Path, start: float, end: float) -> dict[str, Any]:
    is_whole = start == 0.0 and end in (0.0, facts.medium.get("duration"))
    moment = facts.medium.get("recorded_at")
    return {
        "name": path.name if is_whole else f"{path.name} {files.minutes_text(start)}-{files.minutes_text(end)}",
        "start": start,
        "end": end,
        "recorded_at": (datetime.fromisoformat(moment) + timedelta(seconds=start)).isoformat() if moment else None,
    }
