"""Lab planes against scikit-image, blurring against SciPy."""

import numpy as np
from scipy.ndimage import gaussian_filter
from skimage.color import rgb2lab

from miml_core.media.lab import blur, gradient, to_lab


def test_lab_is_that_of_scikit_image():
    levels = np.arange(0, 256, 15, dtype=np.uint8)
    pixels = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(-1, 18, 3)
    np.testing.assert_allclose(to_lab(pixels), np.moveaxis(rgb2lab(pixels), 2, 0), atol=0.02)


def test_blur_is_a_gaussian_with_edges_carried_on():
    plane = np.random.default_rng(0).normal(size=(23, 31)).astype(np.float32)
    for sigma in (0.8, 2.0, 4.0):
        expected = gaussian_filter(plane, sigma, mode="nearest", radius=max(1, round(3 * sigma)))
        np.testing.assert_allclose(blur(plane, sigma), expected, atol=1e-5)


def test_gradient_of_a_slope_is_its_steepness():
    rows, columns = np.mgrid[:6, :8].astype(np.float32)
    down, right = gradient(2 * rows - 3 * columns)
    assert (down[1:-1] == 2).all() and (right[:, 1:-1] == -3).all()
    assert all((part == 0).all() for part in gradient(np.ones((1, 1), dtype=np.float32)))
