"""Sound of 44.1 kHz to segments with features, on one core, beside the bare STFT of the same sound.

Aims: 100 x real time or more, at most 4 x the bare STFT; peak memory that does not grow with the length of the file;
ten seconds out of three hours for what ten seconds alone cost; a picture of ten seconds in tens of milliseconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

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
    """What a minute costs, part by part, and a picture of ten seconds."""
    from scipy.fft import rfft

    path = _write(folder / "minute.wav", 60)
    settings = InstanceSettings.for_rate(RATE)
    samples, _ = read_audio(path)
    spectrogram = make_spectrogram(samples, RATE, settings.spectrogram)
    regions = find_sound_segments(spectrogram, settings.segments)
    window = np.hanning(512).astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, 512)[::256]
    bare = _seconds(lambda: [rfft(frames[k : k + 128] * window, axis=1) for k in range(0, len(frames), 128)])
    whole = _seconds(lambda: sound_instances(path, 0.0, 60.0, settings))
    parts = {
        "read": _seconds(lambda: read_audio(path)),
        "spectrogram": _seconds(lambda: make_spectrogram(samples, RATE, settings.spectrogram)),
        "segments": _seconds(lambda: find_sound_segments(spectrogram, settings.segments)),
        "features": _seconds(lambda: sound_features(spectrogram, regions)),
    }
    split = ", ".join(f"{part} {1000 * seconds:.0f}" for part, seconds in parts.items())
    print(f"a minute, {len(regions)} segments: {60 / whole:.0f} x real time ({1000 * whole:.0f} ms: {split})")
    print(f"bare STFT: {1000 * bare:.0f} ms; segments and features take {whole / bare:.1f} x that")
    clip = make_spectrogram(samples[: 10 * RATE], RATE, settings.spectrogram)
    drawn = _seconds(lambda: render_png(clip, settings.spectrogram))
    shown = _seconds(lambda: _picture(path, settings))
    print(f"a picture of 10 s: {1000 * drawn:.0f} ms to draw, {1000 * shown:.0f} ms with reading and the spectrogram")


def _picture(path: Path, settings: InstanceSettings) -> bytes:
    samples, rate = read_audio(path, 20.0, 10.0)
    return render_png(make_spectrogram(samples, rate, settings.spectrogram), settings.spectrogram)


def _growth(folder: Path) -> None:
    """Cost by duration of the bag, and by number of segments at the same duration."""
    settings = InstanceSettings.for_rate(RATE)
    costs = []
    for seconds in (5, 20, 80):
        path = _write(folder / f"{seconds}.wav", seconds)
        costs.append(_seconds(lambda path=path, seconds=seconds: sound_instances(path, 0.0, seconds, settings)) / seconds)
    print("ms a second of sound in bags of 5, 20, 80 s: " + ", ".join(f"{1000 * cost:.1f}" for cost in costs))
    by_number = []
    for sensitivity in (0.2, 0.5, 0.9):
        keener = replace(settings, segments=replace(settings.segments, sensitivity=sensitivity))
        n = len(sound_instances(folder / "20.wav", 0.0, 20.0, keener).regions)
        by_number.append(f"{n}: {1000 * _seconds(lambda: sound_instances(folder / '20.wav', 0.0, 20.0, keener)):.0f} ms")  # noqa: B023
    print("20 s by number of segments: " + ", ".join(by_number))


def _windows_of_long_files(folder: Path) -> None:
    short = _write(folder / "ten_seconds.flac", 10)
    long = _write(folder / "three_hours.flac", 3 * 3600)
    alone = _seconds(lambda: read_audio(short, 0.0, 10.0))
    inside = _seconds(lambda: read_audio(long, 9000.0, 10.0))
    print(f"10 s of a 10 s FLAC file: {1000 * alone:.1f} ms; out of one of 3 hours: {1000 * inside:.1f} ms")
    long.unlink()


def _memory(folder: Path) -> None:
    """Peak memory of a process that goes through a whole file bag by bag."""
    peaks, rates = [], []
    for minutes in (10, 60):
        path = _write(folder / f"{minutes}min.wav", 60 * minutes)
        code = f"from benchmarks.bench_sound import walk; walk({str(path)!r})"
        out = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        peak, seconds = (float(word) for word in out.split())
        peaks.append(peak)
        rates.append(60 * minutes / seconds)
        path.unlink()
    print(
        f"peak memory for a file of 10 minutes {peaks[0]:.0f} MB, of 60 minutes {peaks[1]:.0f} MB "
        f"({rates[1]:.0f} x real time in bags of {BAG_SECONDS:.0f} s)"
    )


def walk(path: str) -> None:
    """Go through a file bag by bag; print the peak memory in megabytes and the processor seconds it took."""
    import resource

    duration = soundfile.info(path).duration
    settings = InstanceSettings.for_rate(RATE)
    sound_instances(path, 0.0, BAG_SECONDS, settings)
    started = time.process_time()
    for start, end in cut_windows(duration, BAG_SECONDS):
        sound_instances(path, start, end, settings)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time() - started)


def _many_files(folder: Path) -> None:
    from joblib import Parallel, delayed

    paths = [_write(folder / f"many_{k}.wav", 10, seed=k) for k in range(120)]
    settings = InstanceSettings.for_rate(RATE)
    seconds = {}
    for jobs in (1, 2):
        with Parallel(n_jobs=jobs) as workers:
            workers(delayed(sound_instances)(path, 0.0, 10.0, settings) for path in paths[:8])
            started = time.perf_counter()
            workers(delayed(sound_instances)(path, 0.0, 10.0, settings) for path in paths)
            seconds[jobs] = time.perf_counter() - started
    print(f"{len(paths)} files of 10 s: {seconds[1]:.1f} s by one process, {seconds[2]:.1f} s by two (wall time)")


def _seconds(work: Callable[[], object], times: int = 5) -> float:
    """Least processor seconds of several calls, the first left out."""
    work()
    spent = []
    for _ in range(times):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return min(spent)


def _write(path: Path, seconds: int, seed: int = 0) -> Path:
    """Wind, hum and three calls a second, written piece by piece; every minute of a long file is the same."""
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
