"""Clips to listen to: a window of a recording, slowed down, in a band, as a WAV that every browser plays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.audio import Channel, read_audio

LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
"""Sample rates of a clip; browsers refuse sound far outside."""

_FADE = 0.003
_LOUD = 0.7
_MOST_GAIN = 10.0
_FILTER_ORDER = 6
_RUN_UP = 0.05
"""Seconds read before and after a clip, so that its filter has settled when the clip begins."""


def clip_wav(
    path: str | Path,
    start: float,
    end: float,
    channel: Channel = "mix",
    rate_factor: float = 1.0,
    band: tuple[float, float] | None = None,
) -> bytes:
    """A window (seconds) of a sound file as a 16-bit WAV.

    Parameters
    ----------
    rate_factor : float
        The speed it is heard at, pitch included: at 0.1 the samples are played ten times slower (time expansion), so
        that a bat's 50 kHz is heard as 5 kHz.
    band : (low, high) in hertz, optional
        Only this band of the recording is left. Faint sound is made louder, by 20 dB at most.
    """
    if not rate_factor > 0:
        raise BagtagError(f"Sound cannot be played at {rate_factor:g} times its speed.")
    before = min(start, _RUN_UP)
    samples, rate = read_audio(path, start - before, end - start + before + _RUN_UP, channel)
    if band is not None:
        samples = _in_band(samples, rate, band)
    first = round(before * rate)
    heard = samples[first : first + max(1, round((end - start) * rate))]
    heard, heard_rate = _playable(heard, rate * rate_factor)
    return _wav(_comfortable(heard, heard_rate), heard_rate)


def _in_band(samples: NDArray[np.float32], rate: int, band: tuple[float, float]) -> NDArray[np.float32]:
    """A Butterworth filter run both ways, so that nothing is delayed."""
    from scipy.signal import butter, sosfiltfilt

    low, high = max(band[0], 1.0), min(band[1], 0.499 * rate)
    if not low < high:
        raise BagtagError(
            f"There is nothing between {band[0]:g} and {band[1]:g} Hz in sound at {rate} samples a second."
        )
    if band[1] >= 0.499 * rate:
        sections = butter(_FILTER_ORDER, low, "highpass", fs=rate, output="sos")
    else:
        sections = butter(_FILTER_ORDER, (low, high), "bandpass", fs=rate, output="sos")
    padding = min(len(samples) - 1, 3 * (2 * len(sections) + 1))
    return np.asarray(sosfiltfilt(sections, samples, padlen=max(0, padding)), dtype=np.float32)


def _playable(samples: NDArray[np.float32], rate: float) -> tuple[NDArray[np.float32], int]:
    """Samples at a rate that can be played; very slow or very fast ones are resampled."""
    wanted = round(min(max(rate, LOWEST_RATE), HIGHEST_RATE))
    if abs(wanted - rate) < 1:
        return samples, wanted
    import soxr

    return np.asarray(soxr.resample(samples, rate, wanted), dtype=np.float32), wanted


def _comfortable(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Neither too faint nor clipped, without a click at either end."""
    peak = float(np.abs(samples).max(initial=0.0))
    gain = min(_MOST_GAIN, _LOUD / peak) if peak > 0 else 1.0
    heard = samples * np.float32(gain)
    n = min(len(heard) // 2, round(_FADE * rate))
    ramp = np.linspace(0, 1, n, endpoint=False, dtype=np.float32)
    heard[:n] *= ramp
    heard[len(heard) - n :] *= ramp[::-1]
    return heard


def _wav(samples: NDArray[np.float32], rate: int) -> bytes:
    import soundfile

    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format="WAV", subtype="PCM_16")
    return stream.getvalue()
