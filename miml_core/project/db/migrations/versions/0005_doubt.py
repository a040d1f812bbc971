"""Bags are as doubtful as the errors expected in them, for their length; before, as their least sure segment."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute(
        "UPDATE bags SET doubt = (SELECT sum(1 - probability) * sum(1 - probability) / count(*) "
        "FROM predictions WHERE bag_id = bags.id AND NOT reviewed)"
    )
