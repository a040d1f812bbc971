"""The weather of the demo's survey, hour by hour, and its noise in long recordings.

The noises are those of `miml_core.demo.weather`, generated in single precision from their spectra, which takes a tenth
of the time: fifty hours have four thousand million samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from miml_core.demo.calls import RATE
from miml_core.demo.survey.rhythms import HOURS

Samples = NDArray[np.float32]

_AIR, _RAIN, _WIND = 0.0035, 0.004, 0.05
_WIND_TOP = 1500.0
"""Hertz above which wind is not generated."""
_DROPS_PER_SECOND = 3.0
_DROP = 220
_CLICKS_PER_MINUTE = 2.0
_CLICK = 600


@dataclass(frozen=True, eq=False)
class Weather:
    """The weather of a survey, the same at all its sites.

    Attributes
    ----------
    rain : (days, 24) bool
    wind : (days, 24) float
        0 to 1.
    """

    rain: NDArray[np.bool_]
    wind: NDArray[np.float64]

    @classmethod
    def draw(cls, days: int, seed: int) -> Weather:
        """Return the weather of a survey."""
        rng = np.random.default_rng([seed, 3])
        rain = np.zeros(days * HOURS, dtype=bool)
        for start in rng.integers(0, days * HOURS, max(1, days // 2)):
            rain[start : start + int(rng.integers(1, 5))] = True
        gusty = np.interp(
            np.arange(days * HOURS), np.arange(0, days * HOURS + 6, 6), rng.uniform(-0.6, 1, days * 4 + 1)
        )
        return cls(rain.reshape(days, HOURS), np.clip(gusty, 0, 1).reshape(days, HOURS))


def background(rng: np.random.Generator, n: int, rain: bool, wind: float) -> Samples:
    """Return the background of a recording of `n` samples: recorder and air, wind, rain, clicks."""
    sound = _noise(rng, n, _air_and_rain if rain else _air) * np.float32(rng.uniform(0.8, 1.4))
    if wind > 0:
        gusts = np.interp(np.arange(n, dtype=np.float32), np.linspace(0, n, 64), rng.uniform(0, 1, 64) ** 2)
        sound += _noise(rng, n, _gust, _WIND_TOP) * (wind * gusts).astype(np.float32)
    if rain:
        _add_bursts(rng, sound, _DROPS_PER_SECOND, _DROP, 40.0, (0.005, 0.03))
    _add_bursts(rng, sound, _CLICKS_PER_MINUTE / 60, _CLICK, 80.0, (0.02, 0.12))
    return sound


def _air(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    return _AIR * _scaled(1 / np.sqrt(1 + (frequency / 600.0) ** 1.2))


def _air_and_rain(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.hypot(_air(frequency), _RAIN * _scaled(np.clip(frequency / 3000.0, 0, 1)))


def _gust(frequency: NDArray[np.float64]) -> NDArray[np.float64]:
    return _WIND * _scaled(1 / (1 + (frequency / 120.0) ** 2))


def _scaled(shape: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a spectrum whose noise has a standard deviation of 1."""
    return shape / np.sqrt(2 * (shape**2).sum())


Spectrum = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _noise(rng: np.random.Generator, n: int, spectrum: Spectrum, top: float = RATE / 2) -> Samples:
    """Return noise with a spectrum, which is 0 above `top` hertz."""
    from scipy.fft import irfft

    weights = _weights(n, spectrum, top)
    parts = rng.standard_normal(2 * len(weights), dtype=np.float32).view(np.complex64)
    parts *= weights
    return np.asarray(irfft(parts, n, overwrite_x=True), dtype=np.float32)


@lru_cache(maxsize=8)
def _weights(n: int, spectrum: Spectrum, top: float) -> Samples:
    frequency = np.asarray(np.fft.rfftfreq(n, 1 / RATE), dtype=np.float64)
    return (n * spectrum(frequency[frequency <= top])).astype(np.float32)


def _add_bursts(
    rng: np.random.Generator,
    sound: Samples,
    per_second: float,
    length: int,
    decay: float,
    loudness: tuple[float, float],
) -> None:
    """Add short bursts of noise at random times."""
    envelope = np.exp(-np.arange(length) / decay)
    for start in rng.integers(0, len(sound) - length, rng.poisson(per_second * len(sound) / RATE)):
        sound[start : start + length] += (rng.uniform(*loudness) * rng.standard_normal(length) * envelope).astype(
            np.float32
        )
