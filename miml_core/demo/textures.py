"""Generate the surfaces of the demo's pictures from noise and lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Colours = NDArray[np.float64]
"""(height, width, 3), 0 to 1."""
Plane = NDArray[np.float64]


@dataclass(frozen=True)
class Surface:
    """One class of the demo's pictures."""

    name: str
    shortcut: str
    draw: Callable[[np.random.Generator, int, int], Colours]


def soft_noise(rng: np.random.Generator, height: int, width: int, tall: float, wide: float) -> Plane:
    """Return noise of mean 0 and standard deviation 1, correlated over about `tall` x `wide` pixels."""
    rows, columns = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    blur = np.exp(-19.7 * ((rows * tall / 2) ** 2 + (columns * wide / 2) ** 2))
    noise = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((height, width))) * blur, (height, width))
    return (noise - noise.mean()) / noise.std()


def _tinted(rng: np.random.Generator, colour: tuple[float, float, float], light: Plane) -> Colours:
    """Return a randomly varied colour, modulated by `light`."""
    tint = np.asarray(colour) * np.exp(rng.normal(0, 0.06, 3)) * np.exp(rng.normal(0, 0.08))
    return tint * (1 + light[..., None])


def _grass(rng: np.random.Generator, height: int, width: int) -> Colours:
    blades = 0.24 * soft_noise(rng, height, width, 11, 1.6) + 0.10 * soft_noise(rng, height, width, 40, 40)
    return _tinted(rng, (0.30, 0.45, 0.17), blades)


def _water(rng: np.random.Generator, height: int, width: int) -> Colours:
    swell = soft_noise(rng, height, width, 5, 30)
    rows = np.arange(height)[:, None]
    ripples = np.sin(2 * np.pi * rows / rng.uniform(9, 14) + 1.2 * swell)
    return _tinted(rng, (0.27, 0.42, 0.52), 0.11 * ripples + 0.05 * swell)


def _sand(rng: np.random.Generator, height: int, width: int) -> Colours:
    grain = 0.09 * rng.standard_normal((height, width)) + 0.05 * soft_noise(rng, height, width, 60, 60)
    return _tinted(rng, (0.70, 0.60, 0.43), grain)


def _brick(rng: np.random.Generator, height: int, width: int) -> Colours:
    tall, long = rng.uniform(13, 18), rng.uniform(34, 44)
    rows, columns = np.mgrid[:height, :width] + soft_noise(rng, height, width, 50, 50)
    course = np.floor(rows / tall)
    along = columns / long + 0.5 * (course % 2)
    mortar = (rows % tall < 2.5) | ((along % 1.0) * long < 2.5)
    shade = 0.14 * np.sin(12.9898 * course + 78.233 * np.floor(along)) + 0.06 * rng.standard_normal((height, width))
    return np.where(mortar[..., None], _tinted(rng, (0.66, 0.61, 0.56), shade), _tinted(rng, (0.58, 0.30, 0.22), shade))


def _sky(rng: np.random.Generator, height: int, width: int) -> Colours:
    clouds = np.clip(soft_noise(rng, height, width, 50, 110) - 0.3, 0, 1.2) / 1.2
    blue = _tinted(rng, (0.45, 0.62, 0.84), np.linspace(-0.12, 0.12, height)[:, None] * np.ones(width))
    return blue + (0.90 - blue) * clouds[..., None] + 0.012 * rng.standard_normal((height, width, 1))


def _fabric(rng: np.random.Generator, height: int, width: int) -> Colours:
    rows, columns = np.mgrid[:height, :width] + 1.5 * soft_noise(rng, height, width, 60, 60)
    step = rng.uniform(6, 8)
    weave = np.sin(2 * np.pi * rows / step) * np.sin(2 * np.pi * columns / step)
    colour = ((0.55, 0.25, 0.40), (0.35, 0.33, 0.55), (0.60, 0.52, 0.40))[int(rng.integers(3))]
    return _tinted(rng, colour, 0.20 * weave + 0.03 * rng.standard_normal((height, width)))


def _gravel(rng: np.random.Generator, height: int, width: int) -> Colours:
    stones = np.tanh(1.8 * soft_noise(rng, height, width, 8, 8))
    return _tinted(rng, (0.47, 0.46, 0.44), 0.24 * stones + 0.05 * rng.standard_normal((height, width)))


def _wood(rng: np.random.Generator, height: int, width: int) -> Colours:
    rows = np.arange(height)[:, None] + 14 * soft_noise(rng, height, width, 30, 160)
    rings = np.abs(np.sin(np.pi * rows / rng.uniform(18, 26)))
    fibres = soft_noise(rng, height, width, 1.6, 30)
    return _tinted(rng, (0.52, 0.37, 0.23), 0.30 * (rings - 0.6) + 0.07 * fibres)


SURFACES = (
    Surface("Grass", "g", _grass),
    Surface("Water", "w", _water),
    Surface("Sand", "y", _sand),
    Surface("Brick", "b", _brick),
    Surface("Sky", "k", _sky),
    Surface("Fabric", "f", _fabric),
    Surface("Gravel", "v", _gravel),
    Surface("Wood", "o", _wood),
)
