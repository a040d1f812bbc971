"""Revisions: one number that grows with every change, stored with what changed.

A screen remembers the revision it shows and asks for the changes since; it need not compare contents.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select, text, update

from miml_core.project.db.schema import bags, topics
from miml_core.project.records import News

COUNTER = "project"

# Built once: building a statement takes longer than running it, and every edit runs these.
_CURRENT = select(topics.c.revision).where(topics.c.name == COUNTER)
_ADVANCE = update(topics).where(topics.c.name == COUNTER).values(revision=topics.c.revision + 1)
_MARK_TOPIC = text("INSERT INTO topics (name, revision) VALUES (:n, :r) ON CONFLICT (name) DO UPDATE SET revision = :r")
_MARK_BAG = text("UPDATE bags SET revision = :r WHERE id = :b")


def current(connection: Connection) -> int:
    """Return the revision of the project."""
    return int(connection.execute(_CURRENT).scalar() or 0)


def advance(connection: Connection, *, changed_topics: Iterable[str] = (), changed_bags: Iterable[int] = ()) -> int:
    """Take the next revision and mark what changed with it."""
    connection.execute(_ADVANCE)
    revision = current(connection)
    for name in changed_topics:
        connection.execute(_MARK_TOPIC, {"n": name, "r": revision})
    marked = [{"b": bag, "r": revision} for bag in changed_bags]
    if marked:
        connection.execute(_MARK_BAG, marked)
    return revision


def news(connection: Connection, since: int) -> News:
    """Return what changed after revision `since`."""
    changed = connection.execute(select(bags.c.id).where(bags.c.revision > since).order_by(bags.c.id)).scalars()
    named = connection.execute(
        select(topics.c.name).where(topics.c.revision > since, topics.c.name != COUNTER).order_by(topics.c.name)
    ).scalars()
    return News(current(connection), list(changed), list(named))
