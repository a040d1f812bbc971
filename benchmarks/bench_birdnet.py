"""BirdNET on one core: the bare interpreter of LiteRT, and ours for the same windows; segments and their features.

Aims: at most 1.3 x the bare interpreter's time, and 10 x real time or more, from the file to segments, hand-made
features and embeddings of clips with 20 segments per 10 s; peak memory that does not grow with the length of the bag.
Times are processor times, but a core whose cache is shared with other work is slower: measure on an idle machine.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peak_memory import peak_megabytes
from miml_core.features.birdnet import (
    birdnet_status,
    cut_windows,
    mel_images,
    read_windows,
    resample,
    run_mel_images,
    run_windows,
    score_embeddings,
    window_starts,
)
from miml_core.features.birdnet.embedding import NAME
from miml_core.features.birdnet.files import model_file
from miml_core.features.birdnet.windows import STEP_SECONDS
from miml_core.instances import InstanceSettings, sound_instances
from miml_core.media.audio import audio_info, read_audio

ROOT = Path(__file__).parents[1]
WINDOWS = 20
BAG_SECONDS = 10.0


def run() -> None:
    """Print the figures."""
    status = birdnet_status()
    if not status.installed:
        print(status.reason)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _write_sound(folder, minutes=1)
        windows = np.concatenate(list(read_windows(path, np.linspace(0.0, 57.0, WINDOWS))))
        _windows_per_second(windows)
        _segments_and_features(folder, path)
        _memory(folder)


def _windows_per_second(windows: NDArray[np.float32]) -> None:
    for all_tensors, how in ((False, "scores only"), (True, "with embeddings, by preserving all tensors")):
        bare, ours = _seconds_side_by_side(_bare(windows, all_tensors), lambda: run_windows(windows))
        print(
            f"bare interpreter, {how}: {WINDOWS / bare:.1f} windows per second; "
            f"ours, scores and embeddings: {WINDOWS / ours:.1f}, {ours / bare:.2f} x its time"
        )
    images = mel_images(windows)
    frames = run_mel_images(images)
    parts = {
        "spectrograms": _seconds(lambda: mel_images(windows)),
        "convolutions": _seconds(lambda: run_mel_images(images)),
        "scores": _seconds(lambda: score_embeddings(frames.mean(axis=1))),
    }
    print("  ms per window: " + ", ".join(f"{part} {1000 * each / WINDOWS:.1f}" for part, each in parts.items()))


def _bare(windows: NDArray[np.float32], all_tensors: bool) -> Callable[[], None]:
    """Time the whole model in LiteRT, one window at a time, with one thread."""
    from ai_edge_litert.interpreter import Interpreter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # preserving all tensors is for debugging, it says
        bare: Any = Interpreter(str(model_file()), num_threads=1, experimental_preserve_all_tensors=all_tensors)
    bare.allocate_tensors()
    given, made = bare.get_input_details()[0]["index"], bare.get_output_details()[0]["index"]

    def work() -> None:
        for window in windows:
            bare.set_tensor(given, window[None])
            bare.invoke()
            bare.get_tensor(made)
            if all_tensors:
                bare.get_tensor(made - 1)

    return work


def _segments_and_features(folder: Path, path: Path) -> None:
    """Time the whole chain for a bag of 10 s, without and with a cached timeline, beside the bare interpreter."""
    from miml_core.project.instances.timelines import TimelineCaches
    from miml_core.project.media.files import BagFile
    from miml_core.project.media.fingerprint import fingerprint

    settings = replace(InstanceSettings.for_rate(audio_info(path).rate), embedding=NAME)
    hand_made = replace(settings, embedding=None)
    start, end = 20.0, 20.0 + BAG_SECONDS
    samples, rate = read_audio(path, start, BAG_SECONDS)
    windows = cut_windows(resample(samples, rate), window_starts(BAG_SECONDS, STEP_SECONDS))
    caches = TimelineCaches(folder, BagFile(path, fingerprint(path)[1]), "mix", NAME)
    n_segments = len(sound_instances(path, start, end, settings, caches).regions)
    bare, computed, cached, plain = _seconds_side_by_side(
        _bare(windows, all_tensors=True),
        lambda: sound_instances(path, start, end, settings),
        lambda: sound_instances(path, start, end, settings, caches),
        lambda: sound_instances(path, start, end, hand_made),
    )
    print(
        f"{BAG_SECONDS:.0f} s with {n_segments} segments, {len(windows)} windows, file to segments, hand-made features "
        f"and embeddings: {BAG_SECONDS / computed:.1f} x real time, {computed / bare:.2f} x the bare interpreter"
    )
    print(
        f"  again with a cached timeline: {BAG_SECONDS / cached:.0f} x real time; "
        f"hand-made features only: {BAG_SECONDS / plain:.0f} x"
    )


def _memory(folder: Path) -> None:
    """Print the peak memory of a process that describes a whole file as one bag."""
    peaks = []
    for minutes in (2, 8):
        path = _write_sound(folder, minutes)
        code = f"from benchmarks.bench_birdnet import describe_file; describe_file({str(path)!r})"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        peaks.append(f"{minutes} min {float(done.stdout):.0f} MB")
    print("peak memory of one bag, segments, features and embeddings: " + ", ".join(peaks))


def _write_sound(folder: Path, minutes: int) -> Path:
    from benchmarks.bench_sound import write_sound  # imports much that must not count as memory of BirdNET

    return write_sound(folder / f"{minutes} min.wav", 60 * minutes)


def describe_file(path: str) -> None:
    """Find and describe the segments of a whole file as one bag, and print the peak memory in megabytes."""
    info = audio_info(path)
    sound_instances(path, 0.0, info.duration, replace(InstanceSettings.for_rate(info.rate), embedding=NAME))
    print(peak_megabytes())


def _seconds(work: Callable[[], object]) -> float:
    return _seconds_side_by_side(work)[0]


def _seconds_side_by_side(*works: Callable[[], object], times: int = 5) -> list[float]:
    """Return the least processor seconds of several calls of each, in turn, the first left out."""
    spent: list[list[float]] = [[] for _ in works]
    for _ in range(times + 1):
        for work, found in zip(works, spent):
            started = time.process_time()
            work()
            found.append(time.process_time() - started)
    return [min(found[1:]) for found in spent]


if __name__ == "__main__":
    run()
