"""Numbers computed from other tables, stored in the rows of the bags so that lists and queues are quick."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, text

from miml_core.project.events import BagsChanged

_REVIEWED = """
    UPDATE predictions SET reviewed =
      EXISTS (SELECT 1 FROM verdicts WHERE verdicts.segment_id = predictions.segment_id AND checked_by = 'eye')
      OR NOT (SELECT alive FROM segments WHERE segments.id = predictions.segment_id)
    """
_CONTRADICTION = """
    UPDATE predictions SET contradiction = CASE
      WHEN free_top < 0 THEN 0
      WHEN (SELECT value FROM tags WHERE tags.bag_id = predictions.bag_id AND class_id = free_top) > 0 THEN 0
      WHEN (SELECT value FROM tags WHERE tags.bag_id = predictions.bag_id AND class_id = free_top) < 0
        OR (SELECT finished AND NOT rest_unknown FROM bags WHERE bags.id = predictions.bag_id)
      THEN free_probability ELSE 0 END
    """
_N_TAGS = "(SELECT count(*) FROM tags WHERE bag_id = bags.id AND value > 0)"
_N_SEGMENTS = "(SELECT count(*) FROM segments WHERE bag_id = bags.id AND alive)"
_N_REVIEWED = """
    (SELECT count(*) FROM segments JOIN verdicts ON segment_id = segments.id
     WHERE bag_id = bags.id AND alive AND checked_by = 'eye')
    """
_OF_BAG = f"""
    UPDATE bags SET n_tags = {_N_TAGS}, n_segments = {_N_SEGMENTS}, n_reviewed = {_N_REVIEWED},
      doubt = (SELECT sum(1 - probability) * sum(1 - probability) / count(*)
        FROM predictions WHERE bag_id = bags.id AND NOT reviewed)
    """
_WRONG = f"""
    SELECT count(*) FROM bags
    WHERE n_tags != {_N_TAGS} OR n_segments != {_N_SEGMENTS} OR n_reviewed != {_N_REVIEWED}
    """
_NOT_EXACT = "UPDATE features SET exact = 0"
_SOME = "IN (SELECT value FROM json_each(:bags))"

# Built once: building a statement takes longer than running it, and every edit runs these.
_REVIEWED_OF_SOME = text(f"{_REVIEWED} WHERE bag_id {_SOME}")
_CONTRADICTION_OF_SOME = text(f"{_CONTRADICTION} WHERE bag_id {_SOME}")
_NOT_EXACT_OF_SOME = text(f"{_NOT_EXACT} WHERE bag_id {_SOME}")
_OF_SOME_BAGS = text(f"{_OF_BAG} WHERE id {_SOME}")


def refresh(connection: Connection, bag_ids: Sequence[int], *, shapes_changed: bool = False) -> None:
    """Update the numbers of some bags after an edit or a job."""
    chosen = {"bags": json.dumps([int(bag) for bag in bag_ids])}
    connection.execute(_REVIEWED_OF_SOME, chosen)
    connection.execute(_CONTRADICTION_OF_SOME, chosen)
    if shapes_changed:
        connection.execute(_NOT_EXACT_OF_SOME, chosen)
    refresh_bags(connection, bag_ids)


def update(event: BagsChanged) -> None:
    """Update the numbers of changed bags."""
    refresh(event.connection, event.bag_ids, shapes_changed="segments" in event.tables)


def refresh_bags(connection: Connection, bag_ids: Iterable[int]) -> None:
    """Update only the numbers in the rows of the bags, if those of their segments are known to be right."""
    chosen = {"bags": json.dumps([int(bag) for bag in bag_ids])}
    connection.execute(_OF_SOME_BAGS, chosen)


def refresh_all(connection: Connection) -> None:
    """Update the numbers of the whole project."""
    for statement in (_REVIEWED, _CONTRADICTION, _OF_BAG):
        connection.execute(text(statement))


def n_wrong(connection: Connection) -> int:
    """Count the bags whose stored numbers differ from those computed from the other tables."""
    return int(connection.execute(text(_WRONG)).scalar_one())
