"""Generate pictures: a few surfaces side by side, with irregular borders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.demo.textures import SURFACES, soft_noise
from miml_core.segments.outlines import simplify, trace

HEIGHT, WIDTH = 360, 480
_BORDER_TOLERANCE = 0.75


@dataclass(frozen=True, eq=False)
class Scene:
    """One picture and its true labels."""

    name: str
    pixels: NDArray[np.uint8]
    surface: NDArray[np.int64]
    """(height, width) index of the surface of each pixel in `SURFACES`."""

    @property
    def labels(self) -> list[str]:
        """The surfaces in the picture, in the order of `SURFACES`."""
        return [SURFACES[index].name for index in np.unique(self.surface)]

    def outlines(self, label: str) -> list[list[tuple[float, float]]]:
        """Return the outlines of a surface: rings in pixels."""
        index = [surface.name for surface in SURFACES].index(label)
        rings = [simplify(ring, _BORDER_TOLERANCE) for ring in trace(self.surface == index)]
        return [[(round(float(x), 1), round(float(y), 1)) for x, y in ring] for ring in rings]


def make_scene(number: int, seed: int) -> Scene:
    """Return picture number `number`, which only depends on the number and the seed."""
    rng = np.random.default_rng([seed, number, 1])
    chosen = rng.choice(len(SURFACES), int(rng.integers(2, 6)), replace=False)
    places = _places(rng, int(rng.integers(max(4, len(chosen)), 8)))
    of_place = np.concatenate([chosen, rng.choice(chosen, len(places) - len(chosen))])
    nearest = _nearest_place(rng, places)
    colours = np.zeros((HEIGHT, WIDTH, 3))
    for place, index in enumerate(of_place):
        here = nearest == place
        rows, columns = np.flatnonzero(here.any(axis=1)), np.flatnonzero(here.any(axis=0))
        if not len(rows):
            continue
        box = (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
        colours[box][here[box]] = SURFACES[index].draw(rng, *here[box].shape)[here[box]]
    light = 1 + 0.10 * soft_noise(rng, HEIGHT, WIDTH, 300, 300) + 0.015 * rng.standard_normal((HEIGHT, WIDTH))
    pixels = np.clip(255 * colours * light[..., None], 0, 255).round().astype(np.uint8)
    return Scene(f"scene_{number + 1:02}.png", pixels, of_place[nearest])


def _places(rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Return (count, 2) rows and columns of random places at large distances."""
    places = [rng.uniform((0, 0), (HEIGHT, WIDTH))]
    while len(places) < count:
        tries = rng.uniform((0, 0), (HEIGHT, WIDTH), (12, 2))
        distances = np.linalg.norm(tries[:, None] - np.asarray(places)[None], axis=2).min(axis=1)
        places.append(tries[int(distances.argmax())])
    return np.asarray(places)


def _nearest_place(rng: np.random.Generator, places: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return (height, width) the nearest place of each pixel, after a random distortion."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    for amplitude, size in ((16.0, 90.0), (3.0, 14.0)):
        rows += amplitude * soft_noise(rng, HEIGHT, WIDTH, size, size)
        columns += amplitude * soft_noise(rng, HEIGHT, WIDTH, size, size)
    distances = (rows[..., None] - places[:, 0]) ** 2 + (columns[..., None] - places[:, 1]) ** 2
    return distances.argmin(axis=2)
