"""Read a project: labels of people, and predictions of the current run where nobody labelled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, text

from miml_core.archive.recordings import RecordingFile, SitePattern
from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.insights.detections import NO_CLASS, Detections, detections_schema
from miml_core.insights.effort import MS_PER_HOUR, EffortSum
from miml_core.media.recording_time import recorder_clock, utc_offset_minutes
from miml_core.project import Project
from miml_core.project.media import access
from miml_core.project.queries import classes

_BAGS = text(
    """
    SELECT bags.id, media_id, path, fingerprint, bags.start, bags."end", bags.recorded_at, recorded_from,
      segment_key IS NOT NULL AND (n_segments = 0
        OR EXISTS (SELECT 1 FROM predictions WHERE predictions.bag_id = bags.id)
        OR EXISTS (SELECT 1 FROM segments JOIN verdicts ON segment_id = segments.id WHERE segments.bag_id = bags.id)
      ) AS analysed
    FROM bags JOIN media ON media.id = media_id ORDER BY media_id, bags.start, bags.id
    """
)
_SEGMENTS = text(
    """
    SELECT segments.id, segments.bag_id, segments."left", top, predictions.probability,
      CASE WHEN verdicts.segment_id IS NULL THEN 0 WHEN checked_by = 'eye' THEN 2 ELSE 1 END AS labelled, class_id
    FROM segments LEFT JOIN predictions ON predictions.segment_id = segments.id
    LEFT JOIN verdicts ON verdicts.segment_id = segments.id
    WHERE alive AND (top IS NOT NULL OR verdicts.segment_id IS NOT NULL) ORDER BY segments.bag_id, segments.id
    """
)
_BY_EYE = 2


def read_project(project: Project) -> Detections:
    """Return the detections of a project."""
    with project.store.read() as connection:
        bags = connection.execute(_BAGS).all()
        segments = connection.execute(_SEGMENTS).all()
        alias = classes.aliases(connection)
        known = classes.all_classes(connection)
    sites = _sites(project.folder, bags, project.kind)
    site_names = tuple(sorted(set(sites.values())))
    numbers = {name: number for number, name in enumerate(site_names)}
    site_of = np.array([numbers[sites[bag.path]] for bag in bags], dtype=np.int32)
    moments = [_moment(bag) for bag in bags]
    time_ms = np.array([0 if one is None else _milliseconds(one) for one in moments], dtype=np.int64)
    timed = np.array([one is not None for one in moments], dtype=bool)
    seconds = _own_seconds(bags)
    analysed = np.array([bool(bag.analysed) for bag in bags], dtype=bool)
    effort = EffortSum()
    effort.add(site_of[analysed], time_ms[analysed], timed[analysed], seconds[analysed])
    files = {bag.media_id: moment is not None for bag, moment in zip(bags, moments)}
    clocks: dict[int | None, float] = {}
    for moment, amount, is_analysed in zip(moments, np.where(seconds > 0, seconds, 1.0).tolist(), analysed):
        if moment is not None and is_analysed:
            offset = utc_offset_minutes(moment)
            clocks[offset] = clocks.get(offset, 0.0) + amount
    return Detections(
        name=project.name,
        kind=project.kind,
        classes=tuple(one.name for one in known),
        sites=site_names,
        table=_table(segments, bags, site_of, time_ms, timed, {one.id: k for k, one in enumerate(known)}, alias),
        effort_table=effort.table(),
        n_files=len(files),
        n_files_without_time=sum(not has_time for has_time in files.values()),
        clocks=clocks,
        notes=_notes(analysed, bags),
    )


def _table(
    segments: Sequence[Row[Any]],
    bags: Sequence[Row[Any]],
    site_of: NDArray[np.int32],
    time_ms: NDArray[np.int64],
    timed: NDArray[np.bool_],
    labels: dict[int, int],
    alias: dict[int, int],
) -> Any:
    import pyarrow as pa

    if not segments:
        return detections_schema().empty_table()
    places = {bag.id: place for place, bag in enumerate(bags)}
    place = np.array([places[one.bag_id] for one in segments])
    into_bag = np.array([one.left for one in segments]) - np.array([bag.start for bag in bags])[place]
    is_picture = np.array([bag.end <= bag.start for bag in bags])[place]
    moment = time_ms[place] + np.where(is_picture, 0, np.rint(1000 * into_bag)).astype(np.int64)
    by_eye = np.array([one.labelled == _BY_EYE for one in segments])
    given = [
        one.top if not one.labelled else BACKGROUND if one.class_id is None else alias.get(one.class_id, BACKGROUND)
        for one in segments
    ]
    columns = {
        "label": np.array([labels.get(one, NO_CLASS) for one in given], dtype=np.int16),
        "probability": np.array([one.probability or 0.0 for one in segments], dtype=np.float32),
        "checked": by_eye,
        "site": site_of[place],
        "hour": pa.array((moment // MS_PER_HOUR).astype(np.int32), mask=~timed[place]),
        "clip": place.astype(np.int32),
        "segment": np.array([one.id for one in segments], dtype=np.int64),
    }
    return pa.table(columns, schema=detections_schema())


def _own_seconds(bags: Sequence[Row[Any]]) -> NDArray[np.float64]:
    """Return the length of each analysed bag without what an earlier one of the same recording has already."""
    lengths = np.zeros(len(bags))
    media_id, until = None, 0.0
    for place, bag in enumerate(bags):
        if not bag.analysed:
            continue
        if bag.media_id != media_id:
            media_id, until = bag.media_id, bag.start
        lengths[place] = max(0.0, bag.end - max(bag.start, until))
        until = max(until, bag.end)
    return lengths


def _notes(analysed: NDArray[np.bool_], bags: Sequence[Row[Any]]) -> tuple[str, ...]:
    open_bags = int((~analysed).sum())
    if not open_bags:
        return ()
    return (
        f"{open_bags} of {len(bags)} bags have no predictions or labels yet; they count neither as effort nor as "
        "silence.",
    )


def _moment(bag: Row[Any]) -> datetime | None:
    """Return the time of the recorder's clock, if it is known."""
    with suppress(TypeError, ValueError):
        return recorder_clock(datetime.fromisoformat(bag.recorded_at), bag.recorded_from)
    return None


def _milliseconds(moment: datetime) -> int:
    return int(np.datetime64(moment.replace(tzinfo=None), "ms").astype(np.int64))


def _sites(folder: Path, bags: Sequence[Row[Any]], kind: str) -> dict[str, str]:
    """Return the site of each stored path, by the rule of archives: folder, else what the recorder noted."""
    stored = {bag.path: bag.fingerprint for bag in bags}
    if not stored:
        return {}
    paths = {path: access.real_path(folder, path) for path in stored}
    root = Path(os.path.commonpath([path.parent for path in paths.values()]))
    sites, pattern = {}, SitePattern()
    for path, real in paths.items():
        noted = ""
        if real.parent == root and access.is_usable(folder, real):
            noted = _noted_site(str(real), stored[path], kind)
        file = f"{root.name}/{real.relative_to(root).as_posix()}"
        sites[path] = pattern.of(RecordingFile(file, str(real), 0, 0, recorder_site=noted))
    return sites


@lru_cache(maxsize=100_000)
def _noted_site(path: str, fingerprint: str, kind: str) -> str:
    """Return the site that a recorder or camera wrote into a file; it is read once per fingerprint."""
    from miml_core.media.image import image_info
    from miml_core.media.recorder_notes import recorder_notes
    from miml_core.media.recorder_site import recorder_site, site_of_place
    from miml_core.media.regular_files import check_regular_file

    with suppress(BagtagError, OSError):
        check_regular_file(Path(path))
        return recorder_site(recorder_notes(path)) if kind == "sound" else site_of_place(image_info(path).place)
    return ""
