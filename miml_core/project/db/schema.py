"""The tables of a project.

The same as `migrations/` make (a test compares the two). Deleting a bag deletes everything that belongs to it; a
segment or class that a label refers to cannot be deleted by accident.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    text,
)

metadata = MetaData()

BY_EYE, BY_THRESHOLD = "eye", "threshold"
"""How a label was checked: by a person who saw or heard the segment, or by its probability alone."""


def _bag(**options: Any) -> Column[int]:
    return Column("bag_id", Integer, ForeignKey("bags.id", ondelete="CASCADE"), nullable=False, **options)


meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

topics = Table(
    "topics",
    metadata,
    Column("name", Text, primary_key=True),
    Column("revision", Integer, nullable=False),
)
"""The revision at which each topic last changed; the row "project" is the counter itself."""

media = Table(
    "media",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("path", Text, nullable=False, unique=True),
    Column("size", Integer, nullable=False),
    Column("fingerprint", Text, nullable=False, index=True),
    Column("duration", Float),
    Column("rate", Integer),
    Column("channels", Integer),
    Column("width", Integer),
    Column("height", Integer),
    Column("recorded_at", Text),
    Column("recorded_from", Text),
    Column("missing", Boolean, nullable=False, default=False),
    sqlite_autoincrement=True,
)

bags = Table(
    "bags",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("media_id", Integer, ForeignKey("media.id"), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("start", Float, nullable=False),
    Column("end", Float, nullable=False),
    Column("recorded_at", Text),
    Column("note", Text, nullable=False, default=""),
    Column("finished", Boolean, nullable=False, default=False),
    Column("rest_unknown", Boolean, nullable=False, default=False),
    Column("segment_key", Text),
    Column("grid_id", Integer, ForeignKey("grids.id")),
    Column("error", Text),
    Column("revision", Integer, nullable=False, default=0, index=True),
    Column("tags_at", Float, nullable=False, default=0.0),
    Column("n_tags", Integer, nullable=False, default=0),
    Column("n_segments", Integer, nullable=False, default=0),
    Column("n_reviewed", Integer, nullable=False, default=0),
    Column("doubt", Float),
    sqlite_autoincrement=True,
)
"""`n_tags`, `n_segments`, `n_reviewed` and `doubt` are computed from other tables by `counters.py`."""

classes = Table(
    "classes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False),
    Column("colour", Text, nullable=False),
    Column("shortcut", Text, nullable=False, default=""),
    Column("scientific_name", Text, nullable=False, default=""),
    Column("note", Text, nullable=False, default=""),
    Column("merged_into", Integer, ForeignKey("classes.id")),
    Column("removed", Boolean, nullable=False, default=False),
    sqlite_autoincrement=True,
)
"""A merged or removed class stays as a row, so that older runs and the history can still name it."""
Index(
    "one_class_a_name",
    classes.c.name_key,
    unique=True,
    sqlite_where=text("merged_into IS NULL AND NOT removed"),
)

tags = Table(
    "tags",
    metadata,
    _bag(primary_key=True),
    Column("class_id", Integer, ForeignKey("classes.id"), primary_key=True),
    Column("value", Integer, nullable=False),
)
Index("bags_of_a_class", tags.c.class_id, tags.c.value, tags.c.bag_id)

grids = Table(
    "grids",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("grid", Text, nullable=False, unique=True),
)

segments = Table(
    "segments",
    metadata,
    Column("id", Integer, primary_key=True),
    _bag(index=True),
    Column("number", Integer, nullable=False),
    Column("grid_id", Integer, ForeignKey("grids.id"), nullable=False),
    Column("region", LargeBinary, nullable=False),
    Column("left", Float, nullable=False),
    Column("right", Float, nullable=False),
    Column("low", Float, nullable=False),
    Column("high", Float, nullable=False),
    Column("origin", Text, nullable=False),
    Column("alive", Boolean, nullable=False, default=True),
    Column("revision", Integer, nullable=False, default=0),
    Column("other_tags", Text),
    sqlite_autoincrement=True,
)
"""`alive` is false for segments that a person deleted, merged or split: undo restores them. `other_tags` are those that
a segment was imported with besides its label (`exchange/other_tags.py`)."""

features = Table(
    "features",
    metadata,
    _bag(primary_key=True),
    Column("feature_key", Text, nullable=False),
    Column("n_features", Integer, nullable=False),
    Column("exact", Boolean, nullable=False),
    Column("segment_ids", LargeBinary, nullable=False),
    Column("numbers", LargeBinary, nullable=False),
)
"""All features of a bag in one block (float32, row by row). `exact`: the rows are exactly its live segments."""

verdicts = Table(
    "verdicts",
    metadata,
    Column("segment_id", Integer, ForeignKey("segments.id"), primary_key=True),
    Column("class_id", Integer, ForeignKey("classes.id"), index=True),
    Column("accepted", Boolean, nullable=False),
    Column("sampled", Boolean, nullable=False),
    Column("run_id", Integer),
    Column("predicted", Integer),
    Column("probability", Float),
    Column("annotator", Text, nullable=False),
    Column("at", Float, nullable=False, index=True),
    Column("checked_by", Text, nullable=False, server_default=BY_EYE),
)
"""The label of a segment by a person (`class_id` null: background), and what the current run had predicted.

`checked_by` is `BY_THRESHOLD` for predictions that were accepted because of their probability. Nobody looked at those:
they count nowhere as checked, train nothing, and need no tag of their bag.
"""
Index("accepted_by_threshold", verdicts.c.segment_id, sqlite_where=text(f"checked_by = '{BY_THRESHOLD}'"))

history = Table(
    "history",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("annotator", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("bag_id", Integer),
    Column("sentence", Text, nullable=False),
    Column("changes", Text, nullable=False),
    Column("target", Integer, ForeignKey("history.id")),
    Column("undone", Boolean, nullable=False, default=False),
    Column("revision", Integer, nullable=False),
    Column("nonce", Text),
    sqlite_autoincrement=True,
)
Index("history_of_a_person", history.c.annotator, history.c.kind, history.c.id)
Index("history_of_a_bag", history.c.bag_id, history.c.id)
Index("history_by_revision", history.c.revision)

edits = Table(
    "edits",
    metadata,
    Column("nonce", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("result", Text, nullable=False),
    Column("at", Float, nullable=False),
)
"""Which edits of which screen are stored, so that a repeat does nothing."""

runs = Table(
    "runs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("model", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("seed", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("seconds", Float),
    Column("scores", Text, nullable=False, default="{}"),
    Column("curves", Text, nullable=False, default="{}"),
    Column("classes", Text, nullable=False, default="[]"),
    Column("background", Boolean, nullable=False, default=False),
    Column("feature_key", Text, nullable=False),
    Column("n_bags", Integer, nullable=False, default=0),
    Column("n_segments", Integer, nullable=False, default=0),
    Column("n_corrections", Integer, nullable=False, default=0),
    Column("annotator", Text, nullable=False),
    Column("message", Text, nullable=False, default=""),
    Column("job_id", Integer),
    sqlite_autoincrement=True,
)

bag_predictions = Table(
    "bag_predictions",
    metadata,
    Column("run_id", Integer, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    _bag(primary_key=True, index=True),
    Column("revision", Integer, nullable=False),
    Column("segment_ids", LargeBinary, nullable=False),
    Column("posterior", LargeBinary, nullable=False),
    Column("free_top", LargeBinary, nullable=False),
    Column("free_probability", LargeBinary, nullable=False),
    Column("tag_probabilities", LargeBinary),
    Column("informative", LargeBinary),
    Column("key_segments", LargeBinary),
)
"""All predictions of a run for a bag: probabilities as float16, columns as in the run's `classes` (then background).

`informative` and `key_segments` are null for models without them (see `model_outputs.py`).
`revision` is the one the bag was read at, or a later one if only edits followed that predictions do not depend on: a
bag that changed since is to be predicted again.
"""

predictions = Table(
    "predictions",
    metadata,
    Column("segment_id", Integer, ForeignKey("segments.id", ondelete="CASCADE"), primary_key=True),
    _bag(index=True),
    Column("top", Integer, nullable=False),
    Column("probability", Float, nullable=False),
    Column("margin", Float, nullable=False),
    Column("free_top", Integer, nullable=False),
    Column("free_probability", Float, nullable=False),
    Column("contradiction", Float, nullable=False),
    Column("shuffle", Integer, nullable=False),
    Column("informative", Float),
    Column("reviewed", Boolean, nullable=False),
)
"""One row per segment: the current run's prediction, for the review queues; `shuffle` orders the random sample."""
_OPEN = text("NOT reviewed")
Index("review_least_sure", predictions.c.margin, sqlite_where=_OPEN)
Index("review_by_class", predictions.c.top, predictions.c.probability, sqlite_where=_OPEN)
Index("review_at_random", predictions.c.shuffle, sqlite_where=_OPEN)
Index(
    "review_contradictions",
    predictions.c.contradiction,
    sqlite_where=text("NOT reviewed AND contradiction > 0"),
)
Index(
    "review_most_informative",
    predictions.c.informative,
    sqlite_where=text("NOT reviewed AND informative IS NOT NULL"),
)

merges = Table(
    "merges",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("annotator", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("people", Text, nullable=False),
    Column("counts", Text, nullable=False),
    Column("agreement", Text, nullable=False),
    sqlite_autoincrement=True,
)
"""Copies of other annotators that were merged into the project, with the agreement before the merge."""

conflicts = Table(
    "conflicts",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("merge_id", Integer, ForeignKey("merges.id"), nullable=False),
    _bag(index=True),
    Column("segment_id", Integer, ForeignKey("segments.id", ondelete="CASCADE"), index=True),
    Column("class_id", Integer, ForeignKey("classes.id")),
    Column("ours", Integer),
    Column("ours_by", Text, nullable=False),
    Column("ours_at", Float, nullable=False),
    Column("theirs", Integer, nullable=False),
    Column("theirs_by", Text, nullable=False),
    Column("theirs_at", Float, nullable=False),
    Column("resolved", Boolean, nullable=False, default=False),
    sqlite_autoincrement=True,
)
"""What a merge found answered differently; ours was kept.

Of a label (`segment_id`): class ids, -2 for background, null for none. Of a tag (`class_id`): 1 and -1. Open as long as
nobody decided: see `queries/conflicts.py`.
"""

jobs = Table(
    "jobs",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("lane", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("state", Text, nullable=False, index=True),
    Column("done", Integer, nullable=False, default=0),
    Column("total", Integer, nullable=False, default=0),
    Column("message", Text, nullable=False, default=""),
    Column("info", Text, nullable=False, default="{}"),
    Column("result", Text, nullable=False, default="{}"),
    Column("cancel", Boolean, nullable=False, default=False),
    Column("pid", Integer),
    Column("host", Text),
    Column("heartbeat", Float),
    Column("created_at", Float, nullable=False),
    Column("started_at", Float),
    Column("finished_at", Float),
    Column("annotator", Text, nullable=False),
    sqlite_autoincrement=True,
)

job_failures = Table(
    "job_failures",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job_id", Integer, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("item", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("bag_id", Integer),
)

job_log = Table(
    "job_log",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("job_id", Integer, ForeignKey("jobs.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("at", Float, nullable=False),
    Column("text", Text, nullable=False),
)
