"""One window of a file becomes segments with features: what a job runs for every bag."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.features.acoustic import FeatureSet, sound_feature_names, sound_features
from miml_core.features.embeddings import PictureClip, SoundClip, embed, find_embedding
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
"""Raised when the same settings find other segments, or describe them otherwise, than they did: part of the keys."""


@dataclass(frozen=True)
class InstanceSettings:
    """All that decides which segments a bag has and how they are described.

    Parameters
    ----------
    channel : int or "mix"
        For recordings with several channels.
    spectrogram, segments
        How sound becomes a picture, and segments are found on it.
    learned_segmenter : path, optional
        A saved `LearnedSegmenter` to find segments with; a new training is saved under a new name. A project names
        it from its own folder, so that it can be moved; `within` makes it a path to read.
    feature_set : "paper" or "extended"
    embedding : str, optional
        Name of an outside embedding whose columns stand beside the features; see `features/embeddings.py`.
    picture_segments
        How segments of pictures are found; the others but the features and the embedding are for sound.
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
        """Defaults for the animals that a recorder with this sample rate is used for."""
        return cls(SpectrogramSettings.for_rate(rate), SoundSegmentSettings.for_rate(rate))

    @property
    def segment_key(self) -> str:
        """Short name of everything that found segments depend on; when it changes they are to be found again."""
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
        """Short name of everything that the features of a given segment depend on."""
        return _short_hash(
            _FEATURES_MADE,
            self.spectrogram.analysis_dict(),
            self.channel,
            self.feature_set,
            self.embedding,
            self.picture_segments.working_side,
        )

    def within(self, folder: Path) -> InstanceSettings:
        """The same settings, with the learned segmenter's file looked for in a project's folder."""
        if self.learned_segmenter is None:
            return self
        path = folder / self.learned_segmenter
        if not path.resolve().is_relative_to(folder.resolve()):
            raise BagtagError(
                f"The settings name a learned segmenter outside of the project, {self.learned_segmenter!r}; learn it "
                "again, or use the built-in way."
            )
        return replace(self, learned_segmenter=str(path))

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe."""
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
        What the regions' pixels mean.
    regions : list of Region
    X : (n, d)
        One row of features a region.
    names : d names
    """

    grid: Grid
    regions: list[Region]
    X: NDArray[np.float64]
    names: list[str]


def sound_instances(path: str | Path, start: float, end: float, settings: InstanceSettings) -> Instances:
    """Segments, found by the settings' segmenter, and features of one window (seconds) of a sound file.

    A long window is gone through block by block, so that an hour takes no more memory than some minutes; a call that
    lies across the edge of a block becomes two segments.
    """
    sound = SoundWindow.of(path, start, end, settings.spectrogram, settings.channel)
    regions: list[Region] = []
    rows = [np.empty((0, len(_sound_names(settings))))]
    for block in sound.blocks():
        found = find_segments(block.spectrogram, settings)
        rows.append(_describe_sound(block, found, settings))
        regions += [Region(region.top, region.left + block.left, region.mask) for region in found]
    return Instances(sound.grid, regions, np.concatenate(rows), _sound_names(settings))


def find_segments(spectrogram: Spectrogram, settings: InstanceSettings) -> list[Region]:
    """Segments of sound as the settings want them found: by the learned segmenter, if there is one."""
    if settings.learned_segmenter is None:
        return find_sound_segments(spectrogram, settings.segments)
    path = Path(settings.learned_segmenter)
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _segmenter(path, changed).find(spectrogram, settings.segments)


@lru_cache(maxsize=4)
def _segmenter(path: Path, changed: int) -> LearnedSegmenter:
    return LearnedSegmenter.load(path)


def describe_regions(
    path: str | Path, start: float, end: float, grid: Grid, regions: Sequence[Region], settings: InstanceSettings
) -> NDArray[np.float64]:
    """(n, d) features of given regions (drawn, edited, found with other settings) of a window of a sound file.

    Parameters
    ----------
    grid : Grid
        The grid the regions were made on; where the settings now give another, they are carried over.
    """
    sound = SoundWindow.of(path, start, end, settings.spectrogram, settings.channel)
    if sound.grid != grid:
        regions = [_carried_over(region, grid, sound.grid) for region in regions]
    owners = np.array([_block_of(region, sound.block_columns) for region in regions], dtype=np.int64)
    X = np.empty((len(regions), len(_sound_names(settings))))
    for number in np.unique(owners):
        block = sound.block(int(number))
        mine = [int(i) for i in np.flatnonzero(owners == number)]
        X[mine] = _describe_sound(block, [_part_in(block, regions[i]) for i in mine], settings)
    return X


def picture_instances(path: str | Path, settings: InstanceSettings) -> Instances:
    """Segments and features of one picture, at the settings' working size."""
    picture = open_image(path, max_side=settings.picture_segments.working_side)
    regions = find_picture_segments(picture, settings.picture_segments)
    return Instances(picture.grid, regions, *_described_picture(picture, regions, settings))


def describe_picture_regions(
    path: str | Path, grid: Grid, regions: Sequence[Region], settings: InstanceSettings
) -> NDArray[np.float64]:
    """(n, d) features of given regions of a picture; `grid` is the one they were made on, as in `describe_regions`."""
    picture = open_image(path, max_side=settings.picture_segments.working_side)
    if picture.grid != grid:
        regions = [_carried_over(region, grid, picture.grid) for region in regions]
    return _described_picture(picture, regions, settings)[0]


def _carried_over(region: Region, old: Grid, new: Grid) -> Region:
    """The region on a new grid; one that lies outside it keeps one pixel at the nearest edge."""
    carried = resample(region, old, new)
    if carried is not None:
        return carried
    row = int(np.clip(new.row_at(old.y_at(region.top)), 0, new.height - 1))
    column = int(np.clip(new.column_at(old.x_at(region.left)), 0, new.width - 1))
    return Region(row, column, np.ones((1, 1), dtype=bool))


def _block_of(region: Region, columns: int) -> int:
    """Number of the block, of so many columns, that holds the middle of a region."""
    filled = np.flatnonzero(region.mask.any(axis=0))
    return int((region.left + filled[len(filled) // 2]) // columns)


def _part_in(block: SoundBlock, region: Region) -> Region:
    """The part of a region that lies in a block, on the block's own grid; one pixel at its end where there is none."""
    width = block.spectrogram.grid.width
    first, last = max(block.left, region.left), min(block.left + width, region.left + region.mask.shape[1])
    mask = region.mask[:, first - region.left : max(first, last) - region.left]
    rows = np.flatnonzero(mask.any(axis=1))
    if not len(rows):
        return Region(region.top, width - 1, np.ones((1, 1), dtype=bool))
    return Region(region.top + int(rows[0]), first - block.left, mask[rows[0] : rows[-1] + 1])


def _sound_names(settings: InstanceSettings) -> list[str]:
    names = sound_feature_names(settings.feature_set)
    return names if settings.embedding is None else [*names, *find_embedding(settings.embedding, "sound").names]


def _describe_sound(block: SoundBlock, regions: Sequence[Region], settings: InstanceSettings) -> NDArray[np.float64]:
    X = sound_features(block.spectrogram, regions, settings.feature_set)
    if settings.embedding is None:
        return X
    clip = SoundClip(block.samples, block.spectrogram.rate, block.spectrogram, regions)
    return np.concatenate([X, embed(settings.embedding, clip)], axis=1)


def _described_picture(
    picture: Picture, regions: Sequence[Region], settings: InstanceSettings
) -> tuple[NDArray[np.float64], list[str]]:
    X, names = picture_features(picture, regions, settings.feature_set), picture_feature_names(settings.feature_set)
    if settings.embedding is None:
        return X, names
    more = embed(settings.embedding, PictureClip(picture.pixels, regions))
    return np.concatenate([X, more], axis=1), [*names, *find_embedding(settings.embedding, "picture").names]


def _short_hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
