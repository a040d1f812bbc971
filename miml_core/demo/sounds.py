"""Generate recordings: ten seconds of background with calls of some invented species."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from miml_core.demo import weather
from miml_core.demo.calls import RATE, SPECIES, Call, Rings, Samples, Voice

SECONDS = 10.0
_LONGEST_CALL = 1.6
_FIRST_MORNING = datetime(2025, 5, 3, 4, 30)
_RECORDINGS_PER_MORNING = 12


@dataclass(frozen=True)
class Event:
    """The true label, time and outline of one call in a recording."""

    label: str
    start_s: float
    end_s: float
    outlines: Rings
    """Rings in seconds from the start of the recording and hertz."""


@dataclass(frozen=True, eq=False)
class Soundscape:
    """One recording and its true events."""

    name: str
    samples: Samples
    events: list[Event]

    @property
    def labels(self) -> list[str]:
        """The species in the recording, in the order of `SPECIES`."""
        present = {event.label for event in self.events}
        return [species.name for species in SPECIES if species.name in present]


def make_soundscape(number: int, seed: int) -> Soundscape:
    """Return recording number `number`, which only depends on the number and the seed."""
    rng = np.random.default_rng([seed, number])
    n = round(SECONDS * RATE)
    sound = _background(rng, n)
    events: list[Event] = []
    for index in _choose_species(rng):
        voice = Voice(pitch=float(np.exp(rng.normal(0, 0.05))), tempo=float(np.exp(rng.normal(0, 0.07))))
        loudness = float(np.exp(rng.uniform(np.log(0.035), np.log(0.25))))
        for slot in _moments(rng):
            call = SPECIES[index].sing(rng, voice)
            call = Call(with_echoes(rng, call.samples), call.outlines)
            start = min(round(slot * RATE), n - len(call.samples))
            sound[start : start + len(call.samples)] += loudness * rng.uniform(0.7, 1.2) * call.samples
            events.append(_event(SPECIES[index].name, call, start))
    events.sort(key=lambda event: event.start_s)
    return Soundscape(recording_name(number), np.clip(sound, -1, 1), events)


def _moments(rng: np.random.Generator) -> list[float]:
    """Return the start times of one to four calls of an animal, which do not overlap."""
    count = int(rng.integers(1, 5))
    free = np.sort(rng.uniform(0.1, SECONDS - count * _LONGEST_CALL, count))
    return [float(moment) for moment in free + _LONGEST_CALL * np.arange(count)]


def recording_name(number: int) -> str:
    """Return a file name like those of field recorders: date and time, every ten minutes from dawn on."""
    morning, slot = divmod(number, _RECORDINGS_PER_MORNING)
    moment = _FIRST_MORNING + timedelta(days=morning, minutes=10 * slot)
    return f"{moment:%Y%m%d_%H%M%S}.wav"


def _choose_species(rng: np.random.Generator) -> list[int]:
    """Return none to five species; the first ones are more common than the last."""
    weights = 1.0 / (14.0 + np.arange(len(SPECIES)))
    count = rng.choice(6, p=[0.04, 0.14, 0.26, 0.28, 0.18, 0.10])
    return [int(index) for index in rng.choice(len(SPECIES), count, replace=False, p=weights / weights.sum())]


def _background(rng: np.random.Generator, n: int) -> Samples:
    sound = weather.air(rng, n) * rng.uniform(0.7, 1.6)
    for chance, source in ((0.4, weather.wind), (0.2, weather.rain), (0.35, weather.crickets), (0.3, weather.clicks)):
        if rng.random() < chance:
            sound += source(rng, n)
    return sound


def with_echoes(rng: np.random.Generator, samples: Samples) -> Samples:
    """Return the call with the echoes of a forest."""
    tail = rng.standard_normal(RATE // 12) * np.exp(-np.arange(RATE // 12) / (RATE / 45))
    tail *= rng.uniform(0.02, 0.10) / np.sqrt((tail**2).sum())
    echo = np.concatenate([[1.0], np.zeros(RATE // 120), tail])
    n = len(samples) + len(echo) - 1
    size = 1 << n.bit_length()
    return np.fft.irfft(np.fft.rfft(samples, size) * np.fft.rfft(echo, size), size)[:n]


def _event(label: str, call: Call, first_sample: int) -> Event:
    start = first_sample / RATE
    outlines = [[(round(start + t, 4), round(f, 1)) for t, f in ring] for ring in call.outlines]
    times = [t for ring in outlines for t, _ in ring]
    return Event(label, min(times), max(times), outlines)
