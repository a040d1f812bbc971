"""How a label was checked: by eye, as all labels so far, or by a threshold of the probability."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.execute("ALTER TABLE verdicts ADD COLUMN checked_by TEXT DEFAULT 'eye' NOT NULL")
    op.execute("CREATE INDEX accepted_by_threshold ON verdicts (segment_id) WHERE checked_by = 'threshold'")
