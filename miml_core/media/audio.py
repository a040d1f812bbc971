"""Read sound files: their properties, and their samples by window.

libsndfile (through soundfile) opens WAV, FLAC, OGG, MP3, AIFF and more. Samples are read by window, so that ten seconds
of a three-hour recording cost as much as a ten-second file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.recorder_notes import recorder_notes
from miml_core.media.recording_place import Place, recording_place
from miml_core.media.recording_time import recording_time
from miml_core.media.regular_files import check_regular_file
from miml_core.media.sound_repair import RepairedFile, find_repair

Channel = int | Literal["mix"]

SOUND_SUFFIXES = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".w64", ".rf64", ".au")
"""File name extensions that the import of a folder treats as sound."""

MOST_BAGS = 1_000_000
"""Largest number of bags per recording."""
HIGHEST_RATE = 10_000_000
"""Samples per second; no recorder is near it, and a header that states more is wrong."""
MAX_READ_BYTES = 2**31
"""Memory for the samples of one read; longer windows are read in blocks (`sound_blocks.py`)."""

_BLOCK_SAMPLES = 1 << 18
"""Samples of all channels together that are decoded at once."""
_MOST_FRAMES_PER_BYTE = 20_000
"""Silence takes one byte per 5 000 samples at the very least; a header that states more is wrong."""
_MP3_RUN_UP = 1152 * 8
"""Samples decoded before an MP3 window: after a seek, a decoder is silent until its bit reservoir is full again.
soundfile seeks after every read, so MP3 is read in one piece that begins early."""


@dataclass(frozen=True)
class AudioInfo:
    """Properties of a sound file that are known without decoding it.

    Examples
    --------
    >>> info = AudioInfo(Path("dawn.wav"), 44100, 1, 441000, datetime(2024, 5, 1, 4, 30), "file name")
    >>> info.duration
    10.0
    """

    path: Path
    rate: int
    channels: int
    frames: int
    recorded_at: datetime
    recorded_from: str
    note: str = ""
    """A message for the user if the file differs from its header, but can be read."""
    place: Place | None = None
    """Where the recorder was, if it wrote that into the file."""

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate


def audio_info(path: str | Path) -> AudioInfo:
    """Return rate, channels, length, recording time and place of a sound file, without decoding it.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/20240501_043000.wav", np.zeros(22050), 22050)
    ...     info = audio_info(f"{folder}/20240501_043000.wav")
    >>> info.rate, info.duration, info.recorded_at.isoformat(), info.recorded_from
    (22050, 1.0, '2024-05-01T04:30:00', 'file name')
    """
    path = Path(path)
    with _open(path) as sound:
        rate, channels, frames = sound.samplerate, sound.channels, sound.frames
    notes = recorder_notes(path)
    recorded_at, recorded_from = recording_time(path, notes)
    repair = find_repair(path)
    note = repair.note if repair else ""
    return AudioInfo(path, rate, channels, frames, recorded_at, recorded_from, note, recording_place(path, notes))


def read_audio(
    path: str | Path, start: float = 0.0, duration: float | None = None, channel: Channel = "mix"
) -> tuple[NDArray[np.float32], int]:
    """Return the samples of one window of a recording, as one channel.

    Parameters
    ----------
    path : path
    start, duration : float
        The window in seconds; it ends at the end of the file at the latest, and without a `duration` just there.
    channel : int or "mix"
        A channel number (0 is the first), or the mean of all channels.

    Returns
    -------
    samples : (n,) float32
    rate : int
        Samples per second, as in the file; nothing is resampled.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(3 * 8000), 8000)
    ...     samples, rate = read_audio(f"{folder}/dawn.wav", start=1.0, duration=0.5)
    >>> samples.shape, rate
    ((4000,), 8000)
    """
    path = Path(path)
    with _open(path) as sound:
        rate = int(sound.samplerate)
        first, count = _window_frames(path, sound.frames, rate, start, duration)
        if 4 * count > MAX_READ_BYTES:
            raise BagtagError(
                f"{path.name}: {count / rate:,.0f} s are too long to be read at once; at most "
                f"{MAX_READ_BYTES / 4 / rate:,.0f} s are possible. Cut the recording into shorter bags."
            )
        if channel != "mix" and not 0 <= channel < sound.channels:
            raise BagtagError(
                f"{path.name} has {sound.channels} channel(s), so there is no channel number {channel}; "
                "choose another channel or the mix of all."
            )
        samples = _read_frames(path, sound, first, count, channel)
    if not np.isfinite(np.dot(samples, samples)) and not np.isfinite(samples).all():
        raise BagtagError(
            f"{path.name} holds samples that are not numbers (NaN or infinite) between {start:g} and "
            f"{start + count / rate:g} s; export it again as 16- or 24-bit sound."
        )
    return samples, rate


def window_frames(path: str | Path, start: float, duration: float) -> tuple[int, int, int]:
    """Return rate, first frame and number of frames of a window, which ends with the file; decodes nothing.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(24000), 8000)
    ...     window_frames(f"{folder}/dawn.wav", start=2.5, duration=10.0)
    (8000, 20000, 4000)
    """
    path = Path(path)
    with _open(path) as sound:
        rate = int(sound.samplerate)
        return rate, *_window_frames(path, sound.frames, rate, start, duration)


@contextmanager
def open_reader(path: str | Path, channel: Channel = "mix") -> Iterator[Callable[[int, int], NDArray[np.float32]]]:
    """Open a file once to read many short pieces: yields `read(first_frame, n_frames)`.

    `read` returns fewer samples if the file ends early, and raises `BagtagError` if there are none.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/dawn.wav", np.zeros(24000), 8000)
    ...     with open_reader(f"{folder}/dawn.wav") as read:
    ...         pieces = [read(first, 100) for first in (0, 8000, 16000)]
    >>> [len(piece) for piece in pieces]
    [100, 100, 100]
    """
    path = Path(path)
    with _open(path) as sound:
        yield lambda first, count: _read_frames(path, sound, first, count, channel)


def cut_windows(
    duration: float, length: float, overlap: float = 0.0, remainder: Literal["keep", "drop", "merge"] = "keep"
) -> list[tuple[float, float]]:
    """Return (start, end) of the bags that a recording is cut into.

    Parameters
    ----------
    duration, length, overlap : float
        Seconds of the recording, of a bag, and of the overlap of neighbouring bags.
    remainder : "keep", "drop" or "merge"
        The rest at the end, shorter than `length`, is a bag of its own, is left out, or is added to the last bag. A
        rest of less than a twentieth of `length` is never a bag, because recorders stop a few samples late. A recording
        shorter than `length` is always one bag.

    Examples
    --------
    >>> cut_windows(25.0, 10.0)
    [(0.0, 10.0), (10.0, 20.0), (20.0, 25.0)]
    >>> cut_windows(25.0, 10.0, remainder="merge")
    [(0.0, 10.0), (10.0, 25.0)]
    """
    if not duration > 0:
        raise BagtagError(f"A recording of {duration:g} s cannot be cut into bags.")
    if not length > 0 or not 0 <= overlap < length:
        raise BagtagError(f"Bags of {length:g} s with {overlap:g} s overlap: the overlap must be shorter than the bag.")
    tolerance = 1e-6
    if duration <= length + tolerance:
        return [(0.0, duration)]
    too_short = 0.05 * length
    step = length - overlap
    if (duration - length) / step >= MOST_BAGS:
        raise BagtagError(
            f"Bags of {length:g} s with {overlap:g} s overlap would cut a recording of {duration:,.0f} s into more "
            f"than {MOST_BAGS:,} bags. Choose longer bags or a smaller overlap."
        )
    full = int((duration - length + tolerance) // step) + 1
    windows = [(k * step, min(k * step + length, duration)) for k in range(full)]
    covered = windows[-1][1]
    if duration - covered > tolerance:
        if remainder == "keep" and duration - covered >= too_short:
            windows.append((full * step, duration))
        elif remainder in ("keep", "merge"):
            windows[-1] = (windows[-1][0], duration)
        elif remainder != "drop":
            raise BagtagError(f'The remainder of a recording must be "keep", "drop" or "merge", not {remainder!r}.')
    return windows


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open a file with soundfile; an error becomes a `BagtagError` with the reason."""
    import soundfile

    size = check_regular_file(path).st_size
    if size == 0:
        raise BagtagError(f"{path.name} is empty (0 bytes); copy it again from the recorder.")
    with ExitStack() as stack:
        try:
            repair = find_repair(path)
            source = stack.enter_context(closing(RepairedFile(path, repair))) if repair else _plain_path(path)
            sound = stack.enter_context(soundfile.SoundFile(source))
        except (soundfile.LibsndfileError, OSError) as error:
            raise BagtagError(
                f"{path.name} could not be read as sound ({_reason(error)}); check that it is a sound file, or copy it "
                "again from the recorder."
            ) from error
        _check_header(path, size, sound.frames, sound.samplerate)
        yield sound


def _plain_path(path: Path) -> str | bytes:
    """Return the path as bytes where paths are bytes: soundfile 0.14 cannot encode a name that is not valid UTF-8."""
    return str(path) if sys.platform == "win32" else os.fsencode(path)


def _check_header(path: Path, size: int, frames: int, rate: int) -> None:
    """Refuse impossible numbers before any memory is allocated."""
    if frames <= 0 or rate <= 0:
        raise BagtagError(f"{path.name} holds no sound (0 samples); copy it again from the recorder.")
    if rate > HIGHEST_RATE:
        raise BagtagError(
            f"{path.name} states {rate:,} samples per second; at most {HIGHEST_RATE:,} are possible. "
            "Its header is damaged: copy it again from the recorder."
        )
    if frames > _MOST_FRAMES_PER_BYTE * size:
        raise BagtagError(
            f"{path.name} states {frames:,} samples, which its {size:,} bytes cannot hold. "
            "Its header is damaged: copy it again from the recorder."
        )


def _reason(error: Exception) -> str:
    reason = str(getattr(error, "error_string", error)).strip().rstrip(".")
    if "SF_INFO struct incomplete" in reason:  # libsndfile 1.2 reports this for a rate of 0 or of more than 31 bits
        return "its header states a sample rate that is not possible"
    return reason


def _window_frames(path: Path, frames: int, rate: int, start: float, duration: float | None) -> tuple[int, int]:
    """Return first frame and number of frames of a window, which ends with the file."""
    first = round(start * rate)
    last = frames if duration is None else round((start + duration) * rate)
    if start < 0 or (duration is not None and duration <= 0) or first >= frames:
        raise BagtagError(
            f"{path.name} is {frames / rate:.3f} s long: there is nothing to read from {start:g} s"
            + ("." if duration is None else f" to {start + duration:g} s.")
        )
    return first, max(1, min(last, frames) - first)


def _read_frames(path: Path, sound, first: int, count: int, channel: Channel) -> NDArray[np.float32]:  # type: ignore[no-untyped-def]
    """Return `count` frames from `first` on, as one channel; fewer if the file is shorter than its header states."""
    import soundfile

    samples = np.empty(count, dtype=np.float32)
    done = 0
    is_mp3 = sound.format == "MP3"
    run_up = min(first, _MP3_RUN_UP) if is_mp3 else 0
    at_once = run_up + count if is_mp3 else max(1, _BLOCK_SAMPLES // sound.channels)
    try:
        sound.seek(first - run_up)
        while done < count:
            block = sound.read(min(run_up + count - done, at_once), dtype="float32", always_2d=True)[run_up:]
            if len(block) == 0:
                break
            samples[done : done + len(block)] = _one_channel(block, channel)
            done += len(block)
    except (soundfile.LibsndfileError, RuntimeError) as error:
        if done == 0:
            raise BagtagError(
                f"{path.name} is damaged or cut off at {first / sound.samplerate:.2f} s ({_reason(error)}); "
                "copy it again from the recorder."
            ) from error
    if done == 0:
        raise BagtagError(
            f"{path.name} ends before {first / sound.samplerate:.2f} s, although its header states "
            f"{sound.frames / sound.samplerate:.2f} s: it is cut off. Copy it again from the recorder."
        )
    return samples[:done]


def _one_channel(block: NDArray[np.float32], channel: Channel) -> NDArray[np.float32]:
    if block.shape[1] == 1:
        return block[:, 0]
    return block.mean(axis=1) if channel == "mix" else block[:, channel]
