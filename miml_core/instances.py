"""Compute the segments and features of one bag: a window of a sound file, or a picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.features.acoustic import FeatureSet, sound_feature_names, sound_features
from miml_core.features.embeddings import ArrayCache, PictureClip, SoundClip, embed, find_embedding
from miml_core.features.visual import picture_feature_names, picture_features
from miml_core.media.audio import Channel
from miml_core.media.grid import Grid
from miml_core.media.image import Picture, open_image
from miml_core.media.sound_blocks import SoundBlock, SoundWindow
from miml_core.media.spectrogram import Spectrogram, SpectrogramSettings
from miml_core.segments.acoustic import SoundSegmentSettings, find_sound_segments
from miml_core.segments.learned import LearnedSegmenter
from miml_core.segments.regions import Region, resample
from miml_core.segments.visual import PictureSegmentSettings, find_picture_segments

_SEGMENTS_MADE, _FEATURES_MADE = 1, 1
"""Versions, part of the keys; increased if the same settings give other segments, or other features, than before."""

ClipCaches = Callable[[int, int], ArrayCache]
"""Given the first sample of a clip in its file and their number, returns where an embedding may keep an array of it."""


@dataclass(frozen=True)
class InstanceSettings:
    """All settings that the segments and features of a bag depend on.

    Parameters
    ----------
    spectrogram : SpectrogramSettings
    segments : SoundSegmentSettings
    learned_segmenter : str, optional
        File of a `LearnedSegmenter` that finds the segments of sound. In a project it is relative to the project's
        folder, so that the project can be moved; `within` returns settings with the full path.
    channel : int or "mix"
        Channel of recordings with several channels.
    feature_set : "paper" or "extended"
    embedding : str, optional
        Name of an embedding whose columns are added to the features; see `features/embeddings.py`.
    picture_segments : PictureSegmentSettings

    Examples
    --------
    >>> settings = InstanceSettings.for_rate(44100)
    >>> other = replace(settings, feature_set="paper")
    >>> other.segment_key == settings.segment_key, other.feature_key == settings.feature_key
    (True, False)
    """

    spectrogram: SpectrogramSettings = field(default_factory=SpectrogramSettings)
    segments: SoundSegmentSettings = field(default_factory=SoundSegmentSettings)
    learned_segmenter: str | None = None
    channel: Channel = "mix"
    feature_set: FeatureSet = "extended"
    embedding: str | None = None
    picture_segments: PictureSegmentSettings = field(default_factory=PictureSegmentSettings)

    @classmethod
    def for_rate(cls, rate: float) -> InstanceSettings:
        """Return the defaults for the animals that are recorded at this sample rate."""
        return cls(SpectrogramSettings.for_rate(rate), SoundSegmentSettings.for_rate(rate))

    @property
    def segment_key(self) -> str:
        """Hash of all settings that segments depend on; if it changes, segments are out of date."""
        return _short_hash(
            _SEGMENTS_MADE,
            self.spectrogram.analysis_dict(),
            self.segments.to_dict(),
            self.learned_segmenter,
            self.channel,
            self.picture_segments.to_dict(),
        )

    @property
    def feature_key(self) -> str:
        """Hash of all settings that the features of a segment depend on."""
        return _short_hash(
            _FEATURES_MADE,
            self.spectrogram.analysis_dict(),
            self.channel,
            self.feature_set,
            self.embedding,
            self.picture_segments.working_side,
        )

    def within(self, folder: Path) -> InstanceSettings:
        """Return the same settings with the learned segmenter's file in a project's folder."""
        if self.learned_segmenter is None:
            return self
        path = folder / self.learned_segmenter
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BagtagError(
                f"The learned segmenter {self.learned_segmenter!r} of the settings is outside the project; learn it "
                "again, or use the built-in segmenter."
            )
        return replace(self, learned_segmenter=str(path))

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return {
            "spectrogram": self.spectrogram.to_dict(),
            "segments": self.segments.to_dict(),
            "learned_segmenter": self.learned_segmenter,
            "channel": self.channel,
            "feature_set": self.feature_set,
            "embedding": self.embedding,
            "picture_segments": self.picture_segments.to_dict(),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> InstanceSettings:
        return cls(
            spectrogram=SpectrogramSettings.from_dict(values["spectrogram"]),
            segments=SoundSegmentSettings.from_dict(values["segments"]),
            learned_segmenter=values.get("learned_segmenter"),
            channel=values.get("channel", "mix"),
            feature_set=values.get("feature_set", "extended"),
            embedding=values.get("embedding"),
            picture_segments=PictureSegmentSettings.from_dict(values.get("picture_segments", {})),
        )


@dataclass(frozen=True, eq=False)
class Instances:
    """The segments of one bag.

    Attributes
    ----------
    grid : Grid
        Grid of the regions.
    regions : list of Region
    X : (n, d) float
        One row of features per region.
    names : list of d str
        Names of the features.

    Examples
    --------
    >>> from miml_core.media.spectrogram import spectrogram_grid
    >>> settings = InstanceSettings.for_rate(44100)
    >>> grid = spectrogram_grid(44100, 44100, settings.spectrogram)
    >>> names = feature_names(settings, "sound")
    >>> call = Region(100, 20, np.ones((10, 30), dtype=bool))
    >>> instances = Instances(grid, [call], np.zeros((1, len(names))), names)
    >>> [round(float(instances.grid.x_at(column)), 2) for column in (call.box[1], call.box[3])]  # seconds
    [0.12, 0.29]
    """

    grid: Grid
    regions: list[Region]
    X: NDArray[np.float64]
    names: list[str]


def sound_instances(
    path: str | Path,
    start: float,
    end: float,
    settings: InstanceSettings,
    caches: ClipCaches | None = None,
    segmenter: LearnedSegmenter | None = None,
) -> Instances:
    """Return the segments and features of one window, `start` to `end` in seconds, of a sound file.

    A long window is processed in blocks, so that memory does not grow with its length; a call across the edge of a
    block becomes two segments. With `caches` an embedding finds again what it has computed of a block. A `segmenter`
    is used instead of the file that the settings name.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> samples = 0.001 * np.random.default_rng(0).standard_normal(44100)
    >>> samples[8820:17640] += 0.1 * np.hanning(8820) * np.sin(2 * np.pi * 4000 * np.arange(8820) / 44100)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", samples, 44100)
    ...     instances = sound_instances(f"{folder}/dawn.wav", 0.0, 1.0, InstanceSettings.for_rate(44100))
    >>> len(instances.regions), instances.X.shape
    (1, (1, 61))
    """
    sound = SoundWindow.of(path, start, end, settings.spectrogram, settings.channel)
    regions: list[Region] = []
    rows = [np.empty((0, len(_sound_names(settings))))]
    for block in sound.blocks():
        found = find_segments(block.spectrogram, settings, segmenter)
        rows.append(_describe_sound(block, found, settings, caches))
        regions += [Region(region.top, region.left + block.left, region.mask) for region in found]
    return Instances(sound.grid, regions, np.concatenate(rows), _sound_names(settings))


def find_segments(
    spectrogram: Spectrogram, settings: InstanceSettings, segmenter: LearnedSegmenter | None = None
) -> list[Region]:
    """Return the segments of a spectrogram, by a learned segmenter if one is given or the settings have one.

    Examples
    --------
    >>> samples = 0.001 * np.random.default_rng(0).standard_normal(44100).astype(np.float32)
    >>> samples[8820:17640] += 0.1 * np.hanning(8820) * np.sin(2 * np.pi * 4000 * np.arange(8820) / 44100)
    >>> from miml_core.media.spectrogram import make_spectrogram
    >>> settings = InstanceSettings.for_rate(44100)
    >>> len(find_segments(make_spectrogram(samples, 44100, settings.spectrogram), settings))
    1
    """
    if segmenter is not None:
        return segmenter.find(spectrogram, settings.segments)
    if settings.learned_segmenter is None:
        return find_sound_segments(spectrogram, settings.segments)
    path = Path(settings.learned_segmenter)
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _segmenter(path, changed).find(spectrogram, settings.segments)


@lru_cache(maxsize=4)
def _segmenter(path: Path, changed: int) -> LearnedSegmenter:
    return LearnedSegmenter.load(path)


def describe_regions(
    path: str | Path,
    start: float,
    end: float,
    grid: Grid,
    regions: Sequence[Region],
    settings: InstanceSettings,
    caches: ClipCaches | None = None,
) -> NDArray[np.float64]:
    """Return the (n, d) features of given regions of a window of a sound file.

    Parameters
    ----------
    path : path
    start, end : float
        The window in seconds.
    grid : Grid
        Grid of the regions; they are resampled if the settings give another grid.
    regions : sequence of n Region
        Regions that were drawn, edited, or found with other settings.
    settings : InstanceSettings
    caches : callable, optional
        See `sound_instances`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     segment_ids, regions, grids = zip(*project.segments.regions(1))
    ...     X = describe_regions(project.media.path(1), 0.0, 1.0, grids[0], regions, project.settings)
    >>> segment_ids, X.shape
    ((1, 2), (2, 61))
    """
    sound = SoundWindow.of(path, start, end, settings.spectrogram, settings.channel)
    if sound.grid != grid:
        regions = [_resampled(region, grid, sound.grid) for region in regions]
    owners = np.array([_block_of(region, sound.block_columns) for region in regions], dtype=np.int64)
    X = np.empty((len(regions), len(_sound_names(settings))))
    for number in np.unique(owners):
        block = sound.block(int(number))
        mine = [int(i) for i in np.flatnonzero(owners == number)]
        X[mine] = _describe_sound(block, [_part_in(block, regions[i]) for i in mine], settings, caches)
    return X


def picture_instances(path: str | Path, settings: InstanceSettings) -> Instances:
    """Return the segments and features of one picture, at the working size of the settings.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> pixels = np.zeros((60, 80, 3), dtype=np.uint8)
    >>> pixels[:, 40:] = 200
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.fromarray(pixels).save(f"{folder}/meadow.png")
    ...     instances = picture_instances(f"{folder}/meadow.png", InstanceSettings())
    >>> len(instances.regions) == len(instances.X) and instances.X.shape[1] == len(instances.names)
    True
    >>> sum(region.area for region in instances.regions) == 60 * 80
    True
    """
    picture = open_image(path, max_side=settings.picture_segments.working_side)
    regions = find_picture_segments(picture, settings.picture_segments)
    return Instances(picture.grid, regions, *_describe_picture(picture, regions, settings))


def describe_picture_regions(
    path: str | Path, grid: Grid, regions: Sequence[Region], settings: InstanceSettings
) -> NDArray[np.float64]:
    """Return the (n, d) features of given regions of a picture; `grid` is that of the regions.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> half = Region(0, 40, np.ones((60, 40), dtype=bool))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (80, 60), "green").save(f"{folder}/meadow.png")
    ...     X = describe_picture_regions(
    ...         f"{folder}/meadow.png", Grid(80, 60, 0.0, 80.0, 0.0, 60.0), [half], InstanceSettings()
    ...     )
    >>> X.shape == (1, len(feature_names(InstanceSettings(), "picture")))
    True
    """
    picture = open_image(path, max_side=settings.picture_segments.working_side)
    if picture.grid != grid:
        regions = [_resampled(region, grid, picture.grid) for region in regions]
    return _describe_picture(picture, regions, settings)[0]


def _resampled(region: Region, old: Grid, new: Grid) -> Region:
    """Return the region on a new grid; one pixel at the nearest edge if it is outside."""
    carried = resample(region, old, new)
    if carried is not None:
        return carried
    row = int(np.clip(new.row_at(old.y_at(region.top)), 0, new.height - 1))
    column = int(np.clip(new.column_at(old.x_at(region.left)), 0, new.width - 1))
    return Region(row, column, np.ones((1, 1), dtype=bool))


def _block_of(region: Region, columns: int) -> int:
    """Return the number of the block that contains the middle of a region."""
    filled = np.flatnonzero(region.mask.any(axis=0))
    return int((region.left + filled[len(filled) // 2]) // columns)


def _part_in(block: SoundBlock, region: Region) -> Region:
    """Return the part of a region in a block, on the block's grid; one pixel at its end if there is none."""
    width = block.spectrogram.grid.width
    first, last = max(block.left, region.left), min(block.left + width, region.left + region.mask.shape[1])
    mask = region.mask[:, first - region.left : max(first, last) - region.left]
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return Region(region.top, width - 1, np.ones((1, 1), dtype=bool))
    return Region(region.top + int(rows[0]), first - block.left, mask[rows[0] : rows[-1] + 1])


def feature_names(settings: InstanceSettings, kind: str) -> list[str]:
    """Return the names of the columns of features; raises `BagtagError` if the embedding is not installed.

    Examples
    --------
    >>> len(feature_names(InstanceSettings(feature_set="paper"), "sound"))
    38
    """
    if kind == "sound":
        return _sound_names(settings)
    names = picture_feature_names(settings.feature_set)
    return names if settings.embedding is None else [*names, *find_embedding(settings.embedding, "picture").names]


def _sound_names(settings: InstanceSettings) -> list[str]:
    names = sound_feature_names(settings.feature_set)
    return names if settings.embedding is None else [*names, *find_embedding(settings.embedding, "sound").names]


def _describe_sound(
    block: SoundBlock, regions: Sequence[Region], settings: InstanceSettings, caches: ClipCaches | None
) -> NDArray[np.float64]:
    X = sound_features(block.spectrogram, regions, settings.feature_set)
    if settings.embedding is None:
        return X
    cache = None if caches is None else caches(block.first, len(block.samples))
    clip = SoundClip(block.samples, block.spectrogram.rate, block.spectrogram, regions, cache)
    return np.concatenate([X, embed(settings.embedding, clip)], axis=1)


def _describe_picture(
    picture: Picture, regions: Sequence[Region], settings: InstanceSettings
) -> tuple[NDArray[np.float64], list[str]]:
    X, names = picture_features(picture, regions, settings.feature_set), picture_feature_names(settings.feature_set)
    if settings.embedding is None:
        return X, names
    more = embed(settings.embedding, PictureClip(picture.pixels, regions))
    return np.concatenate([X, more], axis=1), [*names, *find_embedding(settings.embedding, "picture").names]


def _short_hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
