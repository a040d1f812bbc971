"""Throwaway projects for the browser: sounds and pictures with known segments, tags and predictions."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import soundfile
from PIL import Image, ImageDraw
from sqlalchemy import insert

from miml_core.features.acoustic import sound_feature_names
from miml_core.features.visual import picture_feature_names
from miml_core.instances import Instances
from miml_core.media.grid import Grid
from miml_core.media.sound_blocks import SoundWindow
from miml_core.media.spectrogram import read_spectrogram
from miml_core.project import Project
from miml_core.project.db import settings as project_settings
from miml_core.project.db.schema import runs
from miml_core.segments.regions import Region

RATE = 44_100
SECONDS = 10.0
BIRDS = ("Wren", "Robin", "Blackbird", "Chiffchaff", "Great tit", "Dunnock")


def sound_project(
    folder: Path, sizes: tuple[int, ...] = (5,), *, classes: tuple[str, ...] = BIRDS, predicted: bool = True
) -> Project:
    """One bag a size: a recording with that many calls, each a segment; a few carry labels of a person."""
    folder.mkdir(parents=True)
    project = Project.create(folder / "project", kind="sound", name="Dawn chorus", annotator="Ann")
    for name in classes:
        project.edits.add_class(name)
    for place, size in enumerate(sizes):
        calls = _calls(size, np.random.default_rng(place))
        path = folder / f"garden_{place + 1}.wav"
        soundfile.write(path, _sing(calls), RATE, subtype="PCM_16")
        (bag,) = project.media.add([path])
        grid = read_spectrogram(path, 0.0, SECONDS, project.settings.spectrogram).grid
        _store(project, bag, grid, [_sound_region(grid, call) for call in calls])
    if predicted:
        _predict(project)
    return project


def long_project(
    folder: Path, seconds: float, n_segments: int, *, rate: int = 22_050, clips: tuple[float, ...] = ()
) -> Project:
    """One long recording with calls spread over it, each a segment; and clips that sound alike, of so many seconds."""
    folder.mkdir(parents=True)
    project = Project.create(folder / "project", kind="sound", name="Night", annotator="Ann")
    for name in BIRDS:
        project.edits.add_class(name)
    for length in (seconds, *clips):
        n = max(1, round(n_segments * length / seconds))
        calls = _spread_calls(n, length, rate, np.random.default_rng(n_segments))
        path = folder / f"night_{length:.0f}.wav"
        _write_long(path, calls, length, rate)
        (bag,) = project.media.add([path])
        grid = SoundWindow.of(path, 0.0, length, project.settings.spectrogram, "mix").grid
        _store(project, bag, grid, [_sound_region(grid, call) for call in calls])
    _predict(project)
    return project


def _spread_calls(n: int, seconds: float, rate: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 4): start, length, lowest and highest frequency, one after another."""
    step = seconds / n
    start = (np.arange(n) + rng.uniform(0.05, 0.3, n)) * step
    low = rng.uniform(1_000, 0.3 * rate, n)
    return np.column_stack([start, np.full(n, min(0.4, 0.5 * step)), low, low + 0.1 * rate])


def _write_long(path: Path, calls: np.ndarray, seconds: float, rate: int) -> None:
    """A minute at a time, so that memory does not grow with the recording."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.004, 60 * rate).astype(np.float32)
    with soundfile.SoundFile(path, "w", rate, 1, subtype="PCM_16") as file:
        for begin in np.arange(0.0, seconds, 60.0):
            sound = np.roll(noise, int(rng.integers(len(noise))))[: round(min(60.0, seconds - begin) * rate)]
            for start, length, low, high in calls[(calls[:, 0] >= begin) & (calls[:, 0] < begin + 60.0)]:
                t = np.arange(int(length * rate)) / rate
                first = int((start - begin) * rate)
                call = 0.12 * np.hanning(len(t)) * np.sin(2 * np.pi * np.cumsum(np.linspace(low, high, len(t))) / rate)
                sound[first : first + len(t)] += call[: len(sound) - first]
            file.write(sound)


def picture_project(folder: Path, *, n_pictures: int = 2) -> Project:
    """Pictures of coloured discs on a meadow."""
    folder.mkdir(parents=True)
    project = Project.create(folder / "project", kind="picture", name="Meadow", annotator="Ann")
    for name in ("Daisy", "Poppy", "Cornflower"):
        project.edits.add_class(name)
    for place in range(n_pictures):
        path = folder / f"meadow_{place + 1}.png"
        discs = _meadow(path, np.random.default_rng(place))
        (bag,) = project.media.add([path])
        grid = Grid(900, 600, 0.0, 900.0, 0.0, 600.0)
        _store(project, bag, grid, [_disc_region(disc) for disc in discs])
    _predict(project)
    return project


def bat_project(folder: Path) -> Project:
    """One second of ultrasound: calls sweeping from 60 to 30 kHz."""
    folder.mkdir(parents=True)
    project = Project.create(folder / "project", kind="sound", name="Bats", annotator="Ann")
    rate = 192_000
    sound = np.random.default_rng(0).normal(0, 0.004, rate)
    t = np.arange(int(0.006 * rate)) / rate
    sweep = 60_000 - 30_000 * t / t[-1]
    for start in (0.1, 0.3, 0.5, 0.7):
        first = int(start * rate)
        sound[first : first + len(t)] += 0.3 * np.hanning(len(t)) * np.sin(2 * np.pi * np.cumsum(sweep) / rate)
    soundfile.write(folder / "night.wav", sound, rate, subtype="PCM_16")
    project.media.add([folder / "night.wav"])
    return project


def _calls(n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 4): start, length (seconds), lowest and highest frequency, on a loose lattice so that few overlap."""
    columns = int(np.ceil(np.sqrt(n * 2.2)))
    rows = int(np.ceil(n / columns))
    cells = rng.permutation(columns * rows)[:n]
    x, y = cells % columns, cells // columns
    width, height = 9.6 / columns, 14_000 / rows
    start = 0.2 + (x + rng.uniform(0.05, 0.25, n)) * width
    length = width * rng.uniform(0.45, 0.7, n)
    low = 1_800 + (y + rng.uniform(0.05, 0.25, n)) * height
    high = low + height * rng.uniform(0.4, 0.65, n)
    return np.column_stack([start, length, low, high])


def _sing(calls: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(0)
    sound = rng.normal(0, 0.004, int(SECONDS * RATE))
    for start, length, low, high in calls:
        t = np.arange(int(length * RATE)) / RATE
        sweep = low + (high - low) * (0.5 + 0.42 * np.sin(2 * np.pi * t / length * rng.choice([0.5, 1.0, 2.0])))
        first = int(start * RATE)
        sound[first : first + len(t)] += 0.12 * np.hanning(len(t)) * np.sin(2 * np.pi * np.cumsum(sweep) / RATE)
    return sound


def _sound_region(grid: Grid, call: np.ndarray) -> Region:
    start, length, low, high = call
    left, right = int(grid.column_at(start)), int(grid.column_at(start + length)) + 1
    top, bottom = int(grid.row_at(high)), int(grid.row_at(low)) + 1
    return Region(top, left, _ellipse(max(3, bottom - top), max(3, right - left)))


def _ellipse(height: int, width: int) -> np.ndarray:
    y, x = np.ogrid[:height, :width]
    across = ((x + 0.5) / width * 2 - 1) ** 2 + ((y + 0.5) / height * 2 - 1) ** 2
    return across <= 1.0


def _meadow(path: Path, rng: np.random.Generator) -> list[tuple[int, int, int]]:
    pixels = rng.normal((86, 132, 62), 10, (600, 900, 3)).clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    discs = []
    for place in range(12):
        x = 120 + 210 * (place % 4) + int(rng.integers(-40, 40))
        y = 110 + 190 * (place // 4) + int(rng.integers(-30, 30))
        radius = int(rng.integers(25, 60))
        colour = [(245, 240, 230), (200, 40, 30), (60, 70, 200)][place % 3]
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
        discs.append((x, y, radius))
    picture.save(path)
    return discs


def _disc_region(disc: tuple[int, int, int]) -> Region:
    x, y, radius = disc
    return Region(y - radius, x - radius, _ellipse(2 * radius + 1, 2 * radius + 1))


def _store(project: Project, bag: int, grid: Grid, regions: list[Region]) -> None:
    names = (sound_feature_names if project.kind == "sound" else picture_feature_names)("extended")
    features = np.random.default_rng(bag).normal(size=(len(regions), len(names)))
    project.segments.store(bag, Instances(grid, regions, features, list(names)))
    classes = project.classes.list()
    for one in classes[: max(2, len(classes) // 2)]:
        project.edits.tag(bag, one.id, 1)
    project.edits.finish(bag)


def _predict(project: Project) -> None:
    """A run by hand: mostly sure, sometimes doubtful, now and then background or against the tags."""
    _, index = project.bags.bagset()
    n_classes = len(index.class_ids)
    rng = np.random.default_rng(7)
    sure = rng.dirichlet(np.full(n_classes + 1, 0.25), len(index.segment_ids))
    free = rng.dirichlet(np.full(n_classes + 1, 0.25), len(index.segment_ids))
    with project.store.write() as connection:
        run = connection.execute(
            insert(runs).values(
                model="ored-lr",
                params="{}",
                seed=0,
                state="done",
                started_at=time.time(),
                classes=json.dumps(index.class_ids),
                background=True,
                feature_key=index.feature_key,
                annotator="Ann",
            )
        ).inserted_primary_key[0]
        project_settings.put(connection, "current_run", run)
        project_settings.put(connection, "summarised_run", run)
    project.runs.write_predictions(run, index, sure, free)
