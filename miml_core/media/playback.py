"""Make clips for playback: a window of a recording, slowed down or filtered, as a WAV that every browser plays."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError
from miml_core.media.audio import Channel, read_audio

LOWEST_RATE, HIGHEST_RATE = 8_000, 192_000
"""Range of the sample rates of clips; browsers refuse rates far outside it."""

_FADE = 0.003
_PEAK = 0.7
_MAX_GAIN = 10.0
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
    """Return a window of a sound file as a 16-bit WAV; faint sound is amplified by up to 20 dB.

    Parameters
    ----------
    path : path
    start, end : float
        The window in seconds.
    channel : int or "mix"
    rate_factor : float
        Playback speed, including the pitch: at 0.1 the clip is ten times as long (time expansion), and a bat's call at
        50 kHz is heard at 5 kHz.
    band : (low, high), optional
        Frequencies outside this band, in hertz, are filtered out.

    Examples
    --------
    >>> import tempfile
    >>> import soundfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     soundfile.write(f"{folder}/bat.wav", np.zeros(192_000), 192_000)
    ...     clip = clip_wav(f"{folder}/bat.wav", 0.2, 0.4, rate_factor=0.1)
    >>> soundfile.info(io.BytesIO(clip)).duration
    2.0
    """
    if not rate_factor > 0:
        raise BagtagError(f"The playback speed must be above 0, not {rate_factor:g}.")
    before = min(start, _RUN_UP)
    samples, rate = read_audio(path, start - before, end - start + before + _RUN_UP, channel)
    if band is not None:
        samples = _filter_band(samples, rate, band)
    first = round(before * rate)
    clip = samples[first : first + max(1, round((end - start) * rate))]
    clip, clip_rate = _at_playable_rate(clip, rate * rate_factor)
    return _wav(_normalised(clip, clip_rate), clip_rate)


def _filter_band(samples: NDArray[np.float32], rate: int, band: tuple[float, float]) -> NDArray[np.float32]:
    """Apply a Butterworth filter forwards and backwards, so that nothing is delayed."""
    from scipy.signal import butter, sosfiltfilt

    low, high = max(band[0], 1.0), min(band[1], 0.499 * rate)
    if not low < high:
        raise BagtagError(
            f"The band from {band[0]:g} to {band[1]:g} Hz is empty, or above the highest frequency of the recording, "
            f"{rate / 2:g} Hz; choose another band."
        )
    if band[1] >= 0.499 * rate:
        sections = butter(_FILTER_ORDER, low, "highpass", fs=rate, output="sos")
    else:
        sections = butter(_FILTER_ORDER, (low, high), "bandpass", fs=rate, output="sos")
    padding = min(len(samples) - 1, 3 * (2 * len(sections) + 1))
    return np.asarray(sosfiltfilt(sections, samples, padlen=max(0, padding)), dtype=np.float32)


def _at_playable_rate(samples: NDArray[np.float32], rate: float) -> tuple[NDArray[np.float32], int]:
    """Return samples at a rate that browsers play; others are resampled."""
    wanted = round(min(max(rate, LOWEST_RATE), HIGHEST_RATE))
    if abs(wanted - rate) < 1:
        return samples, wanted
    import soxr

    return np.asarray(soxr.resample(samples, rate, wanted), dtype=np.float32), wanted


def _normalised(samples: NDArray[np.float32], rate: int) -> NDArray[np.float32]:
    """Amplify faint samples without clipping, and fade both ends to avoid clicks."""
    peak = float(np.abs(samples).max(initial=0.0))
    gain = min(_MAX_GAIN, _PEAK / peak) if peak > 0 else 1.0
    clip = samples * np.float32(gain)
    n = min(len(clip) // 2, round(_FADE * rate))
    ramp = np.linspace(0, 1, n, endpoint=False, dtype=np.float32)
    clip[:n] *= ramp
    clip[len(clip) - n :] *= ramp[::-1]
    return clip


def _wav(samples: NDArray[np.float32], rate: int) -> bytes:
    import soundfile

    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format="WAV", subtype="PCM_16")
    return stream.getvalue()
