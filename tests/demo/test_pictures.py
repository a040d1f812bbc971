"""The pictures: textured regions whose truth is exact."""

import numpy as np

from miml_core.demo.pictures import HEIGHT, WIDTH, make_scene
from miml_core.demo.textures import SURFACES, soft_noise
from miml_core.segments.outlines import fill


def test_pictures_have_several_surfaces_with_irregular_borders():
    scenes = [make_scene(number, 0) for number in range(5)]
    for scene in scenes:
        assert scene.pixels.shape == (HEIGHT, WIDTH, 3) and scene.pixels.dtype == np.uint8
        assert 2 <= len(scene.labels) <= 5
        border = (scene.surface[:, 1:] != scene.surface[:, :-1]).sum(axis=1)
        assert border.max() > border.min(), "no straight line from top to bottom"


def test_outlines_are_where_the_surface_is():
    scene = make_scene(2, 0)
    for label in scene.labels:
        index = [surface.name for surface in SURFACES].index(label)
        wrong = fill(scene.outlines(label), HEIGHT, WIDTH) != (scene.surface == index)
        assert wrong.mean() < 0.01


def test_surfaces_differ_in_more_than_colour():
    """Local contrast along rows and columns distinguishes grass, water and sand even in grey."""
    rng = np.random.default_rng(0)
    grain = {}
    for surface in SURFACES:
        grey = surface.draw(rng, 120, 160).mean(axis=2)
        grey /= grey.mean()
        grain[surface.name] = (np.abs(np.diff(grey, axis=0)).mean(), np.abs(np.diff(grey, axis=1)).mean())
    assert grain["Grass"][1] > 1.5 * grain["Grass"][0], "blades stand upright"
    assert grain["Water"][0] > 1.5 * grain["Water"][1], "ripples lie flat"
    assert max(grain["Sky"]) < 0.5 * min(grain["Sand"]), "sky is smooth"


def test_soft_noise_is_standardised_and_as_soft_as_asked():
    fine, coarse = (soft_noise(np.random.default_rng(1), 100, 120, size, size) for size in (2, 30))
    for noise in (fine, coarse):
        assert abs(noise.mean()) < 1e-9 and abs(noise.std() - 1) < 1e-9
    assert np.abs(np.diff(coarse, axis=1)).mean() < 0.3 * np.abs(np.diff(fine, axis=1)).mean()
