"""Revisions: one number that grows with every change, and where it last changed.

A screen remembers the revision it has drawn and asks for the news since; nobody has to compare contents.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select, text, update

from miml_core.project.rows import News
from miml_core.project.schema import bags, topics

COUNTER = "project"


def current(connection: Connection) -> int:
    return int(connection.execute(select(topics.c.revision).where(topics.c.name == COUNTER)).scalar() or 0)


def advance(connection: Connection, *, changed_topics: Iterable[str] = (), changed_bags: Iterable[int] = ()) -> int:
    """Take the next revision and mark what changed with it."""
    connection.execute(update(topics).where(topics.c.name == COUNTER).values(revision=topics.c.revision + 1))
    revision = current(connection)
    for name in changed_topics:
        connection.execute(
            text("INSERT INTO topics (name, revision) VALUES (:n, :r) ON CONFLICT (name) DO UPDATE SET revision = :r"),
            {"n": name, "r": revision},
        )
    marked = [{"b": bag} for bag in changed_bags]
    if marked:
        connection.execute(text(f"UPDATE bags SET revision = {revision} WHERE id = :b"), marked)
    return revision


def news(connection: Connection, since: int) -> News:
    """What changed after revision `since`."""
    changed = connection.execute(select(bags.c.id).where(bags.c.revision > since).order_by(bags.c.id)).scalars()
    named = connection.execute(
        select(topics.c.name).where(topics.c.revision > since, topics.c.name != COUNTER).order_by(topics.c.name)
    ).scalars()
    return News(current(connection), list(changed), list(named))
