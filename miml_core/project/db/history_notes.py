"""Notes in the history: changes that cannot be undone (settings, segments replaced by a job)."""

from __future__ import annotations

import time

from sqlalchemy import Connection, insert

from miml_core.project.db.schema import history


def write_history_note(
    connection: Connection, annotator: str, act: str, sentence: str, *, revision: int, bag_id: int | None = None
) -> None:
    """Add an entry that cannot be undone."""
    connection.execute(
        insert(history).values(
            at=time.time(),
            annotator=annotator,
            act=act,
            kind="note",
            bag_id=bag_id,
            sentence=sentence,
            changes="[]",
            undone=False,
            revision=revision,
        )
    )
