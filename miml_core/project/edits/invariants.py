"""Check what must be true of every bag after every edit: the class of a labelled segment is a tag of the bag.

A prediction accepted by a threshold is no reason to tag a bag, since tags train the model; so it needs none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, text

from miml_core.errors import BagtagError


class Broken(BagtagError):
    """An edit would leave a label whose class is not a tag of the bag."""


_UNTAGGED_LABEL = text(
    """
    SELECT segments.number, classes.name AS class, bags.name AS bag
    FROM json_each(:bags) AS chosen
    CROSS JOIN segments ON segments.bag_id = chosen.value
    JOIN verdicts ON verdicts.segment_id = segments.id
    JOIN classes ON classes.id = verdicts.class_id
    JOIN bags ON bags.id = segments.bag_id
    LEFT JOIN tags ON tags.bag_id = segments.bag_id AND tags.class_id = verdicts.class_id
    WHERE segments.alive AND coalesce(tags.value, 0) <= 0
      AND verdicts.checked_by = 'eye'
    LIMIT 1
    """
)


def check(connection: Connection, bag_ids: Sequence[int]) -> None:
    """Raise `Broken` for a bag that does not fulfil it; inside the transaction, so that nothing is stored."""
    found = connection.execute(_UNTAGGED_LABEL, {"bags": json.dumps(list(bag_ids))}).first()
    if found is not None:
        raise Broken(f"Segment {found.number} of {found.bag!r} is labelled {found[1]!r}; change that label first.")
