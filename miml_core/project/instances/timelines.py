"""Timelines of bags: BirdNET's embedding of the sound, frame by frame, kept in the project's cache.

A timeline does not depend on the segments: detecting them again with other settings, drawing, merging or splitting one
needs no further run of the network. It is kept in half precision, about 16 kB per second of sound, in files by
recording, part of it, channel and embedding; bags of more than two minutes have one file per minute.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.features.birdnet.embedding import NAME, birdnet_timeline, frame_times, window_embeddings
from miml_core.features.birdnet.network import N_EMBEDDING
from miml_core.features.birdnet.windows import check_rate
from miml_core.media.sound_blocks import SoundWindow
from miml_core.project.db import cache, settings
from miml_core.project.db.rows import bag_row
from miml_core.project.db.store import Store
from miml_core.project.media import files as media_files
from miml_core.project.media.fingerprint import fingerprint

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

_FOLDER = "timelines"
_LAYOUT = 1
"""Increased if files of this name would hold something else."""
_MOST_BYTES = 2 * 2**30
"""Of all timelines of a project: those of about 36 hours."""
_LOOK_EVERY = 32
_DIGEST_BYTES = 16
_written = itertools.count()


@dataclass(frozen=True)
class TimelineCaches:
    """The cached arrays of a recording; given to `sound_instances`, in any process.

    Parameters
    ----------
    project : Path
        Folder of the project.
    file : BagFile
        The recording.
    channel : int or "mix"
    embedding : str
    """

    project: Path
    file: media_files.BagFile
    channel: int | str
    embedding: str

    def __call__(self, first: int, count: int) -> CachedArray:
        """Return the place of the array of `count` samples from the sample `first`."""
        parts = [_LAYOUT, self.file.fingerprint, self.channel, self.embedding, first, count]
        name = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
        return CachedArray(self.project, f"{name}.f16", self.file)


@dataclass(frozen=True)
class CachedArray:
    """One array in the project's cache, see `ArrayCache`."""

    project: Path
    name: str
    file: media_files.BagFile

    def read(self, shape: tuple[int, int]) -> NDArray[np.float16] | None:
        """Return the array; None if there is none of this shape, or its file is damaged."""
        content = cache.read(self.project, self.name, _FOLDER)
        if content is None or len(content) != _DIGEST_BYTES + 2 * shape[0] * shape[1]:
            return None
        digest, numbers = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        values = np.frombuffer(numbers, dtype="<f2").reshape(shape)
        return values if digest == _digest(numbers) and np.isfinite(values).all() else None

    def write(self, values: NDArray[np.float16]) -> None:
        """Keep the array, unless its file was replaced meanwhile; the oldest ones are deleted if there are too many."""
        if not self._is_same_file():
            return
        numbers = np.ascontiguousarray(values, dtype="<f2").tobytes()
        cache.write(self.project, self.name, _digest(numbers) + numbers, _FOLDER)
        if next(_written) % _LOOK_EVERY == 0:
            cache.drop_oldest_bytes(self.project, _MOST_BYTES, _FOLDER)

    def _is_same_file(self) -> bool:
        try:
            return fingerprint(self.file.path)[1] == self.file.fingerprint
        except OSError:
            return False


def caches_of(project: Path, file: media_files.BagFile, used: InstanceSettings) -> TimelineCaches | None:
    """Return the cached arrays of a recording; None if the settings have no embedding."""
    return None if used.embedding is None else TimelineCaches(project, file, used.channel, used.embedding)


def window_embeddings_of_bag(store: Store, bag_id: int) -> NDArray[np.float32]:
    """Return the (w, 1024) embeddings of windows of 3 s, at most 0.75 s apart, that cover a bag of sound.

    They come from the cache, or are computed and kept there, whether or not the project's settings use BirdNET.

    Raises
    ------
    BagtagError
        BirdNET is not installed, cannot describe sound of this sample rate, or the file cannot be read.
    """
    return np.concatenate([window_embeddings(seconds, frames) for seconds, frames in _blocks(store, bag_id)])


def _blocks(store: Store, bag_id: int) -> Iterator[tuple[float, NDArray[np.float32]]]:
    """Yield the seconds and the (t, 1024) frames of a bag, a minute at a time if it is long."""

    with store.read() as connection:
        used = settings.instance_settings(connection)
        bag = bag_row(connection, bag_id)
        file = media_files.file_of_bag(connection, store.folder, bag_id)
    sound = SoundWindow.of(file.path, bag.start, bag.end, used.spectrogram, used.channel)
    check_rate(sound.rate, file.path.name)
    caches = TimelineCaches(store.folder, file, used.channel, NAME)
    for number in range(sound.n_blocks):
        first, count = sound.block_samples(number)
        kept = caches(first, count).read((len(frame_times(count / sound.rate)), N_EMBEDDING))
        if kept is not None:
            yield count / sound.rate, kept.astype(np.float32)
            continue
        samples = sound.read_block(number)
        if number and not len(samples):
            return  # the file is shorter than its header states
        _, frames = birdnet_timeline(samples, sound.rate)
        caches(first, len(samples)).write(frames.astype(np.float16))
        yield len(samples) / sound.rate, frames


def _digest(numbers: bytes) -> bytes:
    return hashlib.blake2b(numbers, digest_size=_DIGEST_BYTES).digest()
