"""Read folders of pictures with label maps: segments, features, and true classes per picture.

A set is a folder with `images/` and `labels/` (a grey or palette picture of the same name and size, one number per
pixel) and, if wanted, `classes.json` with `{"classes": [name of number 0, ...]}`. A class called void (or
unlabelled, or unlabeled) is no class: its pixels are not scored.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.features.visual import picture_features
from miml_core.media.grid import Grid
from miml_core.media.image import PICTURE_SUFFIXES, Picture, open_image
from miml_core.segments.regions import Region, from_labels, to_labels
from miml_core.segments.visual import PictureSegmentSettings, find_picture_segments

NO_CLASS = ("void", "unlabelled", "unlabeled")
LABEL_MAP_SUFFIXES = (".png", ".tif", ".tiff", ".bmp", ".gif")
SPECK = 0.0005
"""Parts of a label map below this share of the picture are drawing errors, not segments."""


@dataclass(frozen=True)
class PictureSet:
    """A named set: (picture, label map) pairs, and the names of the label numbers if known."""

    name: str
    files: list[tuple[Path, Path]]
    number_names: list[str] | None

    def class_name(self, number: int) -> str:
        """Return the name of a number of the label maps."""
        names = self.number_names
        return names[number] if names is not None and number < len(names) else f"class {number}"

    def is_class(self, number: int) -> bool:
        """Return whether a number of the label maps is a class, not a void."""
        return self.class_name(number).lower() not in NO_CLASS


@dataclass(frozen=True, eq=False)
class Segmented:
    """The segments of one picture, segmented in one way.

    `pixels[i, number]` counts the pixels of segment i that the label map gives that number.
    """

    pixels: NDArray[np.int64]
    features: dict[str, NDArray[np.float64]]


def find_picture_sets(data_dir: Path) -> list[PictureSet]:
    """Return every folder of `data_dir`/images with this layout."""
    folders = sorted(path for path in (data_dir / "images").glob("*") if (path / "labels").is_dir())
    return [found for found in map(_picture_set, folders) if found.files]


def read_label_map(path: Path, grid: Grid) -> NDArray[np.int64]:
    """Return the numbers of a label map at the pixel centres of a (possibly reduced) picture's grid."""
    from PIL import Image

    try:
        with Image.open(path) as image:
            numbers = np.array(image)
    except OSError as error:
        raise BagtagError(f"The label map {path.name} cannot be read: {error}") from error
    if numbers.ndim != 2 or numbers.shape != (round(grid.bottom), round(grid.right)):
        raise BagtagError(
            f"The label map {path.name} has the shape {numbers.shape}; it must have one number for each of the "
            f"{round(grid.right)} x {round(grid.bottom)} pixels of its picture."
        )
    rows = grid.y_at(np.arange(grid.height) + 0.5).astype(np.int64)
    columns = grid.x_at(np.arange(grid.width) + 0.5).astype(np.int64)
    return numbers[np.ix_(rows, columns)].astype(np.int64)


def cut_and_count(
    picture_path: Path, map_path: Path, settings: PictureSegmentSettings, feature_sets: tuple[str, ...]
) -> Segmented:
    """Return our segments of a picture with the given features, and the label map's numbers in each."""
    picture, numbers = _read(picture_path, map_path, settings)
    return _segmented(picture, numbers, find_picture_segments(picture, settings), feature_sets)


def true_segments(
    picture_path: Path, map_path: Path, settings: PictureSegmentSettings, not_classes: tuple[int, ...]
) -> Segmented:
    """Return the connected parts of the label map's classes instead of our segments."""
    from scipy.ndimage import label

    picture, numbers = _read(picture_path, map_path, settings)
    regions = []
    for number in np.setdiff1d(np.unique(numbers), not_classes):
        regions += from_labels(label(numbers == number)[0])
    large = [region for region in regions if region.area >= SPECK * numbers.size]
    largest = max(regions, key=lambda region: region.area)
    return _segmented(picture, numbers, large or [largest], ("extended",))


def _read(picture_path: Path, map_path: Path, settings: PictureSegmentSettings) -> tuple[Picture, NDArray[np.int64]]:
    picture = open_image(picture_path, max_side=settings.working_side)
    return picture, read_label_map(map_path, picture.grid)


def _segmented(
    picture: Picture, numbers: NDArray[np.int64], regions: list[Region], feature_sets: tuple[str, ...]
) -> Segmented:
    n_numbers = int(numbers.max()) + 1
    owner = to_labels(regions, *numbers.shape).ravel().astype(np.int64)
    cells = (owner - 1) * n_numbers + numbers.ravel()
    pixels = np.bincount(cells[owner > 0], minlength=len(regions) * n_numbers).reshape(len(regions), n_numbers)
    return Segmented(pixels, {name: picture_features(picture, regions, name) for name in feature_sets})  # type: ignore[arg-type]


def _picture_set(folder: Path) -> PictureSet:
    maps = {path.stem: path for path in sorted((folder / "labels").iterdir()) if path.suffix in LABEL_MAP_SUFFIXES}
    pictures = [path for path in sorted((folder / "images").glob("*")) if path.suffix.lower() in PICTURE_SUFFIXES]
    return PictureSet(
        folder.name, [(path, maps[path.stem]) for path in pictures if path.stem in maps], _number_names(folder)
    )


def _number_names(folder: Path) -> list[str] | None:
    path = folder / "classes.json"
    if not path.is_file():
        return None
    try:
        return [str(name) for name in json.loads(path.read_text())["classes"]]
    except (ValueError, KeyError, TypeError) as error:
        raise BagtagError(f"{path} must have a list of names under 'classes': {error}") from error
