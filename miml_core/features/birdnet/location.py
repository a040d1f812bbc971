"""Which species BirdNET expects at a place and in a week: its network for location and time of year."""

from __future__ import annotations

import calendar
import math
import threading
from datetime import date
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.features.birdnet.files import places_file
from miml_core.features.birdnet.interpreters import make_interpreter
from miml_core.media.recording_place import Place

WHOLE_YEAR = -1
"""The week that stands for the whole year."""


def birdnet_week(day: date) -> int:
    """Return BirdNET's week of a date, from 1 to 48: a year has 48 of equal length, four per month.

    Examples
    --------
    >>> [birdnet_week(date(2024, *day)) for day in ((1, 1), (5, 20), (12, 31))]
    [1, 19, 48]
    """
    days = 366 if calendar.isleap(day.year) else 365
    return math.ceil(day.timetuple().tm_yday / days * 48)


def species_by_place(latitude: float, longitude: float, week: int = WHOLE_YEAR) -> NDArray[np.float32]:
    """Return for each species the probability, by BirdNET, that a list of the birds of a place and week names it.

    BirdNET's own programs leave out species below .03. Sounds that are no animals, and animals other than birds,
    have low numbers everywhere: do not filter them by place.

    Parameters
    ----------
    latitude, longitude : float
        In degrees, north and east positive.
    week : int
        1 to 48, see `birdnet_week`; -1 for the whole year.

    Returns
    -------
    probability : (6522,) float32
        In the order of `species_list`; not to be changed.

    Raises
    ------
    BagtagError
        There is no such place or week, or BirdNET is not installed.

    Examples
    --------
    >>> from miml_core.features.birdnet import birdnet_status, find_species
    >>> if birdnet_status().installed:
    ...     montpellier = species_by_place(43.6, 3.9, birdnet_week(date(2024, 5, 20)))
    ...     assert montpellier[find_species("Eurasian Blackcap").index] > 0.5
    ...     assert montpellier[find_species("House Finch").index] < 0.03
    """
    place = Place(float(latitude), float(longitude))
    if week != WHOLE_YEAR and not 1 <= week <= 48:
        raise BagtagError(f"BirdNET has no week {week}: give one from 1 to 48, or -1 for the whole year.")
    with _lock:
        return _probabilities(place, int(week))


_lock = threading.Lock()


@cache
def _interpreter() -> Any:
    return make_interpreter(places_file().read_bytes())


@lru_cache(maxsize=256)
def _probabilities(place: Place, week: int) -> NDArray[np.float32]:
    interpreter = _interpreter()
    asked = np.array([[place.latitude, place.longitude, week]], dtype=np.float32)
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], asked)
    interpreter.invoke()
    found = np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
    found.setflags(write=False)
    return found
