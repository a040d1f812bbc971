"""The species and sites of the demo's survey: when and where each invented species calls.

This is the known truth that the activity curves of the survey are compared with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.media.recording_place import Place

HOURS = 24
_PARTS = 60
"""Points per hour at which a rhythm is averaged."""


@dataclass(frozen=True)
class Peak:
    """A time of day at which a species calls: hours around `hour`, as far as `width` (a standard deviation)."""

    hour: float
    width: float
    height: float = 1.0


@dataclass(frozen=True)
class SurveySpecies:
    """A species of the survey.

    Attributes
    ----------
    name : str
        Of `miml_core.demo.calls.SPECIES`.
    when : str
        Its rhythm in words.
    calls_per_minute : float
        At the height of its activity, where it is most common.
    peaks : tuple of Peak
        The activity at a time of day is the highest of them.
    """

    name: str
    when: str
    calls_per_minute: float
    peaks: tuple[Peak, ...]

    def activity(self, hour: ArrayLike) -> NDArray[np.float64]:
        """Return the activity at hours of the day (0 to 24), as a share of the highest.

        Examples
        --------
        >>> night_bird = SURVEY_SPECIES[2]
        >>> night_bird.activity([0.5, 23.5, 12.5]).round(2)
        array([1.  , 0.92, 0.  ])
        """
        hours = np.asarray(hour, dtype=float)
        found = np.zeros(hours.shape)
        for peak in self.peaks:
            apart = (hours - peak.hour + HOURS / 2) % HOURS - HOURS / 2
            found = np.maximum(found, peak.height * np.exp(-0.5 * (apart / peak.width) ** 2))
        return found

    def hourly(self) -> NDArray[np.float64]:
        """Return the (24,) mean activity in each hour of the day."""
        moments = (np.arange(HOURS * _PARTS) + 0.5) / _PARTS
        return self.activity(moments).reshape(HOURS, _PARTS).mean(axis=1)


@dataclass(frozen=True)
class SurveySite:
    """A site: its folder, its place, and how common each species is there, as a share of its rate of calls."""

    name: str
    place: Place
    common: tuple[float, ...]
    """By `SURVEY_SPECIES`; 0 if the species does not occur."""


SURVEY_SPECIES = (
    SurveySpecies("Copper trill", "at dawn, a little at dusk", 16.0, (Peak(5.0, 1.5), Peak(20.0, 1.0, 0.35))),
    SurveySpecies("Glass whistler", "in the morning and the evening", 14.0, (Peak(7.5, 1.9), Peak(18.0, 1.9, 0.8))),
    SurveySpecies("Hollow hooter", "at night", 12.0, (Peak(0.5, 2.5),)),
    SurveySpecies("Sedge buzzer", "around midday", 15.0, (Peak(13.0, 2.3),)),
    SurveySpecies(
        "Dotted chirper", "all day, not at night", 10.0, (Peak(8.5, 1.6), Peak(12.5, 4.5, 0.9), Peak(16.5, 1.6))
    ),
    SurveySpecies("Falling ember", "at dusk", 15.0, (Peak(20.5, 1.9),)),
)

SURVEY_SITES = (
    SurveySite("alder-carr", Place(47.012, -7.52), (1.0, 0.0, 0.7, 1.0, 0.5, 1.0)),
    SurveySite("heath", Place(47.031, -7.48), (0.6, 1.0, 0.0, 0.8, 1.0, 0.5)),
    SurveySite("oak-ridge", Place(47.054, -7.45), (0.8, 0.8, 1.0, 0.0, 0.7, 0.8)),
    SurveySite("reed-bed", Place(47.008, -7.55), (0.5, 0.4, 0.5, 1.0, 0.0, 0.9)),
    SurveySite("old-orchard", Place(47.041, -7.41), (0.9, 1.0, 0.8, 0.6, 1.0, 0.0)),
    SurveySite("dune-valley", Place(47.022, -7.58), (0.0, 0.6, 0.6, 0.9, 0.9, 0.7)),
)
"""On an invented island: there is only the Atlantic."""
