"""Generate the calls of the demo's invented species.

A call consists of notes: a frequency curve over time, an envelope, and the strengths of the overtones. The same curve
gives the outlines that are the true extent of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RATE = 22_050
"""Samples per second of the demo's recordings."""

Samples = NDArray[np.float64]
Rings = list[list[tuple[float, float]]]

_AUDIBLE = 0.03
_MARGIN_HZ = 150.0
_MARGIN_S = 0.012


@dataclass(frozen=True, eq=False)
class Call:
    """One call: its samples (the loudest is about 1) and its outlines in seconds from its start and hertz."""

    samples: Samples
    outlines: Rings


@dataclass(frozen=True)
class Voice:
    """One animal of a species: the properties that all its calls share."""

    pitch: float
    tempo: float


@dataclass(frozen=True)
class Species:
    """One invented species."""

    name: str
    scientific_name: str
    shortcut: str
    sing: Callable[[np.random.Generator, Voice], Call]


def tone(frequency: Samples, strengths: Sequence[float] = (1.0,), attack: float = 0.012) -> Call:
    """Return a note with the frequency curve `frequency` (hertz, one per sample) and overtones of these strengths."""
    phase = 2 * np.pi * np.cumsum(frequency) / RATE
    audible = [(k, strength) for k, strength in enumerate(strengths, start=1) if k * frequency.max() < 0.48 * RATE]
    samples = sum((strength * np.sin(k * phase) for k, strength in audible), np.zeros(len(frequency)))
    samples *= fade(len(frequency), attack) / max(np.abs(samples).max(), 1e-9)
    loudest = max(strength for _, strength in audible)
    outlines = [_ribbon(k * frequency, _MARGIN_HZ) for k, strength in audible if strength >= _AUDIBLE * loudest]
    return Call(samples, outlines)


def hiss(rng: np.random.Generator, seconds: float, low: float, high: float, beat: float) -> Call:
    """Return noise between two frequencies, modulated `beat` times per second."""
    n = round(seconds * RATE)
    spectrum = np.fft.rfft(rng.standard_normal(n))
    frequencies = np.fft.rfftfreq(n, 1 / RATE)
    edge = 250.0
    spectrum *= np.clip((frequencies - low) / edge, 0, 1) * np.clip((high - frequencies) / edge, 0, 1)
    samples = np.fft.irfft(spectrum, n) * (0.55 + 0.45 * np.sin(2 * np.pi * beat * sample_times(n)))
    middle, half = (low + high) / 2, (high - low) / 2
    samples *= fade(n, 0.03) / max(np.abs(samples).max(), 1e-9)
    return Call(samples, [_ribbon(np.full(n, middle), half)])


def join_calls(calls: Sequence[Call], gap: float) -> Call:
    """Return calls one after the other, with `gap` seconds of silence between them."""
    silence = np.zeros(round(gap * RATE))
    parts, outlines, start = [], [], 0.0
    for call in calls:
        outlines += [[(start + t, f) for t, f in ring] for ring in call.outlines]
        parts += [call.samples, silence]
        start += (len(call.samples) + len(silence)) / RATE
    return Call(np.concatenate(parts[:-1]), outlines)


def fade(n: int, seconds: float) -> Samples:
    """Return an envelope that rises and falls within `seconds`."""
    ramp = np.clip(np.minimum(np.arange(n), n - 1 - np.arange(n)) / max(seconds * RATE, 1), 0, 1)
    return np.sin(0.5 * np.pi * ramp)


def sample_times(n: int) -> Samples:
    """Return the times of `n` samples in seconds."""
    return np.arange(n) / RATE


def glide(seconds: float, *frequencies: float) -> Samples:
    """Return a frequency curve through equally spaced frequencies."""
    n = round(seconds * RATE)
    return np.interp(np.linspace(0, 1, n), np.linspace(0, 1, len(frequencies)), frequencies)


def _ribbon(frequency: Samples, half: float) -> list[tuple[float, float]]:
    """Return the outline of a frequency curve as a person would draw it: `half` hertz and a moment wider."""
    n = len(frequency)
    chosen = np.linspace(0, n - 1, max(2, n // 170)).astype(int)
    times, line = chosen / RATE, frequency[chosen]
    half_widths = half + _MARGIN_S * np.abs(np.gradient(line, times))
    times[0], times[-1] = times[0] - _MARGIN_S, times[-1] + _MARGIN_S
    upper, lower = zip(times, line + half_widths), zip(times, line - half_widths)
    return [(float(t), float(f)) for t, f in [*upper, *reversed(list(lower))]]


def _trill(rng: np.random.Generator, voice: Voice) -> Call:
    """Return forty notes per second at nearly the same pitch, heard as a rattle."""
    n_notes = int(rng.integers(22, 40))
    pitch = 4300 * voice.pitch
    note = tone(glide(0.017 / voice.tempo, 1.10 * pitch, 0.92 * pitch), attack=0.004)
    return join_calls([note] * n_notes, 0.007 / voice.tempo)


def _whistle(rng: np.random.Generator, voice: Voice) -> Call:
    """Return one long, pure, nearly level note."""
    seconds = rng.uniform(0.45, 0.9) / voice.tempo
    line = glide(seconds, 1.0, 1.015, 0.985) * 2700 * voice.pitch
    return tone(line * (1 + 0.006 * np.sin(2 * np.pi * 6 * sample_times(len(line)))), attack=0.05)


def _rising_sweep(rng: np.random.Generator, voice: Voice) -> Call:
    low = 2300 * voice.pitch
    return tone(glide(rng.uniform(0.16, 0.26) / voice.tempo, low, 1.35 * low, 2.5 * low), (1.0, 0.05))


def _falling_sweep(rng: np.random.Generator, voice: Voice) -> Call:
    high = 5600 * voice.pitch
    return tone(glide(rng.uniform(0.25, 0.4) / voice.tempo, high, 0.55 * high, 0.38 * high), (1.0, 0.05))


def _buzz(rng: np.random.Generator, voice: Voice) -> Call:
    """Return a band of noise, as an insect-like songbird gives."""
    low = 4600 * voice.pitch
    return hiss(rng, rng.uniform(0.4, 0.8) / voice.tempo, low, 1.6 * low, beat=48 * voice.tempo)


def _harmonic_stack(rng: np.random.Generator, voice: Voice) -> Call:
    """Return a nasal call: many overtones of a low note."""
    base = 190 * voice.pitch
    line = glide(rng.uniform(0.22, 0.38) / voice.tempo, base, 1.06 * base, 0.94 * base)
    return tone(line, (0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.0, 1.0, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2))


def _chirp_series(rng: np.random.Generator, voice: Voice) -> Call:
    """Return short falling chirps, well apart."""
    high = 7300 * voice.pitch
    chirp = tone(glide(0.055 / voice.tempo, high, 0.82 * high, 0.76 * high), attack=0.008)
    return join_calls([chirp] * int(rng.integers(3, 7)), rng.uniform(0.09, 0.14) / voice.tempo)


def _warble(rng: np.random.Generator, voice: Voice) -> Call:
    """Return a note whose pitch swings up and down."""
    n = round(rng.uniform(0.7, 1.2) / voice.tempo * RATE)
    swing = np.sin(2 * np.pi * 7.0 * voice.tempo * sample_times(n) + rng.uniform(0, 6.28))
    return tone(3500 * voice.pitch * (1 + 0.18 * swing))


def _hoot(rng: np.random.Generator, voice: Voice) -> Call:
    """Return low, soft notes in twos and threes."""
    pitch = 860 * voice.pitch
    hoot = tone(glide(0.26 / voice.tempo, 0.9 * pitch, pitch, 0.88 * pitch), attack=0.05)
    return join_calls([hoot] * int(rng.integers(2, 4)), 0.2 / voice.tempo)


def _double_bell(rng: np.random.Generator, voice: Voice) -> Call:
    """Return a high note that slides into a lower one, like a doorbell.

    They form one sound: if two notes always occurred together, tags could not show whether the second is a call, too.
    """
    high, n = 6300 * voice.pitch, round(rng.uniform(0.12, 0.18) / voice.tempo * RATE)
    slide = glide(0.08 / voice.tempo, high, 0.74 * high)
    return tone(np.concatenate([np.full(n, high), slide, np.full(n, 0.74 * high)]), attack=0.02)


SPECIES = (
    Species("Copper trill", "Aeramen tinnulus", "t", _trill),
    Species("Glass whistler", "Vitreola sibilans", "w", _whistle),
    Species("Rising lancet", "Lanceola ascendens", "y", _rising_sweep),
    Species("Falling ember", "Favilla cadens", "k", _falling_sweep),
    Species("Sedge buzzer", "Murmurella carecti", "b", _buzz),
    Species("Nasal stacker", "Acervula nasalis", "j", _harmonic_stack),
    Species("Dotted chirper", "Punctula stridens", "o", _chirp_series),
    Species("Ribbon warble", "Taeniola undans", "i", _warble),
    Species("Hollow hooter", "Cavicula gemens", "h", _hoot),
    Species("Doorbell finch", "Campanilla bina", "f", _double_bell),
)
"""Invented species; none of them exists."""
