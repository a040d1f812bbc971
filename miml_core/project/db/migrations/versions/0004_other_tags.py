"""Tags that another program gave a segment besides its label."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.execute("ALTER TABLE segments ADD COLUMN other_tags TEXT")
