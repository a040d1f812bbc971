"""Cut segments out of recordings (WAV) and pictures (PNG), marked so that an import leaves them out."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.exchange.base import IN_MEMORY, pieces_of
from miml_core.exchange.marking import mark_sound, png_mark

if TYPE_CHECKING:
    from miml_core.media.audio import Channel

_BLOCK_SECONDS = 20.0
_BYTES_PER_SAMPLE = 2


def clip_span(start: float, end: float, duration: float, *, padding: float, least: float = 0.0) -> tuple[float, float]:
    """Return the seconds to cut out for a segment: with padding on both sides, and at least `least` seconds.

    The span is moved into the recording where it reaches beyond an end; of a recording shorter than `least` it is
    longer than the recording, by the same time on both sides.

    Examples
    --------
    >>> clip_span(4.0, 5.0, 60.0, padding=0.5)
    (3.5, 5.5)
    >>> clip_span(0.2, 0.6, 60.0, padding=0.0, least=3.0)
    (0.0, 3.0)
    >>> clip_span(0.2, 0.6, 2.0, padding=0.0, least=3.0)
    (-0.5, 2.5)
    """
    first, last = max(0.0, start - padding), min(duration, end + padding)
    if last - first >= least:
        return first, last
    if duration < least:
        return (duration - least) / 2, (duration + least) / 2
    first = min(max(0.0, (start + end - least) / 2), duration - least)
    return first, first + least


def cut_sound(path: Path, span: tuple[float, float], *, rate: int | None, channel: Channel) -> Iterator[bytes]:
    """Return a stretch of a recording as a WAV file of 16 bits and one channel, in pieces; silent outside it.

    The recording is read in blocks, so that memory does not depend on the length.

    Parameters
    ----------
    path : Path
    span : (float, float)
        Start and end in seconds; may reach beyond the recording.
    rate : int, optional
        Samples per second, by default those of the recording.
    channel : int or "mix"
    """
    import soundfile

    from miml_core.media.audio import audio_info, open_reader

    info = audio_info(path)
    wanted = rate or info.rate
    n_samples = max(1, round((span[1] - span[0]) * wanted))
    made: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by `pieces_of`
    try:
        with (
            soundfile.SoundFile(made, "w", wanted, 1, "PCM_16", format="WAV") as sound,
            open_reader(path, channel) as read,
        ):
            mark_sound(sound)
            n_missing = n_samples
            for block in _at_rate(_blocks(read, span, info.rate, info.frames), info.rate, wanted):
                sound.write(block[:n_missing])
                n_missing -= min(len(block), n_missing)
            sound.write(np.zeros(n_missing, dtype=np.float32))
        if made.seek(0, io.SEEK_END) < _BYTES_PER_SAMPLE * n_samples:  # libsndfile does not report a full disk
            raise BagtagError(
                f"A part of {path.name!r} could not be cut out: the disk for temporary files is full. Free some space, "
                "or set TMPDIR to a folder on another disk."
            )
    except BaseException:
        made.close()
        raise
    return pieces_of(made)


def _blocks(
    read: Callable[[int, int], NDArray[np.float32]], span: tuple[float, float], rate: int, n_frames: int
) -> Iterator[NDArray[np.float32]]:
    """Yield the samples of a span, with zeros before the recording."""
    first, last = round(span[0] * rate), min(round(span[1] * rate), n_frames)
    if first < 0:
        yield np.zeros(-first, dtype=np.float32)
    step = round(_BLOCK_SECONDS * rate)
    for begin in range(max(first, 0), last, step):
        yield read(begin, min(step, last - begin))


def _at_rate(blocks: Iterator[NDArray[np.float32]], rate: int, wanted: int) -> Iterator[NDArray[np.float32]]:
    if rate == wanted:
        yield from blocks
        return
    import soxr

    stream = soxr.ResampleStream(rate, wanted, 1, dtype="float32")
    for block in blocks:
        yield np.asarray(stream.resample_chunk(block), dtype=np.float32)
    yield np.asarray(stream.resample_chunk(np.zeros(0, dtype=np.float32), last=True), dtype=np.float32)


class PictureCutter:
    """Cut boxes out of pictures; the last picture stays in memory, because its segments follow each other."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._pixels: NDArray[np.uint8] = np.zeros((0, 0, 3), dtype=np.uint8)

    def cut(self, path: Path, box: tuple[int, int, int, int]) -> bytes:
        """Return the pixels in (left, top, right, bottom) of the upright original picture as PNG."""
        from PIL import Image

        if path != self._path:
            from miml_core.media.image import image_info, open_image

            info, opened = image_info(path), open_image(path)
            if opened.pixels.shape[:2] != (info.height, info.width):
                raise BagtagError(f"{path.name!r} is too large to be cut at its full size; save a smaller copy.")
            self._path, self._pixels = path, opened.pixels
        left, top, right, bottom = box
        with closing(Image.fromarray(self._pixels[top:bottom, left:right])) as picture:
            content = io.BytesIO()
            picture.save(content, "PNG", pnginfo=png_mark())
        return content.getvalue()
