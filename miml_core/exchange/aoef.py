"""AOEF, the JSON of whombat and soundevent: an annotation project, and a prediction set for what is not confirmed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from miml_core.errors import BagtagError
from miml_core.exchange.aoef_reading import BACKGROUND, is_aoef, read_aoef
from miml_core.exchange.base import Format
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.optional_packages import import_optional
from miml_core.exchange.other_tags import OtherTag, unpack_tags
from miml_core.exchange.rows import SegmentRow, by_file

_NAMES = UUID("a3f0f3c2-6f0c-5d5e-9f57-0f4c2c9b8f10")
"""Namespace of the identifiers, which depend on the rows only: the same export has the same ones."""
_NO_TIME = datetime(1970, 1, 1)


class Aoef(Format):
    """Boxes with a species tag, as whombat imports them; written and read through soundevent."""

    name = "aoef"
    title = "AOEF for whombat (JSON)"
    kinds = ("sound",)
    extensions = (".json",)
    many_files = True
    keeps = (
        "Times, frequencies, labels, other tags, probabilities and annotators; boxes, not outlines. Confirmed segments "
        "are an annotation project, predictions a file of their own."
    )

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        writer = _Writer()
        predicted = [row for row in rows if row.said_by == "model"]
        if len(predicted) < len(rows):
            yield "annotations.json", writer.annotations([row for row in rows if row.said_by != "model"])
        if predicted:
            yield "predictions.json", writer.predictions(predicted)

    def recognises(self, name: str, head: str) -> bool:
        return is_aoef(head)

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        read_aoef(name, content, table)


class _Writer:
    """Converts rows to objects of soundevent, and these to JSON."""

    def __init__(self) -> None:
        self._aoef = import_optional("soundevent.io.aoef", "AOEF files of whombat")
        self._data = import_optional("soundevent.data", "AOEF files of whombat")
        self._terms = import_optional("soundevent.terms", "AOEF files of whombat")

    def annotations(self, rows: Sequence[SegmentRow]) -> bytes:
        data = self._data
        clips = []
        for file, segments in by_file(rows):
            recording = self._recording(segments[0])
            events = [
                data.SoundEventAnnotation(
                    uuid=_id("annotation", row, place),
                    sound_event=self._event(row, recording, place),
                    tags=[tag for tag, score in self._tags(row) if score == 1.0],
                    created_by=data.User(uuid=uuid5(_NAMES, row.who), username=row.who) if row.who else None,
                    created_on=_NO_TIME,
                )
                for place, row in enumerate(segments)
            ]
            clip = self._clip(recording)
            clips.append(
                data.ClipAnnotation(
                    uuid=uuid5(_NAMES, f"clip annotation {file}"), clip=clip, sound_events=events, created_on=_NO_TIME
                )
            )
        tasks = [
            data.AnnotationTask(uuid=uuid5(_NAMES, f"task {each.uuid}"), clip=each.clip, created_on=_NO_TIME)
            for each in clips
        ]
        project = data.AnnotationProject(
            uuid=uuid5(_NAMES, "project"),
            name="Bagtag",
            description="Segments exported by Bagtag",
            clip_annotations=clips,
            tasks=tasks,
            created_on=_NO_TIME,
        )
        return self._json(project)

    def predictions(self, rows: Sequence[SegmentRow]) -> bytes:
        data = self._data
        clips = []
        for file, segments in by_file(rows):
            recording = self._recording(segments[0])
            events = [
                data.SoundEventPrediction(
                    uuid=_id("prediction", row, place),
                    sound_event=self._event(row, recording, place),
                    score=1.0 if row.probability is None else row.probability,
                    tags=[data.PredictedTag(tag=tag, score=score) for tag, score in self._tags(row)],
                )
                for place, row in enumerate(segments)
            ]
            clip = self._clip(recording)
            clips.append(
                data.ClipPrediction(uuid=uuid5(_NAMES, f"clip prediction {file}"), clip=clip, sound_events=events)
            )
        return self._json(
            data.PredictionSet(
                uuid=uuid5(_NAMES, "predictions"), name="Bagtag", clip_predictions=clips, created_on=_NO_TIME
            )
        )

    def _json(self, collection: Any) -> bytes:
        written = self._aoef.to_aeof(collection).model_copy(update={"created_on": _NO_TIME})
        return str(written.model_dump_json(exclude_none=True)).encode("utf-8", errors="surrogateescape")

    def _recording(self, row: SegmentRow) -> Any:
        if row.duration_s is None or row.rate is None:
            raise BagtagError(
                f"{row.file!r} cannot be written as AOEF: its length and sample rate are not known. Make the recording "
                "available on this computer, or choose another format."
            )
        when = None
        with suppress(ValueError):  # no time, or not in ISO 8601
            when = datetime.fromisoformat(row.recorded_at)
        return self._data.Recording(
            uuid=uuid5(_NAMES, f"recording {row.file}"),
            path=Path(row.file),
            duration=row.duration_s,
            channels=row.channels or 1,
            samplerate=row.rate,
            date=None if when is None else when.date(),
            time=None if when is None else when.time(),
        )

    def _clip(self, recording: Any) -> Any:
        return self._data.Clip(
            uuid=uuid5(_NAMES, f"clip {recording.uuid}"), recording=recording, start_time=0, end_time=recording.duration
        )

    def _event(self, row: SegmentRow, recording: Any, place: int) -> Any:
        start, end = row.start_s or 0.0, row.end_s or 0.0
        geometry = (
            self._data.TimeInterval(coordinates=[start, end])
            if row.low_hz is None or row.high_hz is None
            else self._data.BoundingBox(coordinates=[start, row.low_hz, end, row.high_hz])
        )
        return self._data.SoundEvent(uuid=_id("event", row, place), recording=recording, geometry=geometry)

    def _tags(self, row: SegmentRow) -> list[tuple[Any, float]]:
        """Return (tag, score): names of the label, and the tags that the segment came with."""
        tag, terms = self._data.Tag, self._terms
        label = BACKGROUND if row.status == "background" else row.label
        others = unpack_tags(row.other_tags)
        found = [tag(term=terms.scientific_name, value=row.scientific_name)] if label and row.scientific_name else []
        if label and label != row.scientific_name and all(other.value is not None for other in others):
            found.append(tag(term=terms.common_name, value=label))
        certain = [(each, 1.0) for each in found]
        return certain + [
            (tag(key=other.key, value=label if other.value is None else other.value), _score(other))
            for other in others
            if other.value is not None or label
        ]


def _score(tag: OtherTag) -> float:
    return 1.0 if tag.score is None else tag.score


def _id(what: str, row: SegmentRow, place: int) -> UUID:
    return uuid5(_NAMES, f"{what} {row.file} {place} {row.start_s} {row.end_s} {row.low_hz} {row.high_hz} {row.label}")
