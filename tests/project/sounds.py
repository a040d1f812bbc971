"""Short, clear recordings of three generated species, so that all steps can be run in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

RATE = 22050
SPECIES = {"Low": 2000.0, "Middle": 4000.0, "High": 7000.0}


def write_recordings(folder: Path, n: int, *, seconds: float = 2.4, seed: int = 0) -> dict[str, set[str]]:
    """Write `n` WAV files; return {file name: species in it}."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    heard = {}
    for k in range(n):
        sound = 0.01 * rng.normal(size=int(seconds * RATE))
        chosen = [str(name) for name in rng.choice(list(SPECIES), size=round(seconds / 0.8))]
        for slot, name in enumerate(chosen):
            t = np.arange(int(0.4 * RATE)) / RATE
            call = 0.3 * np.hanning(len(t)) * np.sin(2 * np.pi * SPECIES[name] * t)
            start = int((0.2 + 0.8 * slot) * RATE)
            sound[start : start + len(call)] += call
        name = f"clip_{k:03d}.wav"
        soundfile.write(folder / name, sound, RATE)
        heard[name] = set(chosen)
    return heard


def write_tags(path: Path, heard: dict[str, set[str]]) -> Path:
    lines = ["file,tags", *(f"{name},{'; '.join(sorted(tags))}" for name, tags in heard.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
