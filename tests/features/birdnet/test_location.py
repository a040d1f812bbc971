"""Species by place and week."""

import math
from datetime import date, datetime

import numpy as np
import pytest

from miml_core.errors import BagtagError
from miml_core.features.birdnet import birdnet_week, find_species, species_by_place
from tests.birdnet import needs_birdnet


def probability(place: np.ndarray, name: str) -> float:
    species = find_species(name)
    assert species is not None
    return float(place[species.index])


@needs_birdnet
def test_a_place_has_its_own_species():
    berlin, ithaca = species_by_place(52.5, 13.4), species_by_place(42.4, -76.5)
    assert berlin.shape == (6522,) and ((berlin >= 0) & (berlin <= 1)).all()
    assert probability(berlin, "Great Tit") > 0.5 > 0.03 > probability(berlin, "Northern Cardinal")
    assert probability(ithaca, "Northern Cardinal") > 0.5 > 0.03 > probability(ithaca, "Great Tit")


@needs_birdnet
def test_migrants_have_their_weeks():
    summer, winter = (species_by_place(52.5, 13.4, birdnet_week(date(2024, month, 5))) for month in (6, 1))
    assert probability(summer, "Common Swift") > 0.3 > 0.03 > probability(winter, "Common Swift")


def test_weeks():
    assert birdnet_week(datetime(2023, 1, 1, 5)) == 1 and birdnet_week(date(2023, 12, 31)) == 48
    weeks = [birdnet_week(date.fromordinal(date(2024, 1, 1).toordinal() + day)) for day in range(366)]
    assert sorted(set(weeks)) == list(range(1, 49)) and weeks == sorted(weeks)


@pytest.mark.parametrize("latitude, longitude, week", [(91, 0, 1), (0, -181, 1), (math.nan, 0, 1), (0, math.inf, -1)])
def test_there_is_no_such_place(latitude, longitude, week):
    with pytest.raises(BagtagError, match="give degrees from"):
        species_by_place(latitude, longitude, week)


@pytest.mark.parametrize("week", [0, 49, -2])
def test_there_is_no_such_week(week):
    with pytest.raises(BagtagError, match="from 1 to 48, or -1 for the whole year"):
        species_by_place(0, 0, week)
