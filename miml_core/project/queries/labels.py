"""Labels that people gave to segments."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, select

from miml_core.bags import BACKGROUND
from miml_core.project.db.rows import class_row
from miml_core.project.db.schema import BY_EYE, verdicts


def check_label(connection: Connection, label: int | None) -> None:
    """Raise `Gone` for a label whose class does not exist or was merged or removed."""
    if label is not None and label != BACKGROUND:
        class_row(connection, label)


def labels_of(connection: Connection, segment_ids: Sequence[int], *, by_eye: bool = False) -> dict[int, int]:
    """Return {segment id: class id or BACKGROUND} of labelled segments, or only of those a person has seen."""
    query = select(verdicts.c.segment_id, verdicts.c.class_id).where(verdicts.c.segment_id.in_(segment_ids))
    found = connection.execute(query.where(verdicts.c.checked_by == BY_EYE) if by_eye else query)
    return {row.segment_id: BACKGROUND if row.class_id is None else row.class_id for row in found}


def label_name(connection: Connection, label: int | None) -> str:
    """Return the name of a label for people."""
    if label is None:
        return "no label"
    return "background" if label == BACKGROUND else str(class_row(connection, label).name)
