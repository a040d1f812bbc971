"""The wall: all segments of a class, or a given list of segments, side by side.

A screen asks for the ids of the whole list once, which then stays as it is while people work through it, and for the
facts of the segments that it shows.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy import Connection, Row, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project.queries import certainty, prediction_blocks
from miml_core.project.queries.predictions import PredictionTable, table_of
from miml_core.project.review_records import WallClass, WallItem

WallOrder = Literal["doubtful", "sure"]
WallShow = Literal["open", "unsure", "checked", "threshold", "all"]

MOST_IDS = 50_000
"""Longest list of a wall; what is behind comes when those before are checked."""
_MOST_GUESSES = 4
_LEAST_GUESS = 0.005


@dataclass(frozen=True)
class WallQuery:
    """Which segments a wall shows, and in which order.

    Attributes
    ----------
    predicted : int or None
        The class, or `BACKGROUND`, that segments are predicted as or, once they have a label, labelled with.
    order : "doubtful" or "sure"
        Lowest or highest probability first. Of checked segments those that the current run calls something else are
        the most doubtful.
    show : "open", "unsure", "checked", "threshold" or "all"
        Without a label and surely predicted; without a label and below the threshold of a sure prediction, the class
        being the best guess only; checked by eye; accepted by threshold; or all of these.
    segments : tuple of int
        Instead of a class: these segments, in this order.

    Examples
    --------
    >>> WallQuery(predicted=3, order="sure").show
    'open'
    """

    predicted: int | None = None
    order: WallOrder = "doubtful"
    show: WallShow = "open"
    segments: tuple[int, ...] = ()


_OPEN = """
    SELECT segment_id, probability AS score FROM predictions
    WHERE top = :label AND NOT reviewed AND probability {is_sure} :sure_from
      AND NOT EXISTS (SELECT 1 FROM verdicts WHERE verdicts.segment_id = predictions.segment_id)
    """
_LABELLED = """
    SELECT verdicts.segment_id, CASE WHEN predictions.top = :label THEN predictions.probability
      ELSE -coalesce(predictions.probability, 0) END AS score
    FROM verdicts JOIN segments ON segments.id = verdicts.segment_id AND alive
    LEFT JOIN predictions ON predictions.segment_id = verdicts.segment_id
    WHERE class_id {is_label} AND checked_by = '{by}'
    """
_GIVEN = text(
    """
    SELECT given.value FROM json_each(:ids) AS given CROSS JOIN segments ON segments.id = given.value
    WHERE alive ORDER BY given.key
    """
)
_ITEMS = text(
    """
    SELECT segments.id, segments.bag_id, bags.name AS bag, number, segments."left", segments."right", low, high,
      segments.revision, verdicts.segment_id IS NOT NULL AS labelled, class_id, accepted, checked_by
    FROM segments JOIN bags ON bags.id = segments.bag_id
    LEFT JOIN verdicts ON verdicts.segment_id = segments.id
    WHERE segments.id IN (SELECT value FROM json_each(:ids)) AND alive
    """
)
_BLOCKS = text("SELECT * FROM bag_predictions WHERE run_id = :run AND bag_id IN (SELECT value FROM json_each(:bags))")
_N_OPEN = text(
    """
    SELECT top, probability >= :sure_from AS sure, count(*) AS number FROM predictions WHERE NOT reviewed
    GROUP BY top, sure
    """
)
_N_OPEN_LABELLED = text(
    """
    SELECT top, predictions.probability >= :sure_from AS sure, count(*) AS number
    FROM verdicts JOIN predictions ON predictions.segment_id = verdicts.segment_id
    WHERE checked_by = 'threshold' AND NOT reviewed GROUP BY top, sure
    """
)
_N_LABELLED = text(
    """
    SELECT coalesce(class_id, :background) AS label, checked_by, count(*) AS number
    FROM verdicts JOIN segments ON segments.id = segment_id AND alive GROUP BY label, checked_by
    """
)


def wall_ids(connection: Connection, query: WallQuery, *, offset: int = 0, limit: int = MOST_IDS) -> list[int]:
    """Return the ids of a wall in its order; segments that no longer exist are left out."""
    if query.predicted is None:
        given = connection.execute(_GIVEN, {"ids": json.dumps(list(query.segments))}).scalars().all()
        return list(given[offset : offset + limit])
    direction = "DESC" if query.order == "sure" else "ASC"
    ordered = f"ORDER BY score {direction}, segment_id LIMIT :limit OFFSET :offset"
    statement = f"SELECT segment_id FROM ({_rows_of(query)}) {ordered}"
    values = {**_values(connection, query), "limit": limit, "offset": offset}
    found = connection.execute(text(statement), values)
    return [int(row.segment_id) for row in found]


def wall_size(connection: Connection, query: WallQuery) -> int:
    """Return how many segments a wall has."""
    if query.predicted is None:
        return len(wall_ids(connection, query))
    number = connection.execute(text(f"SELECT count(*) FROM ({_rows_of(query)})"), _values(connection, query))
    return int(number.scalar_one())


def wall_items(connection: Connection, segment_ids: Sequence[int]) -> list[WallItem]:
    """Return what a wall shows of segments, in the order asked for, without those that no longer exist."""
    rows = {row.id: row for row in connection.execute(_ITEMS, {"ids": json.dumps(list(segment_ids))})}
    guesses = _guesses(connection, list(rows.values()))
    return [_item(rows[one], guesses.get(one, [])) for one in dict.fromkeys(segment_ids) if one in rows]


def wall_classes(connection: Connection) -> list[WallClass]:
    """Return how many segments each class has, for those with any; `BACKGROUND` is one of them."""
    sure_from = {"sure_from": certainty.sure_from(connection)}
    waiting = {(row.top, row.sure): row.number for row in connection.execute(_N_OPEN, sure_from)}
    for row in connection.execute(_N_OPEN_LABELLED, sure_from):
        waiting[row.top, row.sure] -= row.number
    labelled: dict[str, dict[int, int]] = {"eye": {}, "threshold": {}}
    for row in connection.execute(_N_LABELLED, {"background": BACKGROUND}):
        labelled[row.checked_by][row.label] = row.number
    ids = sorted({*(label for label, _ in waiting), *labelled["eye"], *labelled["threshold"]})
    return [
        WallClass(
            one,
            waiting.get((one, 1), 0),
            waiting.get((one, 0), 0),
            labelled["eye"].get(one, 0),
            labelled["threshold"].get(one, 0),
        )
        for one in ids
    ]


def _values(connection: Connection, query: WallQuery) -> dict[str, Any]:
    return {"label": query.predicted, "sure_from": certainty.sure_from(connection)}


def _rows_of(query: WallQuery) -> str:
    is_label = "IS NULL" if query.predicted == BACKGROUND else "= :label"
    parts = {
        "open": _OPEN.format(is_sure=">="),
        "unsure": _OPEN.format(is_sure="<"),
        "checked": _LABELLED.format(is_label=is_label, by="eye"),
        "threshold": _LABELLED.format(is_label=is_label, by="threshold"),
    }
    if query.order not in ("doubtful", "sure") or query.show not in (*parts, "all"):
        raise BagtagError(f"A wall cannot show {query.show!r} segments {query.order!r} first; choose another list.")
    return " UNION ALL ".join(parts.values()) if query.show == "all" else parts[query.show]


def _guesses(connection: Connection, rows: list[Row[Any]]) -> dict[int, list[tuple[int, float]]]:
    """Return {segment id: its likeliest labels with their probabilities} by the current run."""
    run = prediction_blocks.current_run(connection)
    bags = sorted({row.bag_id for row in rows})
    blocks = [] if run is None else connection.execute(_BLOCKS, {"run": run.id, "bags": json.dumps(bags)}).all()
    if run is None or not blocks:
        return {}
    columns = prediction_blocks.columns_of(connection, run)
    return _likeliest(table_of(columns, blocks), columns.ids.tolist(), [row.id for row in rows])


def _likeliest(table: PredictionTable, labels: list[int], wanted: list[int]) -> dict[int, list[tuple[int, float]]]:
    found: dict[int, list[tuple[int, float]]] = {}
    for row in np.flatnonzero(np.isin(table.segment_ids, wanted)):
        own = table.probabilities[row]
        order = np.argsort(-own, kind="stable")[:_MOST_GUESSES]
        likely = [(labels[place], float(own[place])) for place in order]
        found[int(table.segment_ids[row])] = [likely[0], *(one for one in likely[1:] if one[1] >= _LEAST_GUESS)]
    return found


def _item(row: Row[Any], guesses: list[tuple[int, float]]) -> WallItem:
    label = None if not row.labelled else BACKGROUND if row.class_id is None else row.class_id
    return WallItem(
        segment_id=row.id,
        bag_id=row.bag_id,
        bag=row.bag,
        number=row.number,
        left=row.left,
        right=row.right,
        low=row.low,
        high=row.high,
        revision=row.revision,
        label=label,
        accepted=bool(row.accepted),
        checked_by=row.checked_by,
        guesses=guesses,
    )
