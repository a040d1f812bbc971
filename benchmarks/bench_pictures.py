"""Pictures of 320 x 240 per second on one core, from file to segments with features, beside bare SLIC on the same.

Aims: 10 pictures per second or more; less time than SLIC alone takes to find superpixels.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from miml_core.features.visual import picture_features
from miml_core.instances import InstanceSettings, picture_instances
from miml_core.media.image import open_image
from miml_core.media.lab import blur
from miml_core.segments.visual import find_picture_segments

N_PICTURES = 20


def run() -> None:
    """Print the figures."""
    from skimage.segmentation import slic

    with tempfile.TemporaryDirectory() as name:
        paths = draw_pictures(Path(name))
        settings = InstanceSettings()
        pictures = [open_image(path) for path in paths]
        regions = [find_picture_segments(picture) for picture in pictures]
        whole = _seconds(lambda i: picture_instances(paths[i], settings))
        segments = _seconds(lambda i: find_picture_segments(pictures[i]))
        features = _seconds(lambda i: picture_features(pictures[i], regions[i]))
        bare = _seconds(lambda i: slic(pictures[i].pixels, n_segments=400, start_label=1))
    print(f"pictures: {1 / whole:.0f} per second, file to segments and features ({1000 * whole:.0f} ms: ", end="")
    print(f"segments {1000 * segments:.0f}, features {1000 * features:.0f})")
    print(f"bare SLIC: {1000 * bare:.0f} ms; all of ours takes {whole / bare:.2f} x that")


def _seconds(work: Callable[[int], object]) -> float:
    """Return the processor seconds per picture, the first call left out."""
    work(0)
    started = time.process_time()
    for number in range(N_PICTURES):
        work(number)
    return (time.process_time() - started) / N_PICTURES


def draw_pictures(folder: Path) -> list[Path]:
    """Draw patches of smooth and rough colour, about as busy as photographs, as JPEG files."""
    rng = np.random.default_rng(0)
    paths = []
    for number in range(N_PICTURES):
        clouds = np.stack([blur(rng.normal(size=(240, 320)).astype(np.float32), 12) for _ in range(3)])
        patches = np.floor(clouds * 40).astype(int)
        colours = rng.integers(30, 226, (997, 3))[(patches * [[[7]], [[31]], [[101]]]).sum(axis=0) % 997]
        grain = rng.normal(0, 10, (240, 320, 1)) * rng.random((240, 320, 1))
        paths.append(folder / f"{number}.jpg")
        Image.fromarray(np.clip(colours + grain, 0, 255).astype(np.uint8)).save(paths[-1], quality=92)
    return paths


if __name__ == "__main__":
    run()
