"""What people say of segments: corrections and accepted predictions."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.project import bags, classes, predictions, segments, tags
from miml_core.project.changes import Changes
from miml_core.project.review_rows import Prediction
from miml_core.project.schema import segments as segments_table
from miml_core.project.schema import verdicts


def correct(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segment or segments, label: class id, BACKGROUND or null, sampled}"""
    chosen = segments.rows(changes.connection, _asked(act))
    label = act["label"]
    check_label(changes.connection, label)
    before = labels_of(changes.connection, [row.id for row in chosen])
    predicted = _predicted(changes.connection, chosen)
    for row in chosen:
        sampled = bool(act.get("sampled"))
        say(changes, row, label, annotator, accepted=False, sampled=sampled, guess=predicted.get(row.id))
    shown = {**{segment: guess.top for segment, guess in predicted.items()}, **before}
    return _sentence(changes.connection, chosen, shown, label), _bag_of(chosen)


def accept(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{segment or segments, sampled}"""
    chosen = segments.rows(changes.connection, _asked(act))
    predicted = _predicted(changes.connection, chosen)
    for row in chosen:
        if row.id not in predicted:
            raise BagtagError(f"Segment {row.number} has no prediction to accept; train a model first.")
        guess = predicted[row.id]
        say(changes, row, guess.top, annotator, accepted=True, sampled=bool(act.get("sampled")), guess=guess)
    if len(chosen) == 1:
        name = label_name(changes.connection, predicted[chosen[0].id].top)
        return f"segment {chosen[0].number}: accepted {name}", _bag_of(chosen)
    return f"accepted the predictions of {len(chosen)} segments", _bag_of(chosen)


def accept_bag(changes: Changes, act: dict[str, Any], annotator: str) -> tuple[str, int | None]:
    """{bag}: accept what is predicted of every segment nobody has spoken about."""
    bag = bags.row(changes.connection, act["bag"])
    open_rows = changes.connection.execute(
        select(segments_table)
        .outerjoin(verdicts, verdicts.c.segment_id == segments_table.c.id)
        .where(segments_table.c.bag_id == bag.id, segments_table.c.alive, verdicts.c.segment_id.is_(None))
    ).all()
    predicted = _predicted(changes.connection, open_rows)
    chosen = [row for row in open_rows if row.id in predicted]
    if open_rows and not chosen:
        raise BagtagError(f"{bag.name} has no predictions to accept; train a model first.")
    for row in chosen:
        guess = predicted[row.id]
        say(changes, row, guess.top, annotator, accepted=True, sampled=False, guess=guess)
    return f"{bag.name}: accepted the predictions of {len(chosen)} segments", bag.id


def say(
    changes: Changes,
    segment: Row[Any],
    label: int | None,
    annotator: str,
    *,
    accepted: bool = False,
    sampled: bool = False,
    guess: Prediction | None = None,
) -> None:
    """Store one verdict; a class the bag is not tagged with becomes one of its tags."""
    if label is None:
        changes.delete(verdicts, segment.id)
        return
    changes.put(
        verdicts,
        segment.id,
        class_id=None if label == BACKGROUND else label,
        accepted=accepted,
        annotator=annotator,
        at=time.time(),
        **_as_predicted(changes.connection, segment.id, sampled, guess),
    )
    if label != BACKGROUND:
        tags.add(changes, segment.bag_id, label)


def _as_predicted(
    connection: Connection, segment_id: int, sampled: bool, guess: Prediction | None
) -> dict[str, Any]:
    """What the run on screen says of a segment before the person speaks; changing one's mind keeps the first."""
    earlier = connection.execute(select(verdicts).where(verdicts.c.segment_id == segment_id)).first()
    if earlier is not None:
        return {
            "sampled": sampled or bool(earlier.sampled),
            "run_id": earlier.run_id,
            "predicted": earlier.predicted,
            "probability": earlier.probability,
        }
    if guess is None:
        return {"sampled": sampled, "run_id": None, "predicted": None, "probability": None}
    return {
        "sampled": sampled,
        "run_id": guess.run_id,
        "predicted": guess.top,
        "probability": guess.probability,
    }


def check_label(connection: Connection, label: int | None) -> None:
    """Raise `Gone` for a label whose class does not exist or was merged or removed."""
    if label is not None and label != BACKGROUND:
        classes.row(connection, label)


def labels_of(connection: Connection, segment_ids: Sequence[int]) -> dict[int, int]:
    """Segment id -> class id or BACKGROUND, for those somebody has spoken about."""
    found = connection.execute(
        select(verdicts.c.segment_id, verdicts.c.class_id).where(verdicts.c.segment_id.in_(segment_ids))
    )
    return {row.segment_id: BACKGROUND if row.class_id is None else row.class_id for row in found}


def label_name(connection: Connection, label: int | None) -> str:
    """A label as people read it."""
    if label is None:
        return "no label"
    return "background" if label == BACKGROUND else str(classes.row(connection, label).name)


def _predicted(connection: Connection, chosen: Sequence[Row[Any]]) -> dict[int, Prediction]:
    """Segment id -> what the current run says, as the screen shows it."""
    found: dict[int, Prediction] = {}
    for bag_id in {row.bag_id for row in chosen}:
        found |= predictions.of_bag(connection, bag_id)
    return found


def _sentence(connection: Connection, chosen: list[Row[Any]], shown: dict[int, int], label: int | None) -> str:
    now = label_name(connection, label)
    if len(chosen) > 1:
        return f"{len(chosen)} segments -> {now}"
    segment = chosen[0]
    earlier = label_name(connection, shown.get(segment.id))
    return f"segment {segment.number}: {earlier} -> {now}"


def _asked(act: dict[str, Any]) -> list[int]:
    ids = act["segments"] if "segments" in act else [act["segment"]]
    if not ids:
        raise BagtagError("Choose at least one segment.")
    return [int(segment_id) for segment_id in ids]


def _bag_of(chosen: list[Row[Any]]) -> int | None:
    found = {row.bag_id for row in chosen}
    return found.pop() if len(found) == 1 else None
