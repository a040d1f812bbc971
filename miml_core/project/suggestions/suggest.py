"""Suggest tags of a bag: by the current run for its classes, by BirdNET for all others and for new classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlalchemy import select

from miml_core.errors import BagtagError
from miml_core.features.birdnet import (
    LICENCE,
    WHOLE_YEAR,
    birdnet_status,
    birdnet_week,
    find_species,
    species_by_place,
    species_list,
    suitable_rate,
)
from miml_core.project.db import settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.schema import media
from miml_core.project.db.store import Store
from miml_core.project.errors import Busy
from miml_core.project.media.files import location_of_bag
from miml_core.project.queries.classes import all_classes
from miml_core.project.queries.prediction_blocks import current_run
from miml_core.project.queries.predictions import tag_probabilities
from miml_core.project.records import Class, RecordingLocation
from miml_core.project.review_records import BagSuggestions, Suggestion
from miml_core.project.suggestions.detected_species import detected_species
from miml_core.review.suggestions import LEAST_PROBABILITY, MOST_SUGGESTIONS

if TYPE_CHECKING:
    from miml_core.features.birdnet import Species

LEAST_CLASS = 0.05
"""Score of BirdNET from which a class of the project is suggested. In 240 clips of NIPS4Bplus with their 50 species as
classes, .05 finds .40 of the species at a precision of .75; .1 finds .31 at .88."""
LEAST_NEW = 0.1
"""Score of BirdNET from which a species that is no class yet is suggested: in the same clips without classes, .1 has a
precision of .63 with the place known and .43 without it; .05 has .46 and .29."""
LEAST_OCCURRENCE = 0.03
"""Species to which BirdNET gives a lower probability than this at the place and in the week are left out."""


def suggest(store: Store, bag_id: int) -> BagSuggestions:
    """Return the suggested tags of a bag, the likeliest first, whether or not somebody has decided on them already.

    What keeps BirdNET from being used is a sentence in the result, never an error.
    """
    with store.read() as connection:
        bag_row(connection, bag_id)
        kind = settings.kind(connection)
        classes = all_classes(connection)
        found = tag_probabilities(connection, bag_id)
    run_id, by_run = (None, {}) if found is None else found
    if kind != "sound":
        return BagSuggestions(_ranked(_of_run(classes, run_id, by_run)))
    try:
        location, detected = _detect(store, bag_id)
    except Busy:
        raise
    except BagtagError as error:
        return BagSuggestions(_ranked(_of_run(classes, run_id, by_run)), problem=str(error))
    suggested = _joined(classes, run_id, by_run, detected, _occurring(location))
    return BagSuggestions(_ranked(suggested), analysed=True, place=location.place, week=_week(location))


def is_available(store: Store) -> bool:
    """Return whether there can be suggestions: there is a run, or BirdNET and sound that it supports, or none yet."""
    with store.read() as connection:
        if current_run(connection) is not None:
            return True
        if settings.kind(connection) != "sound":
            return False
        rates = list(connection.execute(select(media.c.rate).distinct()).scalars())
    return birdnet_status().installed and (not rates or any(rate is None or suitable_rate(rate) for rate in rates))


def _detect(store: Store, bag_id: int) -> tuple[RecordingLocation, dict[int, float]]:
    status = birdnet_status()
    if not status.installed:
        raise BagtagError(f"{status.reason} Its weights are licensed {LICENCE}.")
    with store.read() as connection:
        bag = bag_row(connection, bag_id)
        rate = connection.execute(select(media.c.rate).where(media.c.id == bag.media_id)).scalar()
        location = location_of_bag(connection, store.folder, bag_id)
    if rate and not suitable_rate(rate):
        raise BagtagError(
            f"{bag.name} has a sample rate of {rate / 1000:g} kHz, and BirdNET supports 16 to 96 kHz only; tag this "
            "bag without suggestions."
        )
    return location, detected_species(store, bag_id)


def _week(location: RecordingLocation) -> int | None:
    if location.place is None or location.recorded_at is None:
        return None
    return birdnet_week(location.recorded_at.date())


def _occurring(location: RecordingLocation) -> frozenset[int] | None:
    """Return the species that may occur at the place and in the week; None if the place is not known."""
    if location.place is None:
        return None
    week = _week(location)
    return _species_at(location.place.latitude, location.place.longitude, WHOLE_YEAR if week is None else week)


@lru_cache(maxsize=64)
def _species_at(latitude: float, longitude: float, week: int) -> frozenset[int]:
    probability = species_by_place(latitude, longitude, week)
    return frozenset(
        one.index for one in species_list() if not one.is_bird or probability[one.index] >= LEAST_OCCURRENCE
    )


def _of_run(classes: Iterable[Class], run_id: int | None, by_run: dict[int, float]) -> list[Suggestion]:
    return [
        Suggestion(one.id, one.name, one.scientific_name, by_run=by_run[one.id], run_id=run_id)
        for one in classes
        if by_run.get(one.id, 0.0) >= LEAST_PROBABILITY
    ]


def _joined(
    classes: Sequence[Class],
    run_id: int | None,
    by_run: dict[int, float],
    detected: dict[int, float],
    occurring: frozenset[int] | None,
) -> list[Suggestion]:
    classes_of: dict[int, list[Class]] = defaultdict(list)
    for one in classes:
        if (species := _species_of(one.name, one.scientific_name)) is not None:
            classes_of[species.index].append(one)
    score_of = {one.id: detected.get(index, 0.0) for index, same in classes_of.items() for one in same}
    suggested = []
    for one in classes:
        score = score_of.get(one.id, 0.0)
        by_birdnet = score if score >= LEAST_CLASS else None
        if by_run.get(one.id, 0.0) >= LEAST_PROBABILITY or (one.id not in by_run and by_birdnet is not None):
            own = by_run.get(one.id)
            run = None if own is None else run_id
            suggested.append(Suggestion(one.id, one.name, one.scientific_name, own, by_birdnet, run))
    for index, score in detected.items():
        species = species_list()[index]
        here = species.is_animal and (occurring is None or index in occurring)
        if score >= LEAST_NEW and index not in classes_of and here:
            suggested.append(Suggestion(None, species.common, species.scientific, by_birdnet=score))
    return suggested


@lru_cache(maxsize=4096)
def _species_of(name: str, scientific_name: str) -> Species | None:
    return find_species(name, scientific_name)


def _ranked(suggested: list[Suggestion]) -> list[Suggestion]:
    return sorted(suggested, key=lambda one: -one.probability)[:MOST_SUGGESTIONS]
