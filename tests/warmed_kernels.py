"""Print the kernels that are compiled when sounds, pictures and models are used after `warm`: `test_kernels.py`."""

import importlib
import sys
import tempfile
from pathlib import Path

import numpy as np
from numba.core.dispatcher import Dispatcher
from PIL import Image

from miml_core import BagSet, kernels
from miml_core.features.acoustic import sound_features
from miml_core.features.visual import picture_features
from miml_core.media.image import open_image
from miml_core.media.spectrogram import SpectrogramSettings, make_spectrogram
from miml_core.models import MODELS
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.learned import Example, LearnedSegmenter
from miml_core.segments.visual import find_picture_segments


def compiled() -> set[str]:
    """Return the kernels that Python has called so far, with the types of their arguments."""
    modules = {name: module for name, module in sys.modules.items() if name.endswith("_kernels")}
    return {
        f"{module}.{name}{types}"
        for module, names in modules.items()
        for name, value in vars(names).items()
        if isinstance(value, Dispatcher)
        for types in value.signatures
    }


def use_sounds(rng: np.random.Generator) -> None:
    for rate in (22_050, 384_000):
        samples = rng.normal(0, 0.01, rate).astype(np.float32)
        for start in (rate // 8, rate // 2, 3 * rate // 4):  # three calls
            samples[start : start + rate // 10] += 0.3 * np.sin(np.arange(rate // 10)).astype(np.float32)
        spectrogram = make_spectrogram(samples, rate, SpectrogramSettings.for_rate(rate))
        settings = SoundSegmentSettings.for_rate(rate)
        regions = find_sound_segments(spectrogram, settings)
        sound_features(spectrogram, regions)
        LearnedSegmenter.train([Example(spectrogram, regions[:-1], regions[-1:], True)], settings).find(spectrogram)


def use_pictures(rng: np.random.Generator) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "noise.png"
        Image.fromarray(rng.integers(0, 255, (60, 80, 3)).astype(np.uint8)).save(file)
        picture = open_image(file)
    picture_features(picture, find_picture_segments(picture))


def use_models(rng: np.random.Generator) -> None:
    species = rng.integers(0, 3, 60)
    tags = np.full((20, 3), -1, dtype=np.int8)
    tags[np.arange(60) // 3, species] = 1
    X = rng.normal(size=(60, 5)) + 3 * np.eye(5)[species]
    for values in (X, X.astype(np.float32)):
        bags = BagSet(values, np.arange(0, 61, 3), tags, ["Wren", "Robin", "Owl"], labels=species)
        for model in MODELS.values():
            fitted = model().fit(bags)
            fitted.annotate(bags)
            fitted.predict_tags(bags)


if __name__ == "__main__":
    for module in kernels.MODULES:
        importlib.import_module(module).warm()
    ready = compiled()
    for use in (use_sounds, use_pictures, use_models):
        use(np.random.default_rng(0))
    print("\n".join(sorted(compiled() - ready)))
