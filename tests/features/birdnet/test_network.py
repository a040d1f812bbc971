"""The network that was taken apart computes what the whole file computes in LiteRT."""

import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from miml_core.features.birdnet import files, network, run_frames, run_windows, score_embeddings
from miml_core.features.birdnet.windows import RATE, WINDOW
from tests.birdnet import needs_birdnet
from tests.conftest import ROOT

pytestmark = needs_birdnet

EMBEDDING, LOGITS = 545, 546  # GLOBAL_AVG_POOL/Mean and Identity


def songs(count: int = 6) -> np.ndarray:
    """Windows with sweeps, trills and clicks of several loudnesses over noise of several colours."""
    rng = np.random.default_rng(0)
    time = np.arange(WINDOW) / RATE
    windows = np.empty((count, WINDOW), dtype=np.float32)
    for row in range(count):
        noise = np.cumsum(rng.normal(size=WINDOW)) * 1e-4 if row % 2 else rng.normal(size=WINDOW) * 0.003
        start, base = rng.uniform(0.2, 2.0), rng.uniform(1500, 8000)
        chirp = np.sin(2 * np.pi * (base * time + 600 * np.sin(2 * np.pi * (row + 3) * time) / (row + 3)))
        windows[row] = noise + chirp * np.exp(-(((time - start) / 0.3) ** 2)) * rng.uniform(0.01, 0.7)
    return windows


def windows_of_all_kinds() -> np.ndarray:
    """Songs, padded clips of 0.2 s and 1.5 s, silence, a constant, a click in very faint noise."""
    padded = songs(3)
    padded[0, 9600:] = 0
    padded[1, 72000:] = 0
    padded[2, :72000] = 0
    faint = np.random.default_rng(1).normal(size=(1, WINDOW)) * 1e-4
    faint[0, 70000] = 0.9
    constants = np.repeat([[0.0], [0.25]], WINDOW, axis=1)
    return np.concatenate([songs(), padded, constants, faint]).astype(np.float32)


@pytest.fixture(scope="module")
def whole() -> tuple[np.ndarray, np.ndarray]:
    """Embeddings and logits of all kinds of windows by the whole file in LiteRT."""
    from ai_edge_litert.interpreter import Interpreter

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # preserving all tensors is for debugging, it says
        bare = Interpreter(str(files.model_file()), num_threads=1, experimental_preserve_all_tensors=True)
    bare.allocate_tensors()
    embeddings, logits = [], []
    for window in windows_of_all_kinds():
        bare.set_tensor(0, window[None])
        bare.invoke()
        embeddings.append(bare.get_tensor(EMBEDDING)[0])
        logits.append(bare.get_tensor(LOGITS)[0])
    return np.array(embeddings), np.array(logits)


def test_embeddings_and_logits_are_those_of_the_whole_file(whole):
    embeddings, logits = run_windows(windows_of_all_kinds())
    assert embeddings.dtype == logits.dtype == np.float32
    assert embeddings.shape == (12, 1024) and logits.shape == (12, 6522)
    np.testing.assert_allclose(embeddings, whole[0], atol=5e-4)
    np.testing.assert_allclose(logits, whole[1], atol=5e-3)
    assert np.array_equal(logits.argmax(axis=1), whole[1].argmax(axis=1))


def test_loudness_and_offset_do_not_matter():
    one = songs(1)
    embeddings, _ = run_windows(np.concatenate([one, one * 0.3 + 0.1]))
    np.testing.assert_allclose(embeddings[0], embeddings[1], atol=2e-3)


def test_the_logits_of_a_window_are_the_means_of_those_of_its_frames():
    windows = songs(2)
    frames = run_frames(windows)
    assert frames.shape == (2, network.N_FRAMES, 1024)
    np.testing.assert_allclose(score_embeddings(frames).mean(axis=1), run_windows(windows)[1], atol=1e-3)
    np.testing.assert_allclose(score_embeddings(frames, [4, 2]), score_embeddings(frames)[..., [4, 2]], atol=1e-4)


def test_frames_follow_the_sound_through_the_window():
    time = np.arange(WINDOW) / RATE
    noise = np.random.default_rng(0).normal(size=WINDOW) * 0.01
    at = np.array([0.6, 1.2, 1.8, 2.4])
    chirp = [np.sin(2 * np.pi * 4000 * time) * (np.abs(time - middle) < 0.1) + noise for middle in at]
    frames = run_frames(np.stack([noise, *chirp]).astype(np.float32))
    change = np.linalg.norm(frames[1:] - frames[0], axis=2)
    middle = (change * network.FRAME_CENTRES).sum(axis=1) / change.sum(axis=1)
    assert (np.diff(middle) > 0.1).all()


def test_spectrograms_can_be_changed_in_between():
    windows = songs(2)
    images = network.mel_images(windows)
    assert images.shape == (2, 96, 511, 2) and (images >= 0).all()
    np.testing.assert_array_equal(network.run_mel_images(images), run_frames(windows))
    images[:, :, 200:300] = 0
    assert not np.allclose(network.run_mel_images(images), run_frames(windows))


def test_no_window_is_no_row_and_another_length_is_refused():
    embeddings, logits = run_windows(np.empty((0, WINDOW)))
    assert embeddings.shape == (0, 1024) and logits.shape == (0, 6522)
    with pytest.raises(ValueError, match="144000 samples"):
        run_windows(np.zeros((1, 1000)))


def test_silence_gives_numbers():
    embeddings, logits = run_windows(np.zeros((1, WINDOW)))
    assert np.isfinite(embeddings).all() and np.isfinite(logits).all()


def test_threads_take_turns():
    windows = songs(4)
    expected = run_windows(windows)[0]
    found: dict[int, np.ndarray] = {}

    def work(number: int) -> None:
        found[number] = run_windows(np.roll(windows, number, axis=0))[0]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        np.testing.assert_array_equal(found[number], np.roll(expected, number, axis=0))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted by Linux")
def test_one_thread_per_process_and_memory_that_does_not_grow():
    code = (
        "import os; from benchmarks.peak_memory import peak_megabytes as used;"
        "from miml_core.features.birdnet import run_windows; import numpy as np;"
        "windows = np.random.default_rng(0).normal(size=(4, 144000)).astype(np.float32); run_windows(windows);"
        "before = used(); [run_windows(windows) for _ in range(15)];"
        "print(len(os.listdir('/proc/self/task')), used() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT, timeout=250
    )
    threads, growth = map(float, done.stdout.split())
    assert threads == 1 and growth < 20
