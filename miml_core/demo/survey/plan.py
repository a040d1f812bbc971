"""Plan the recordings of the demo's survey: which site records when, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from miml_core.demo.survey.rhythms import HOURS, SURVEY_SITES, SurveySite
from miml_core.errors import BagtagError

CLIP_SECONDS = 10
"""Length of the bags, of which every recording is a multiple."""
FIRST_DAY = datetime(2025, 5, 12)
_DAWN = range(4, 10)
"""Hours in which recordings are twice as long: counts follow this schedule, counts per recorded hour do not."""
_UNITS_PER_DAY = HOURS + len(_DAWN)
_MOST_HOURS, _MOST_DAYS = 2000, 60
_LONGEST_UNIT = 600
"""Seconds of the usual recording: recordings are generated whole, two of twice the length in a gigabyte of memory."""
_FEWEST_DAYS_WITH_GAP = 3
_GAP_HOURS = 24


@dataclass(frozen=True)
class Recording:
    """One recording of the plan."""

    number: int
    site: int
    start: datetime
    seconds: int

    @property
    def file(self) -> str:
        """Its path below the folder of recordings."""
        return f"{SURVEY_SITES[self.site].name}/{self.start:%Y%m%d_%H%M%S}.flac"


@dataclass(frozen=True)
class SurveyPlan:
    """A survey: each site records at the beginning of every hour, twice as long in the morning.

    The recorder of the last site stops in the middle of the survey for 24 hours, if there are three days or more.

    Attributes
    ----------
    hours : float
        Of sound, at least; recordings are multiples of ten seconds.
    days, sites : int
    seed : int

    Examples
    --------
    >>> plan = SurveyPlan(hours=50, days=10, sites=3)
    >>> len(plan.recordings), plan.recordings[5].file, plan.recordings[5].seconds
    (696, 'alder-carr/20250512_050000.flac', 420)
    """

    hours: float = 50.0
    days: int = 10
    sites: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.hours <= _MOST_HOURS:
            raise BagtagError(f"A survey of {self.hours:g} hours is not possible; give up to {_MOST_HOURS}.")
        if not (1 <= self.days <= _MOST_DAYS and 1 <= self.sites <= len(SURVEY_SITES)):
            raise BagtagError(
                f"A survey of {self.days} days and {self.sites} sites is not possible; give 1 to {_MOST_DAYS} days "
                f"and 1 to {len(SURVEY_SITES)} sites."
            )
        if self._unit_seconds > _LONGEST_UNIT:
            raise BagtagError(
                f"{self.hours:g} hours do not fit into {self.days} days at {self.sites} sites, with recordings of at "
                f"most {_LONGEST_UNIT // 60} minutes per hour, in the morning twice as long. Give fewer hours, or more "
                "days or sites."
            )

    @cached_property
    def recordings(self) -> list[Recording]:
        """The recordings, by site and time."""
        return [Recording(number, *one) for number, one in enumerate(self._recordings())]

    @property
    def all_sites(self) -> tuple[SurveySite, ...]:
        """The sites that record."""
        return SURVEY_SITES[: self.sites]

    def site(self, recording: Recording) -> SurveySite:
        """Return the site of a recording."""
        return SURVEY_SITES[recording.site]

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters."""
        return asdict(self)

    @property
    def _unit_seconds(self) -> int:
        """Length of the usual recording."""
        units = _UNITS_PER_DAY * (self.days * self.sites - self._has_gap)
        return CLIP_SECONDS * int(np.ceil(self.hours * 3600 / units / CLIP_SECONDS - 1e-9))

    @property
    def _has_gap(self) -> bool:
        return self.days >= _FEWEST_DAYS_WITH_GAP

    def _recordings(self) -> Iterator[tuple[int, datetime, int]]:
        gap_start = FIRST_DAY + timedelta(days=self.days // 2, hours=-HOURS // 2)
        gap_end = gap_start + timedelta(hours=_GAP_HOURS)
        for site in range(self.sites):
            for hour in range(HOURS * self.days):
                start = FIRST_DAY + timedelta(hours=hour)
                is_off = self._has_gap and site == self.sites - 1 and gap_start <= start < gap_end
                if not is_off:
                    yield site, start, self._unit_seconds * (2 if start.hour in _DAWN else 1)
