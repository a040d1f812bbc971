"""Read AOEF, the JSON of whombat and soundevent: annotation projects, evaluation sets, predictions of model runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelNote, LabelTable
from miml_core.exchange.masks import box_of
from miml_core.exchange.optional_packages import import_optional
from miml_core.exchange.other_tags import OtherTag, pack_tags
from miml_core.exchange.rows import Ring, SegmentRow

SCIENTIFIC = ("dwc:scientificName", "species", "scientific_name")
COMMON = ("dwc:vernacularName", "common_name")
LABEL_TERMS = (*COMMON, *SCIENTIFIC, "event", "class")
"""Names of the terms whose value is the label of a sound event, the first one that it has; else its first tag."""
BACKGROUND = "(background)"
"""The tag of segments that are none of the classes."""
_ANNOTATIONS = ("clip_annotations",)
_PREDICTIONS = ("clip_predictions",)


def read_aoef(name: str, content: bytes, table: LabelTable) -> None:
    """Add the sound events of an AOEF file to `table`, and the tags of its clips as labels without a place."""
    aoef = import_optional("soundevent.io.aoef", "AOEF files of whombat")
    try:
        collection = aoef.to_soundevent(aoef.AOEFObject.model_validate_json(content))
    except Exception as error:  # whatever soundevent and pydantic raise for a file of another structure
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise BagtagError(f"{name!r} cannot be read by soundevent as AOEF: {first[:200]}.") from error
    for attribute in _ANNOTATIONS:
        for clip in getattr(collection, attribute, None) or []:
            for event in clip.sound_events:
                where = f"{name!r}, sound event {event.uuid}"
                table.add(where, _row, clip.clip, event.sound_event, _annotated(event), where)
            table.notes += _notes(clip)
    for attribute in _PREDICTIONS:
        for clip in getattr(collection, attribute, None) or []:
            for event in clip.sound_events:
                where = f"{name!r}, sound event {event.uuid}"
                table.add(where, _row, clip.clip, event.sound_event, _predicted(event), where)
    if not any(hasattr(collection, attribute) for attribute in (*_ANNOTATIONS, *_PREDICTIONS)):
        table.fail(repr(name), f"a {type(collection).__name__} has no annotations")


def _notes(clip: Any) -> Iterator[LabelNote]:
    """Yield the notes of a recording, of its clip, and of the boxes in it."""
    recording = clip.clip.recording
    file, slowed = recording.path.as_posix(), float(recording.time_expansion or 1.0)
    for note in recording.notes:
        yield LabelNote(file, note.message)
    for note in clip.notes:
        yield LabelNote(file, note.message, clip.clip.start_time * slowed, clip.clip.end_time * slowed)
    for event in clip.sound_events:
        if event.notes and event.sound_event.geometry is not None:
            times = [time * slowed for time, _ in _points(event.sound_event.geometry)]
            label = label_of([(tag.term.name, tag.value) for tag in event.tags])
            about = f"{min(times):.2f} s{', ' if label else ''}{label}"
            for note in event.notes:
                yield LabelNote(file, f"{about}: {note.message}", min(times), max(times))


def is_aoef(head: str) -> bool:
    """Return whether a JSON file is AOEF, by its beginning."""
    return head.lstrip("\ufeff \r\n\t").startswith("{") and '"collection_type"' in head


def _annotated(event: Any) -> dict[str, Any]:
    owner = event.created_by
    who = "" if owner is None else owner.username or owner.name or ""
    tags = [(tag.term.name, tag.value) for tag in event.tags]
    label = label_of(tags)
    names = _names(label, tags)
    others = {"who": who, "other_tags": _others(names, tags, [(tag.key, None) for tag in event.tags])}
    if label == BACKGROUND:
        return {**others, "status": "background", "said_by": "person"}
    if not label:
        return {**others, "status": "unlabelled"}
    return {**others, **names, "status": "confirmed", "said_by": "person"}


def _predicted(event: Any) -> dict[str, Any]:
    ordered = sorted(event.tags, key=lambda tag: -tag.score)
    tags = [(tag.tag.term.name, tag.tag.value) for tag in ordered]
    label = label_of(tags)
    if not label:
        return {"status": "unlabelled"}
    own = next(tag.score for tag in ordered if tag.tag.value == label)
    names = _names(label, [tag for tag, one in zip(tags, ordered) if one.score == own])  # not of an alternative
    others = _others(names, tags, [(tag.tag.key, None if tag.score == 1 else tag.score) for tag in ordered])
    status = {"status": "predicted", "said_by": "model", "probability": own * event.score, "other_tags": others}
    return status | ({"status": "background"} if label == BACKGROUND else names)


def _others(names: dict[str, str], tags: list[tuple[str, str]], about: list[tuple[str, float | None]]) -> str:
    """Return the tags that label and scientific name do not stand for; `about` is the key and the score of each.

    A label under another term than those of names stays under that term.
    """
    label, scientific = names["label"], names["scientific_name"]
    known = [value for value in (scientific, "" if label == scientific else label) if value]
    others = []
    for (term, value), (key, score) in zip(tags, about):
        if value in known and term in (SCIENTIFIC if value == scientific else COMMON):
            known.remove(value)
        elif value == label and value in known and term not in (*COMMON, *SCIENTIFIC):
            known.remove(value)
            others.append(OtherTag(key, None))
        else:
            others.append(OtherTag(key, value, score))
    return pack_tags(others)


def _names(label: str, tags: list[tuple[str, str]]) -> dict[str, str]:
    is_nothing = label in ("", BACKGROUND)
    scientific = "" if is_nothing else next((value for term, value in tags if term in SCIENTIFIC), "")
    return {"label": label, "scientific_name": scientific}


def label_of(tags: list[tuple[str, str]]) -> str:
    """Return the label of a sound event by its tags (term, value).

    >>> label_of([("call_quality", "truncated"), ("dwc:scientificName", "Noctilio leporinus")])
    'Noctilio leporinus'
    """
    for term in LABEL_TERMS:
        named = next((value for name, value in tags if name == term), None)
        if named is not None:
            return named
    return tags[0][1] if tags else ""


def _row(clip: Any, event: Any, label: dict[str, Any], where: str) -> SegmentRow:
    if event.geometry is None:
        raise BagtagError(f"{where}: it has no geometry.")
    slowed = float(clip.recording.time_expansion or 1.0)
    points = list(_points(event.geometry))
    x, y = [time * slowed for time, _ in points], [pitch / slowed for _, pitch in points if pitch is not None]
    outline: tuple[Ring, ...] = ()
    if event.geometry.type == "Polygon":
        outline = tuple(
            tuple((time * slowed, pitch / slowed) for time, pitch in ring[:-1] if ring)
            for ring in event.geometry.coordinates
        )
        left, low, right, high = box_of(outline)
        x, y = [left, right], [low, high]
    return SegmentRow(
        file=clip.recording.path.as_posix(),
        start_s=min(x),
        end_s=max(x),
        low_hz=min(y) if y else None,
        high_hz=max(y) if y else None,
        outline=outline,
        recorded_at=_recorded_at(clip.recording),
        **label,
    )


def _points(geometry: Any) -> Iterator[tuple[float, float | None]]:
    """Yield (seconds, hertz) of the corners of a geometry; hertz is None for a time or an interval."""
    coordinates = geometry.coordinates
    if geometry.type == "TimeStamp":
        yield coordinates, None
    elif geometry.type == "TimeInterval":
        yield from ((time, None) for time in coordinates)
    elif geometry.type == "BoundingBox":
        yield coordinates[0], coordinates[1]
        yield coordinates[2], coordinates[3]
    else:
        yield from _pairs(coordinates)


def _pairs(nested: Any) -> Iterator[tuple[float, float]]:
    if len(nested) == 2 and all(isinstance(value, int | float) for value in nested):
        yield nested[0], nested[1]
    else:
        for part in nested:
            yield from _pairs(part)


def _recorded_at(recording: Any) -> str:
    if recording.date is None:
        return ""
    day = str(recording.date.isoformat())
    return f"{day}T{recording.time.isoformat()}" if recording.time else day
