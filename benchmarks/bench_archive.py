"""A model applied to an archive: by one and two workers of Dask beside the bare loop in this process.

Aims: one worker at 90 % of the bare speed or more, two at 1.8 times one; memory that does not grow with the archive; a
scheduler that costs milliseconds per task. From these a table for 1, 10 and 100 machines over 20 000 hours, on paper.
The bare loop and the workers take turns, and the best turn of each counts. Some minutes on a quiet computer of two
cores, of which 100 000 empty tasks (`--tasks N` for another number) take the most; after half an hour it ends with a
traceback, whatever happens.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.bench_sound import RATE, write_sound
from miml_core import BagSet
from miml_core.archive.bundle import BundleClass, read_bundle, write_bundle
from miml_core.archive.cluster import connect, run_bounded
from miml_core.archive.plan import Task, plan_tasks
from miml_core.archive.recordings import SitePattern, find_recordings, read_headers
from miml_core.archive.work import TaskReport, do_task
from miml_core.instances import InstanceSettings, sound_instances
from miml_core.models import MODELS

CLIP_SECONDS = 10.0
FILE_SECONDS = 600
N_FILES = 12
TURNS = 2
TASK_SECONDS = 1800.0
SURVEY_HOURS = 20_000
CORES = 8
"""Of a machine in the table."""
LONGEST_S = 1800


def run(tasks: int = 100_000) -> None:
    """Print the figures."""
    faulthandler.dump_traceback_later(LONGEST_S, exit=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle, hours = write_model(folder), N_FILES * FILE_SECONDS / 3600
        few, whole = write_archive(folder / "few", 2), write_archive(folder / "whole", N_FILES)
        seconds: dict[int, list[float]] = {0: [], 1: [], 2: []}
        processor: dict[int, list[float]] = {0: [], 1: [], 2: []}
        memory = {}
        for turn in range(TURNS):
            used = time.process_time()
            seconds[0].append(_bare(bundle, whole))
            processor[0].append(time.process_time() - used)
            _show(f"turn {turn + 1}: {hours:.1f} hours in {seconds[0][-1]:.1f} s by the bare loop")
            for workers in (1, 2):
                with connect(workers=workers) as client:
                    _applied(client, bundle, few, folder / f"few {turn} {workers}")  # loads and compiles
                    memory_few, used = _peak_memory(client), sum(client.run(time.process_time).values())
                    seconds[workers].append(_applied(client, bundle, whole, folder / f"whole {turn} {workers}"))
                    processor[workers].append(sum(client.run(time.process_time).values()) - used)
                    memory[workers] = memory_few, _peak_memory(client)
                _show(f"turn {turn + 1}: {seconds[workers][-1]:.1f} s by {workers} worker(s)")
    bare, one, two = (min(seconds[workers]) for workers in (0, 1, 2))
    _show(f"bare loop in this process: {3600 * hours / bare:.0f} x real time")
    _show(f"one worker: {bare / one:.0%} of the bare speed (aim: 90 %)")
    _show(f"two workers are {one / two:.2f} x as fast as one (aim: 1.8)")
    used_bare, used_one, used_two = (min(processor[workers]) for workers in (0, 1, 2))
    _show(
        f"processor time, which other programs hardly change: bare {used_bare:.1f} s, one worker {used_one:.1f} s "
        f"({used_bare / used_one:.0%}), two workers {used_two:.1f} s"
    )
    for workers, (before, after) in memory.items():
        few_hours = 2 * FILE_SECONDS / 3600
        line = f"peak memory of a worker, of {workers}: {before:.0f} MB after {few_hours:.1f} hours, "
        _show(f"{line}{after:.0f} MB after {few_hours + hours:.1f}")
    per_task = _overhead(tasks)
    _table(3600 * hours / one, per_task)
    faulthandler.cancel_dump_traceback_later()


def _show(line: str) -> None:
    print(line, flush=True)


def write_model(folder: Path) -> Path:
    """Write a bundle of 20 classes, trained on the generated sounds with three random tags each.

    The exact posterior takes time exponential in the tags of a bag: with ten it would take longer than all the rest.
    """
    rng = np.random.default_rng(0)
    settings = InstanceSettings.for_rate(RATE)
    found = [
        sound_instances(write_sound(folder / f"train {k}.wav", 10, seed=k), 0.0, CLIP_SECONDS, settings).X
        for k in range(30)
    ]
    names = [f"class {k}" for k in range(20)]
    tags = np.full((len(found), len(names)), -1)
    for k in range(len(found)):
        tags[k, rng.choice(len(names), 3, replace=False)] = 1
    bags = BagSet(np.concatenate(found), np.cumsum([0, *map(len, found)]), tags, names)
    model = MODELS["ored-lr"](alpha=0.01, background=True, leak=0.01, max_iter=10).fit(bags)
    model.save(folder / "model.npz")
    write_bundle(
        folder / "model.bagtag",
        kind="sound",
        classes=[BundleClass(name) for name in names],
        settings=settings,
        clip_seconds=CLIP_SECONDS,
        model_file=(folder / "model.npz").read_bytes(),
        segmenter_file=None,
        provenance={},
    )
    return folder / "model.bagtag"


def write_archive(folder: Path, n_files: int) -> Path:
    """Write recordings of ten minutes, all of the same sound: two sites, a day for every six files of a site."""
    for k in range(n_files):
        path = folder / f"site {k % 2}" / f"2024{1 + k // 12 % 12:02d}01_{k // 2 % 6:02d}0000.wav"
        path.parent.mkdir(parents=True, exist_ok=True)
        if k == 0:
            first = write_sound(path, FILE_SECONDS)
        else:
            path.hardlink_to(first)
    return folder


def plan(bundle_file: Path, archive: Path) -> list[Task]:
    """Return the tasks of an archive, as `apply` plans them."""
    headers = read_headers(find_recordings([archive], "sound"), "sound")
    model_id = read_bundle(bundle_file).id
    return list(
        plan_tasks(
            headers,
            model_id=model_id,
            clip_seconds=CLIP_SECONDS,
            task_seconds=TASK_SECONDS / 3,  # more tasks than workers, in an archive of two hours
            sites=SitePattern(),
        )
    )


def _bare(bundle: Path, archive: Path) -> float:
    """Return the seconds of the work itself, one clip after the other, with nothing stored."""
    os.environ["BAGTAG_THREADS"] = "1"
    model = read_bundle(bundle)
    clips = [
        (Path(stretch.recording.path), start)
        for task in plan(bundle, archive)
        for stretch in task.stretches
        for start in np.arange(stretch.first, stretch.last) * CLIP_SECONDS
    ]
    for path, start in clips[:5]:  # compiles and loads
        model.model.predict_proba(model.instances(path, start, start + CLIP_SECONDS).X)
    began = time.perf_counter()
    for path, start in clips:
        X = model.instances(path, start, start + CLIP_SECONDS).X
        if len(X):
            bags = BagSet(X, [0, len(X)], np.zeros((1, len(model.classes)), np.int8), model.model.classes_)
            model.model.predict_tags(bags)
            model.model.predict_proba(X)
    return time.perf_counter() - began


def _applied(client: Any, bundle: Path, archive: Path, out: Path) -> float:
    """Return the seconds of an archive on a cluster."""
    tasks = plan(bundle, archive)
    began = time.perf_counter()
    for _, done in run_bounded(client, do_task, tasks, str(out), str(bundle), key=lambda task: task.name):
        assert isinstance(done, TaskReport), done
    return time.perf_counter() - began


def _peak_memory(client: Any) -> float:
    """Return the largest peak of the workers, in megabytes."""
    return float(max(client.run(_own_peak).values()))


def _own_peak() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _overhead(n: int) -> float:
    """Return the seconds per task of the scheduler, by empty tasks on as many workers as there are cores."""

    def numbers() -> Iterator[int]:
        for number in range(n):
            if number % 10_000 == 0 and sys.stdout.isatty():
                print(f"\r{number:,} of {n:,} empty tasks", end="", flush=True)
            yield number

    process = psutil.Process()
    with connect() as client:
        for _ in run_bounded(client, abs, range(1000), key=lambda k: f"first-{k}"):
            pass
        memory, began = process.memory_info().rss, time.perf_counter()
        for _ in run_bounded(client, abs, numbers(), key=lambda k: f"empty-{k}"):
            pass
        seconds = time.perf_counter() - began
        grown = (process.memory_info().rss - memory) / 2**20
    _show(f"{n:,} empty tasks: {1000 * seconds / n:.2f} ms each; scheduler and command grew by {grown:.0f} MB")
    return seconds / n


def _table(speed: float, per_task: float) -> None:
    """Print hours for a large survey, from the speed of one worker and the cost of a task."""
    n_tasks = SURVEY_HOURS * 3600 / TASK_SECONDS
    print(
        f"{SURVEY_HOURS:,} hours on paper, with {CORES} workers per machine at {speed:.0f} x real time each, "
        f"{n_tasks:,.0f} tasks of {TASK_SECONDS / 60:.0f} minutes of sound at {1000 * per_task:.1f} ms of the "
        "scheduler, storage that delivers what they read (the last column), no embedding:"
    )
    print(" machines   hours   scheduler busy   MB/s read (44.1 kHz, 16 bit)")
    for machines in (1, 10, 100):
        seconds = max(SURVEY_HOURS * 3600 / (machines * CORES * speed), n_tasks * per_task)
        busy, rate = n_tasks * per_task / seconds, SURVEY_HOURS * 3600 * 2 * RATE / seconds / 1e6
        print(f" {machines:8d} {seconds / 3600:7.2f} {busy:16.1%} {rate:11.0f}")
