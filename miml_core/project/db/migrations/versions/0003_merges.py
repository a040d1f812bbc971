"""Copies of other annotators that were merged into the project, and what they answered differently."""

from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.execute(
        """
        CREATE TABLE merges (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            at FLOAT NOT NULL,
            annotator TEXT NOT NULL,
            source TEXT NOT NULL,
            people TEXT NOT NULL,
            counts TEXT NOT NULL,
            agreement TEXT NOT NULL
        )
        """
    )
    op.execute(
        """
        CREATE TABLE conflicts (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            merge_id INTEGER NOT NULL,
            bag_id INTEGER NOT NULL,
            segment_id INTEGER,
            class_id INTEGER,
            ours INTEGER,
            ours_by TEXT NOT NULL,
            ours_at FLOAT NOT NULL,
            theirs INTEGER NOT NULL,
            theirs_by TEXT NOT NULL,
            theirs_at FLOAT NOT NULL,
            resolved BOOLEAN NOT NULL,
            FOREIGN KEY(merge_id) REFERENCES merges (id),
            FOREIGN KEY(bag_id) REFERENCES bags (id) ON DELETE CASCADE,
            FOREIGN KEY(segment_id) REFERENCES segments (id) ON DELETE CASCADE,
            FOREIGN KEY(class_id) REFERENCES classes (id)
        )
        """
    )
    op.execute("CREATE INDEX ix_conflicts_bag_id ON conflicts (bag_id)")
    op.execute("CREATE INDEX ix_conflicts_segment_id ON conflicts (segment_id)")
