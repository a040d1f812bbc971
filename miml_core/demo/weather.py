"""Generate the background of field recordings: wind, rain, crickets, clicks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from miml_core.demo.calls import RATE, Samples, fade, sample_times


def air(rng: np.random.Generator, n: int) -> Samples:
    """Return the steady noise of recorder and environment, louder at low frequencies."""
    return 0.0035 * _coloured(rng, n, lambda f: 1 / np.sqrt(1 + (f / 600.0) ** 1.2))


def wind(rng: np.random.Generator, n: int) -> Samples:
    """Return gusts of low-frequency noise."""
    rumble = _coloured(rng, n, lambda f: 1 / (1 + (f / 120.0) ** 2))
    knots = rng.uniform(0, 1, 8) ** 2
    gusts = np.interp(np.linspace(0, 7, n), np.arange(8), knots)
    return 0.06 * rumble * gusts


def rain(rng: np.random.Generator, n: int) -> Samples:
    """Return a hiss, and drops on leaves near the microphone."""
    sound = 0.004 * _coloured(rng, n, lambda f: np.clip(f / 3000.0, 0, 1))
    for start in rng.integers(0, n - 400, int(rng.integers(15, 50))):
        drop = rng.standard_normal(220) * np.exp(-np.arange(220) / 40.0)
        sound[start : start + 220] += rng.uniform(0.005, 0.03) * drop
    return sound


def crickets(rng: np.random.Generator, n: int) -> Samples:
    """Return short bouts of pulses at one high pitch."""
    pitch, pulses = rng.uniform(9000, 9900), rng.uniform(55, 75)
    seconds = sample_times(n)
    sound = np.sin(2 * np.pi * pitch * seconds) * np.clip(np.sin(2 * np.pi * pulses * seconds), 0, 1)
    bouts = np.zeros(n)
    start = rng.uniform(0, 1.5)
    while start < n / RATE - 0.5:
        length = round(rng.uniform(0.25, 0.45) * RATE)
        first = round(start * RATE)
        part = bouts[first : first + length]
        part[:] = fade(length, 0.05)[: len(part)]
        start += rng.uniform(0.7, 2.5)
    return rng.uniform(0.004, 0.02) * sound * bouts


def clicks(rng: np.random.Generator, n: int) -> Samples:
    """Return clicks of twigs and of the recorder's case."""
    sound = np.zeros(n)
    for start in rng.integers(0, n - 600, int(rng.integers(1, 5))):
        crack = rng.standard_normal(600) * np.exp(-np.arange(600) / rng.uniform(30, 120))
        sound[start : start + 600] += rng.uniform(0.02, 0.12) * crack
    return sound


def _coloured(rng: np.random.Generator, n: int, shape: Callable[[Samples], Samples]) -> Samples:
    """Return noise of standard deviation 1 with the spectrum `shape(hertz)`."""
    frequencies = np.asarray(np.fft.rfftfreq(n, 1 / RATE), dtype=np.float64)
    spectrum = np.fft.rfft(rng.standard_normal(n)) * shape(frequencies)
    noise = np.fft.irfft(spectrum, n)
    return noise / noise.std()
