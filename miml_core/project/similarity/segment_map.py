"""The map of a project's segments: computed by a job, kept in the project's cache, coloured by what is known now."""

from __future__ import annotations

import json
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from miml_core.array_files import read_arrays
from miml_core.atomic_files import atomic_writer
from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.progress import Progress, ignore_progress
from miml_core.project.db import settings
from miml_core.project.db.cache import FOLDER as CACHE
from miml_core.project.db.own_folders import find_own_folder, is_real_file, own_folder
from miml_core.project.db.schema import BY_EYE
from miml_core.project.db.store import Store
from miml_core.project.queries.bagset import tag_matrix
from miml_core.project.queries.classes import all_classes
from miml_core.project.similarity import layout, unnamed
from miml_core.project.similarity.index import index_of
from miml_core.project.similarity.nearest import live_segments

MOST_SEGMENTS = 50_000
"""Of a map; a larger project is shown by a random sample."""
NO_LABEL = 0
"""In `MapState`: nobody has checked the segment, or nothing is predicted for it."""
_FOLDER = "map"
_FILE = "map.npz"
_LAYOUT = 1
_MOST_BYTES = 256 * 2**20

_STATE = text(
    """
    SELECT segments.id, segments.bag_id, top, predictions.probability, verdicts.segment_id IS NOT NULL,
      verdicts.class_id
    FROM segments LEFT JOIN predictions ON predictions.segment_id = segments.id
    LEFT JOIN verdicts ON verdicts.segment_id = segments.id AND checked_by = :by_eye
    WHERE segments.alive AND segments.id IN (SELECT value FROM json_each(:ids))
    """
)
_CHECKED = text("SELECT segment_id FROM verdicts WHERE checked_by = :by_eye")


@dataclass(frozen=True, eq=False)
class SegmentMap:
    """Places of segments; one row per segment."""

    segment_ids: NDArray[np.int64]
    places: NDArray[np.float32]
    """(n, 2), from about -1 to 1."""
    clusters: NDArray[np.int32]
    """Dense parts of the map; -1 in none."""
    n_all: int
    """Number of segments of the project at that time; more than are here if it is a sample."""
    made_at: float
    feature_key: str
    current: bool = True
    """Whether the features are still made in the same way."""

    def __post_init__(self) -> None:
        n = len(self.segment_ids)
        if self.places.shape != (n, 2) or self.clusters.shape != (n,) or not np.isfinite(self.places).all():
            raise ValueError("the places do not fit the segments")


@dataclass(frozen=True, eq=False)
class MapState:
    """What is known now of the segments of a map; one row per segment of the map."""

    live: NDArray[np.bool_]
    """Whether the segment still exists."""
    bag_ids: NDArray[np.int64]
    labels: NDArray[np.int64]
    """The label by a person who saw the segment: class id, BACKGROUND or `NO_LABEL`."""
    predicted: NDArray[np.int64]
    """The class that the current run predicts; `NO_LABEL` if it has not predicted the segment."""
    probability: NDArray[np.float64]
    """Of `predicted`; 0 without one."""


def make_map(store: Store, progress: Progress = ignore_progress) -> SegmentMap:
    """Compute the map of the segments that have features, and keep it in the project's cache."""
    progress(0, 1, {"what": "reading features"})
    index = index_of(store)
    with store.read() as connection:
        ids = live_segments(connection, index.segment_ids)
        chosen = np.sort(_sample(connection, ids))
        key = settings.feature_key(connection)
    if len(chosen) < layout.FEWEST:
        raise BagtagError(
            f"Only {len(chosen)} segments have features, and a map needs at least {layout.FEWEST}. "
            "Detect segments in more recordings or pictures first."
        )
    vectors = index.vectors_of(chosen)
    neighbours, distances = layout.nearest_neighbours(vectors, layout.n_neighbours(len(chosen)), progress)
    places = layout.map_of(vectors, neighbours, distances, progress)
    progress(0, 1, {"what": "finding clusters"})
    made = SegmentMap(
        chosen,
        places,
        unnamed.find_clusters(places),
        len(ids),
        time.time(),
        key,
    )
    write_map(store.folder, made)
    return made


def read_map(store: Store) -> SegmentMap | None:
    """Return the latest map; None if there is none, or its file is damaged."""
    folder = find_own_folder(store.folder, CACHE, _FOLDER)
    if folder is None or not is_real_file(folder / _FILE):
        return None
    with store.read() as connection:
        key = settings.feature_key(connection)
    try:
        kept = read_arrays(folder / _FILE, most_bytes=_MOST_BYTES)
        layout_, n_all, made_at = kept["numbers"].tolist()
        return (
            SegmentMap(
                kept["segment_ids"].astype(np.int64),
                kept["places"].astype(np.float32),
                kept["clusters"].astype(np.int32),
                int(n_all),
                float(made_at),
                str(kept["feature_key"]),
                str(kept["feature_key"]) == key,
            )
            if layout_ == _LAYOUT
            else None
        )
    except (OSError, ValueError, KeyError, IndexError, TypeError, zipfile.BadZipFile):
        return None


def map_state(connection: Connection, segment_ids: NDArray[np.int64]) -> MapState:
    """Return what is known now of segments."""
    n = len(segment_ids)
    order = np.argsort(segment_ids, kind="stable")
    state = MapState(
        np.zeros(n, dtype=bool),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n),
    )
    rows = connection.execute(_STATE, {"ids": json.dumps(segment_ids.tolist()), "by_eye": BY_EYE}).all()
    if not rows:
        return state
    ids, bags, top, probability, checked, label = zip(*rows)
    places = order[np.searchsorted(segment_ids, np.array(ids), sorter=order)]
    state.live[places] = True
    state.bag_ids[places] = bags
    state.predicted[places] = [NO_LABEL if each is None else each for each in top]
    state.probability[places] = [0.0 if each is None else each for each in probability]
    names = [(BACKGROUND if each is None else each) if seen else NO_LABEL for seen, each in zip(checked, label)]
    state.labels[places] = names
    return state


def unnamed_segments(connection: Connection, made: SegmentMap, state: MapState) -> list[NDArray[np.int64]]:
    """Return the ids of the segments of each cluster that is like no class, the largest cluster first."""
    live = np.flatnonzero(state.live)
    bag_ids, bags = np.unique(state.bag_ids[live], return_inverse=True)
    class_ids = [one.id for one in all_classes(connection)]
    tags = tag_matrix(connection, bag_ids, class_ids)
    labelled = state.labels[live] != NO_LABEL
    predicted = (state.predicted[live] > 0) & (state.probability[live] >= unnamed.SURE)
    found = unnamed.unnamed_clusters(made.clusters[live], bags, tags, labelled, predicted)
    return [made.segment_ids[live[rows]] for rows in found]


def _sample(connection: Connection, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return at most `MOST_SEGMENTS` of the segments: those that people checked, and others at random."""
    if len(ids) <= MOST_SEGMENTS:
        return ids
    by_eye = connection.execute(_CHECKED, {"by_eye": BY_EYE}).scalars()
    checked = np.array(list(by_eye), dtype=np.int64)
    rng = np.random.default_rng(0)
    first = rng.permutation(ids[np.isin(ids, checked)])[: MOST_SEGMENTS // 2]
    others = rng.permutation(np.setdiff1d(ids, first))
    return np.concatenate([first, others[: MOST_SEGMENTS - len(first)]])


def write_map(project: Path, made: SegmentMap) -> None:
    """Keep a map in the project's cache."""
    folder = own_folder(project, CACHE, _FOLDER)
    with atomic_writer(folder / _FILE, durable=False) as file:
        np.savez(
            file,
            numbers=np.array([_LAYOUT, made.n_all, made.made_at]),
            feature_key=np.array(made.feature_key),
            segment_ids=made.segment_ids,
            places=made.places,
            clusters=made.clusters,
        )
