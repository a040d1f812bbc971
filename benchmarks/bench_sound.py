"""Sound of 44.1 kHz to segments with features, on one core, beside the bare STFT of the same sound.

Aims: 100 x real time or more, at most 4 x the bare STFT as libraries offer it; peak memory that does not grow with the
length of the file; ten seconds out of three hours for what ten seconds alone cost; a picture of ten seconds in tens of
milliseconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray

from benchmarks.peak_memory import peak_megabytes
from miml_core.features.acoustic import sound_features
from miml_core.instances import InstanceSettings, sound_instances
from miml_core.media.audio import cut_windows, read_audio
from miml_core.media.rendering import render_png
from miml_core.media.spectrogram import make_spectrogram
from miml_core.segments.acoustic import find_sound_segments

RATE = 44_100
BAG_SECONDS = 10.0
ROOT = Path(__file__).parents[1]


def run() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _parts(folder)
        _growth(folder)
        _windows_of_long_files(folder)
        _memory(folder)
        _many_files(folder)


def _parts(folder: Path) -> None:
    """Time a minute in bags of ten seconds, part by part, and a picture of ten seconds."""
    path = write_sound(folder / "minute.wav", 60)
    settings = InstanceSettings.for_rate(RATE)
    samples, _ = read_audio(path, 0.0, BAG_SECONDS)
    spectrogram = make_spectrogram(samples, RATE, settings.spectrogram)
    regions = find_sound_segments(spectrogram, settings.segments)
    bags = 60 / BAG_SECONDS
    whole = bags * _seconds(lambda: sound_instances(path, 0.0, BAG_SECONDS, settings))
    parts = {
        "read": _seconds(lambda: read_audio(path, 0.0, BAG_SECONDS)),
        "spectrogram": _seconds(lambda: make_spectrogram(samples, RATE, settings.spectrogram)),
        "segments": _seconds(lambda: find_sound_segments(spectrogram, settings.segments)),
        "features": _seconds(lambda: sound_features(spectrogram, regions)),
    }
    split = ", ".join(f"{part} {1000 * bags * seconds:.0f}" for part, seconds in parts.items())
    print(f"file to segments and features: {60 / whole:.0f} x real time (a minute in {1000 * whole:.0f} ms: {split})")
    for name, stft in _bare_stfts(samples).items():
        bare = bags * _seconds(stft)
        print(f"  {whole / bare:.1f} x the bare STFT by {name} ({1000 * bare:.0f} ms)")
    drawn = _seconds(lambda: render_png(spectrogram, settings.spectrogram))
    shown = _seconds(lambda: _picture(path, settings))
    print(f"a picture of 10 s: {1000 * drawn:.0f} ms to draw, {1000 * shown:.0f} ms with reading and the spectrogram")


def _bare_stfts(samples: NDArray[np.float32]) -> dict[str, Callable[[], object]]:
    """Return the STFT with our window and hop by two libraries, and the least there is, transforms of frames."""
    import librosa
    import scipy.signal
    from scipy.fft import rfft

    window = np.hanning(512).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, 512)[::256]
    return {
        "scipy.signal.stft": lambda: scipy.signal.stft(samples, RATE, nperseg=512, noverlap=256),
        "librosa.stft": lambda: librosa.stft(samples, n_fft=512, hop_length=256),
        "scipy.fft.rfft of all frames": lambda: rfft(frames * window, axis=1),
    }


def _picture(path: Path, settings: InstanceSettings) -> bytes:
    samples, rate = read_audio(path, 20.0, 10.0)
    return render_png(make_spectrogram(samples, rate, settings.spectrogram), settings.spectrogram)


def _growth(folder: Path) -> None:
    """Print the cost by duration of the bag, and by number of segments at the same duration."""
    settings = InstanceSettings.for_rate(RATE)
    costs = []
    for seconds in (5, 20, 80, 320):
        path = write_sound(folder / f"{seconds}.wav", seconds)
        costs.append(_seconds(partial(sound_instances, path, 0.0, seconds, settings)) / seconds)
    print("ms per second of sound in bags of 5, 20, 80, 320 s: " + ", ".join(f"{1000 * cost:.2f}" for cost in costs))
    by_number = []
    for sensitivity in (0.2, 0.5, 0.9):
        sensitive = replace(settings, segments=replace(settings.segments, sensitivity=sensitivity))
        work = partial(sound_instances, folder / "20.wav", 0.0, 20.0, sensitive)
        by_number.append(f"{len(work().regions)}: {1000 * _seconds(work):.0f} ms")
    print("20 s by number of segments: " + ", ".join(by_number))


def _windows_of_long_files(folder: Path) -> None:
    short = write_sound(folder / "ten_seconds.flac", 10)
    long = write_sound(folder / "three_hours.flac", 3 * 3600)
    alone = _seconds(lambda: read_audio(short, 0.0, 10.0))
    inside = _seconds(lambda: read_audio(long, 9000.0, 10.0))
    print(f"10 s of a 10 s FLAC file: {1000 * alone:.1f} ms; out of one of 3 hours: {1000 * inside:.1f} ms")
    long.unlink()


def _memory(folder: Path) -> None:
    """Print the peak memory of a process that takes a whole file as one bag, and that goes through it bag by bag."""
    peaks = {}
    for minutes in (10, 60):
        path = write_sound(folder / f"{minutes}min.wav", 60 * minutes)
        for bag_seconds in (BAG_SECONDS, 60.0 * minutes):
            code = f"from benchmarks.bench_sound import segment_file; segment_file({str(path)!r}, {bag_seconds})"
            done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
            peaks[minutes, bag_seconds == BAG_SECONDS] = float(done.stdout)
        path.unlink()
    for in_bags, how in ((True, f"in bags of {BAG_SECONDS:.0f} s"), (False, "as one bag")):
        print(f"peak memory {how}: 10 minutes {peaks[10, in_bags]:.0f} MB, 60 minutes {peaks[60, in_bags]:.0f} MB")


def segment_file(path: str, bag_seconds: float) -> None:
    """Go through a file bag by bag and print the peak memory in megabytes."""
    for start, end in cut_windows(soundfile.info(path).duration, bag_seconds):
        sound_instances(path, start, end, InstanceSettings.for_rate(RATE))
    print(peak_megabytes())


def _many_files(folder: Path) -> None:
    from joblib import Parallel, delayed

    paths = [write_sound(folder / f"many_{k}.wav", 10, seed=k) for k in range(120)]
    settings = InstanceSettings.for_rate(RATE)
    seconds = {}
    tasks = [delayed(sound_instances)(path, 0.0, 10.0, settings) for path in paths]
    for jobs in (1, 2):
        with Parallel(n_jobs=jobs) as workers:
            workers(tasks)
            started = time.perf_counter()
            workers(tasks)
            seconds[jobs] = time.perf_counter() - started
    print(f"{len(paths)} files of 10 s: {seconds[1]:.1f} s by one process, {seconds[2]:.1f} s by two (wall time)")


def _seconds(work: Callable[[], object], times: int = 5) -> float:
    """Return the least processor seconds of several calls, the first left out."""
    work()
    spent = []
    for _ in range(times):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


def write_sound(path: Path, seconds: int, seed: int = 0) -> Path:
    """Write wind, hum and three calls per second, piece by piece; every minute of a long file is the same."""
    rng = np.random.default_rng(seed)
    n = min(seconds, 60) * RATE
    t = np.arange(n) / RATE
    sound = 0.005 * rng.standard_normal(n) + 0.01 * np.sin(2 * np.pi * 100 * t)
    for _ in range(3 * min(seconds, 60)):
        length = int(rng.uniform(0.05, 0.4) * RATE)
        at = rng.integers(0, n - length)
        phase = np.cumsum(np.linspace(*rng.uniform(1500, 9000, 2), length)) * 2 * np.pi / RATE
        sound[at : at + length] += rng.uniform(0.02, 0.3) * np.hanning(length) * np.sin(phase)
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        for begin in range(0, seconds, 60):
            file.write(sound[: min(60, seconds - begin) * RATE].astype(np.float32))
    return path


if __name__ == "__main__":
    run()
