"""Segments of a project as the rows that every exchange format takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from sqlalchemy import Connection, Select, select

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.exchange.rows import LabelSource, SegmentRow, Status
from miml_core.features.birdnet.files import LICENCE
from miml_core.features.embeddings import BIRDNET, find_embedding
from miml_core.project.db import settings
from miml_core.project.db.schema import BY_THRESHOLD, bags, media, predictions, verdicts
from miml_core.project.db.schema import segments as segments_table
from miml_core.project.queries import classes, prediction_blocks, segments
from miml_core.project.records import Class, Segment

What = Literal["confirmed", "accepted", "predicted", "all"]
_WITH_LABEL = ("confirmed", "accepted")


@dataclass(frozen=True)
class RowFilter:
    """Which segments are exported, besides what is known of them; an empty field takes all."""

    classes: frozenset[str] = frozenset()
    """Names of the classes of the label."""
    since: str = ""
    """First day of the recording (ISO 8601); bags without a date are then left out."""
    until: str = ""
    """Last day of the recording."""
    site: str = ""
    """Part of the path of the file, such as the folder of a site; letter case is ignored."""

    def takes_bag(self, bag: Any) -> bool:
        """Return whether the recording or picture of a bag is of the chosen site and days."""
        day = (bag.recorded_at or bag.began or "")[:10]
        in_time = (not self.since or day >= self.since) and (not self.until or "" < day <= self.until)
        return in_time and self.site.casefold() in str(bag.path).casefold()

    def takes_label(self, label: str) -> bool:
        """Return whether a segment with this label is taken."""
        return not self.classes or label in self.classes


def read_rows(
    connection: Connection,
    what: str,
    *,
    min_probability: float = 0.0,
    bag_ids: Sequence[int] | None = None,
    limit: int | None = None,
    outlines: bool = True,
    only: RowFilter | None = None,
) -> list[SegmentRow]:
    """Return all rows, or the first `limit`, for which only bags with a matching segment are read."""
    made: list[SegmentRow] = []
    if what == "predicted" and limit is not None and bag_ids is None:
        bag_ids = _bags_to_read(connection, min_probability)
    for row in iter_rows(
        connection, what, min_probability=min_probability, bag_ids=bag_ids, outlines=outlines, only=only
    ):
        if limit is not None and len(made) >= limit:
            break
        made.append(row)
    return made


def _bags_to_read(connection: Connection, min_probability: float) -> list[int]:
    """Return bags with a checked segment or one predicted at least this probable (within the precision of float16)."""
    sure = select(predictions.c.bag_id).where(predictions.c.probability >= min_probability - 1e-3)
    return list(connection.execute(sure.union(_labelled_bags())).scalars())


def _labelled_bags() -> Select[Any]:
    """Return the query of bags with a label, by a person or a threshold."""
    return select(segments_table.c.bag_id).join(verdicts, verdicts.c.segment_id == segments_table.c.id).distinct()


def iter_rows(
    connection: Connection,
    what: str,
    *,
    min_probability: float = 0.0,
    bag_ids: Sequence[int] | None = None,
    outlines: bool = True,
    only: RowFilter | None = None,
) -> Iterator[SegmentRow]:
    """Yield one row per segment, bag by bag."""
    if what not in get_args(What):
        raise BagtagError(f"What to export is one of {', '.join(get_args(What))}, not {what!r}; choose one of these.")
    only = only or RowFilter()
    kind = settings.kind(connection)
    known = {one.id: one for one in classes.all_classes(connection)}
    run = prediction_blocks.current_run(connection)
    model = "" if run is None else str(run.model)
    source = "" if run is None else provenance(connection, run.feature_key)
    wanted = None if bag_ids is None else set(bag_ids)
    of_file = (media.c.path, media.c.width, media.c.height, media.c.duration, media.c.rate, media.c.channels)
    files = select(bags, *of_file, media.c.recorded_at.label("began"))
    has_any = (bags.c.n_reviewed if what == "confirmed" else bags.c.n_segments) > 0
    if what == "accepted":
        has_any = bags.c.id.in_(_labelled_bags())
    joined = files.join(media, media.c.id == bags.c.media_id).where(has_any)
    ordered = joined.order_by(media.c.path, bags.c.start, bags.c.id)
    for bag in connection.execute(ordered).all():
        if (wanted is not None and bag.id not in wanted) or not only.takes_bag(bag):
            continue
        for segment in segments.of_bag(connection, bag.id, tolerance=0.0 if outlines else None):
            label_fields = _labelled(segment, known, what, min_probability, model, source)
            if label_fields is not None and only.takes_label(label_fields.get("label", "")):
                yield SegmentRow(**_position_fields(bag, segment, kind), **label_fields)


def _position_fields(bag: Any, segment: Segment, kind: str) -> dict[str, Any]:
    place: dict[str, Any] = {
        "file": bag.path,
        "kind": kind,
        "bag": bag.name,
        "segment": segment.id,
        "outline": tuple(tuple(ring) for ring in segment.outline),
        "recorded_at": bag.began or "",
        "other_tags": segment.other_tags,
    }
    if kind == "picture":
        box = (segment.left, segment.low, segment.right, segment.high)
        return {**place, "box": box, "width": bag.width, "height": bag.height}
    of_file = {"duration_s": bag.duration, "rate": bag.rate, "channels": bag.channels}
    edges = {"start_s": segment.left, "end_s": segment.right, "low_hz": segment.low, "high_hz": segment.high}
    return {**place, **of_file, **edges}


def provenance(connection: Connection, feature_key: str) -> str:
    """Return the embedding behind features of a key, with its licence: "birdnet-2.4 (CC BY-NC-SA 4.0)"; else empty."""

    used, kind = settings.instance_settings(connection), settings.kind(connection)
    for name in (used.embedding, BIRDNET):  # the settings may have changed since the run
        if name is None or replace(used, embedding=name).feature_key != feature_key:
            continue
        licence = LICENCE if name == BIRDNET else ""
        with suppress(BagtagError):  # it may be installed on another computer only
            licence = find_embedding(name, kind).licence
        return f"{name} ({licence})" if licence else name
    return ""


def _labelled(
    segment: Segment, known: dict[int, Class], what: str, min_probability: float, model: str, source: str
) -> dict[str, Any] | None:
    guess = segment.prediction
    by_threshold = segment.checked_by == BY_THRESHOLD
    if segment.label is not None and not (by_threshold and what == "confirmed"):
        probability = None if guess is None else guess.probabilities.get(segment.label)
        status: Status = "accepted" if by_threshold else "confirmed"
        said_by: LabelSource = "model" if by_threshold else "person"
        who = segment.annotator or ""
        fields = _label_fields(known, segment.label, status, said_by, who, probability, guess, source)
        return {**fields, "checked_by": segment.checked_by or ""}
    if what in _WITH_LABEL:
        return None
    if guess is not None and guess.probability >= min_probability:
        return _label_fields(known, guess.top, "predicted", "model", model, guess.probability, guess, source)
    return {"status": "unlabelled"} if what == "all" else None


def _label_fields(
    known: dict[int, Class],
    label: int,
    status: Status,
    said_by: LabelSource,
    who: str,
    probability: float | None,
    guess: Any,
    source: str,
) -> dict[str, Any]:
    run = "" if guess is None else f"run {guess.run_id}" + (f", {source}" if source else "")
    word = {"said_by": said_by, "who": who, "probability": probability, "run": run}
    if label == BACKGROUND or label not in known:
        return {**word, "status": "background"}
    return {**word, "status": status, "label": known[label].name, "scientific_name": known[label].scientific_name}
