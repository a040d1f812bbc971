"""The species that BirdNET detects in a bag, computed once and kept in the project's cache."""

from __future__ import annotations

import hashlib
import json
import math
import threading
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from miml_core.features.birdnet import is_sampled, mean_scores, score_clip
from miml_core.features.birdnet.files import VERSION
from miml_core.features.birdnet.network import N_SPECIES
from miml_core.json_text import to_json
from miml_core.media.audio import Channel
from miml_core.project.db import cache, settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.store import Store
from miml_core.project.instances.timelines import window_embeddings_of_bag
from miml_core.project.media.files import BagFile, check_same_file, file_of_bag

N_KEPT = 60
"""Species kept per bag: those with the highest scores."""
_FOLDER = "birdnet-scores"
_MADE = 1
"""Increased when the same sound gets other scores."""


class _Lock:
    """A lock that can be in a dictionary of weak references."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


_computing: WeakValueDictionary[tuple[str, str], _Lock] = WeakValueDictionary()
_choosing = threading.Lock()


def detected_species(store: Store, bag_id: int) -> dict[int, float]:
    """Return {index of the species: score} of the species with the highest scores in a bag, the highest first.

    Raises
    ------
    BagtagError
        BirdNET is not installed, or the bag's file is missing, cannot be read, or has a sample rate that BirdNET does
        not support.
    """
    with store.read() as connection:
        bag = bag_row(connection, bag_id)
        file = file_of_bag(connection, store.folder, bag_id)
        channel = settings.instance_settings(connection).channel
    key = json.dumps([_MADE, _version(), file.fingerprint, bag.start, bag.end, channel])
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"
    with _choosing:
        turn = _computing.setdefault((str(store.folder), name), _Lock())
    with turn.lock:
        known = _read(store, name)
        if known is None:
            known = _best(_scores_of_bag(store, bag_id, file, bag.start, bag.end, channel))
            with store.read() as connection:
                check_same_file(connection, store.folder, bag_id, file)
            cache.write(store.folder, name, to_json({"species": list(known.items())}).encode(), _FOLDER)
    return known


def _scores_of_bag(
    store: Store, bag_id: int, file: BagFile, start: float, end: float, channel: Channel
) -> NDArray[np.float32]:
    """Return the (6522,) scores of a bag, from the timeline that its features are made from; a sample of a long bag."""
    if is_sampled(end - start):
        return score_clip(file.path, start, end, channel)
    return mean_scores(window_embeddings_of_bag(store, bag_id))


def _best(scores: NDArray[np.float32]) -> dict[int, float]:
    best = np.argsort(-scores, kind="stable")[:N_KEPT]
    return {int(index): round(float(scores[index]), 4) for index in best}


def _version() -> str:
    return VERSION


def _read(store: Store, name: str) -> dict[int, float] | None:
    """Return cached scores; None if there are none, or the file is not one that Bagtag wrote."""
    content = cache.read(store.folder, name, _FOLDER)
    if content is None:
        return None
    try:
        pairs = json.loads(content)["species"]
        found = {index: float(score) for index, score in pairs}
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    valid = all(_is_species(index) and math.isfinite(score) and 0 <= score <= 1 for index, score in found.items())
    return found if valid and 0 < len(found) <= N_KEPT else None


def _is_species(index: object) -> bool:
    return isinstance(index, int) and not isinstance(index, bool) and 0 <= index < N_SPECIES
