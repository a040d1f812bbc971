"""Generate the recordings of the demo's survey, each with the calls in it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from miml_core.demo.calls import RATE, SPECIES, Call, Voice
from miml_core.demo.sounds import with_echoes
from miml_core.demo.survey.plan import FIRST_DAY, Recording, SurveyPlan
from miml_core.demo.survey.rhythms import SURVEY_SPECIES
from miml_core.demo.survey.weather import Samples, Weather, background

_ANIMALS, _CALLS_PER_ANIMAL = 3, 8
"""Of each species at a site, and different calls of each."""
_LONGEST_CALL = 1.7
_FULLEST = 0.8
"""Share of a recording that the calls of one species fill at most."""
_LOUDNESS = (0.03, 0.25)
_SINGING_IN_RAIN = 0.3
_STEPS = 512
"""Levels of samples on either side of 0. The noise is above the steps; sixteen bits would need three times the disk."""


@dataclass(frozen=True)
class TrueCall:
    """A call in a recording: species (of `SURVEY_SPECIES`), seconds from the start of the recording, hertz."""

    species: int
    start: float
    end: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class _SungCall:
    samples: Samples
    box: tuple[float, float, float, float]
    """Start, end, low, high; seconds from the first sample."""


class SurveySounds:
    """Generate the recordings of a plan; each depends on the plan and its own number only.

    Parameters
    ----------
    plan : SurveyPlan
    """

    def __init__(self, plan: SurveyPlan) -> None:
        self._plan = plan
        self._rhythms = [one.hourly() for one in SURVEY_SPECIES]

    @cached_property
    def _weather(self) -> Weather:
        return Weather.draw(self._plan.days, self._plan.seed)

    @cached_property
    def _repertoires(self) -> dict[tuple[int, int], list[list[_SungCall]]]:
        """Calls of each animal, by site and species."""
        found = {}
        for site in range(self._plan.sites):
            for index, one in enumerate(SURVEY_SPECIES):
                species = next(known for known in SPECIES if known.name == one.name)
                rng = np.random.default_rng([self._plan.seed, 4, site, index])
                animals = []
                for _ in range(_ANIMALS):
                    voice = Voice(float(np.exp(rng.normal(0, 0.05))), float(np.exp(rng.normal(0, 0.07))))
                    animals.append([_sing(rng, species.sing(rng, voice)) for _ in range(_CALLS_PER_ANIMAL)])
                found[site, index] = animals
        return found

    def prepare(self) -> None:
        """Generate what all recordings share, before several threads need it."""
        _ = self._weather, self._repertoires

    def make(self, recording: Recording) -> tuple[Samples, list[TrueCall]]:
        """Return the samples of a recording, and its calls in the order of their time."""
        rng = np.random.default_rng([self._plan.seed, 5, recording.number])
        day, hour = (recording.start - FIRST_DAY).days, recording.start.hour
        rains, n = bool(self._weather.rain[day, hour]), recording.seconds * RATE
        sound = background(rng, n, rains, float(self._weather.wind[day, hour]))
        calls: list[TrueCall] = []
        for index, rate in enumerate(self._rates(recording, rains)):
            animals = self._repertoires[recording.site, index]
            loudness = np.exp(rng.uniform(np.log(_LOUDNESS[0]), np.log(_LOUDNESS[1]), _ANIMALS))
            for moment in _moments(rng, rate, recording.seconds):
                animal = int(rng.integers(_ANIMALS))
                call = animals[animal][int(rng.integers(_CALLS_PER_ANIMAL))]
                first = round(moment * RATE)
                sound[first : first + len(call.samples)] += (
                    np.float32(loudness[animal] * rng.uniform(0.7, 1.2)) * call.samples
                )
                start, end, low, high = call.box
                calls.append(TrueCall(index, first / RATE + start, first / RATE + end, low, high))
        return sound, sorted(calls, key=lambda one: one.start)

    def _rates(self, recording: Recording, rains: bool) -> list[float]:
        """Return how many calls per second of each species are expected."""
        site = self._plan.site(recording)
        of_day = np.random.default_rng([self._plan.seed, 6, recording.site, recording.start.toordinal()])
        mood = np.exp(of_day.normal(0, 0.15, len(SURVEY_SPECIES)))
        weather = _SINGING_IN_RAIN if rains else 1.0
        return [
            one.calls_per_minute / 60 * site.common[k] * self._rhythms[k][recording.start.hour] * mood[k] * weather
            for k, one in enumerate(SURVEY_SPECIES)
        ]


def to_flac(samples: Samples) -> bytes:
    """Return samples as a FLAC file."""
    import soundfile

    levels = np.clip(np.rint(samples * np.float32(_STEPS)), -_STEPS, _STEPS - 1).astype(np.int16)
    file = io.BytesIO()
    soundfile.write(file, levels * np.int16(32768 // _STEPS), RATE, subtype="PCM_16", format="FLAC")
    return file.getvalue()


def _sing(rng: np.random.Generator, call: Call) -> _SungCall:
    points = np.concatenate([np.asarray(ring) for ring in call.outlines])
    (start, low), (end, high) = points.min(axis=0), points.max(axis=0)
    box = (float(start), float(end), float(low), float(high))
    return _SungCall(with_echoes(rng, call.samples).astype(np.float32), box)


def _moments(rng: np.random.Generator, rate: float, seconds: float) -> NDArray[np.float64]:
    """Return when calls begin that do not overlap; animals call steadily, more or less often in each recording."""
    count = int(rate * seconds * rng.gamma(20.0, 1 / 20) + rng.uniform())
    count = min(count, int(_FULLEST * seconds / _LONGEST_CALL))
    free = np.sort(rng.uniform(0.1, seconds - count * _LONGEST_CALL - 0.1, count))
    return free + _LONGEST_CALL * np.arange(count)
