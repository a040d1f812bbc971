"""The aggregates of the Insights page over 10 million detections, as ratios to a bare count of the same table.

Writes the detections in the layout of `bagtag apply` to a temporary folder (about 400 MB), 5000 files of 2000 rows: an
archive of `apply` has files of half an hour. Reading it the first time is printed per 1000 files.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from miml_core.archive.results import Result, schema
from miml_core.insights import Choice, activity, open_source
from miml_core.insights.aggregates import (
    accumulation,
    class_sites,
    co_occurrence,
    per_clip,
    probability_histogram,
    site_days,
)
from miml_core.insights.detections import Detections
from miml_core.insights.report import make_report

N_DETECTIONS = 10_000_000
ROWS_PER_FILE = 2000
N_CLASSES, N_SITES, N_DAYS = 80, 20, 250
CLIP_SECONDS, CLIPS_PER_FILE = 10.0, 1000
MODEL = "0123456789abcdef"


def run(detections: int = N_DETECTIONS) -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["BAGTAG_STATE"] = str(Path(name) / "state")
        archive = Path(name) / "archive"
        n_files = write_archive(archive, detections)
        begin = time.perf_counter()
        source = open_source(archive=archive)
        first = time.perf_counter() - begin
        print(
            f"first reading of {detections:,} detections: {first:.1f} s, {1000 * first / n_files:.2f} s per 1000 files"
        )
        begin = time.perf_counter()
        source = open_source(archive=archive)
        print(f"opened again: {time.perf_counter() - begin:.2f} s")
        _measure(source)


def _measure(source: Detections) -> None:
    one = Choice("class 7", 0.5)
    bare = _seconds(lambda: source.count("SELECT count(*) FROM detections WHERE probability >= 0.5", one))
    print(f"bare count(*) of the probable ones: {bare:.3f} s")
    aggregates: dict[str, Callable[[], Any]] = {
        "activity of a class": lambda: activity(source, choice=one),
        "activity of all classes": lambda: activity(source, None, 0.5),
        "sites and days": lambda: site_days(source, one),
        "classes and sites": lambda: class_sites(source, one),
        "accumulation": lambda: accumulation(source, one),
        "co-occurrence": lambda: co_occurrence(source, one),
        "histogram of a class": lambda: probability_histogram(source, one),
        "per clip": lambda: per_clip(source, one),
        "whole report": lambda: make_report(source, Choice(threshold=0.5)),
    }
    for name, count in aggregates.items():
        seconds = _seconds(count)
        print(f"{name:26} {seconds:6.3f} s  {seconds / bare:5.1f} x the bare count")


def _seconds(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return min(taken)


def write_archive(archive: Path, detections: int) -> int:
    """Write random detections; return the number of files per table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    classes = [f"class {k}" for k in range(N_CLASSES)]
    weights = 1 / np.arange(1, N_CLASSES + 1)
    (archive / "models").mkdir(parents=True)
    (archive / "models" / f"{MODEL}.bagtag").write_bytes(b"")
    about = {"bagtag": json.dumps({"files": [], "classes": classes})}
    n_files = detections // ROWS_PER_FILE
    for number in range(n_files):
        day = np.datetime64("2024-01-01") + number // N_SITES % N_DAYS
        result = Result(f"site {number % N_SITES}", str(day), f"{MODEL}-{number}")
        begin = day.astype("datetime64[ms]") + rng.integers(0, 20 * 3_600_000)
        starts = CLIP_SECONDS * np.arange(CLIPS_PER_FILE)
        clip = np.sort(rng.integers(0, CLIPS_PER_FILE, ROWS_PER_FILE))
        start = starts[clip] + rng.uniform(0, CLIP_SECONDS, ROWS_PER_FILE)
        label = pa.DictionaryArray.from_arrays(
            rng.choice(N_CLASSES, ROWS_PER_FILE, p=weights / weights.sum()).astype(np.int32), classes
        ).cast(pa.string())
        probability = rng.beta(2, 1, ROWS_PER_FILE).astype(np.float32)
        file = f"survey/{result.site}/{number}.wav"
        tables = {
            "segments": {
                "file": [file] * ROWS_PER_FILE,
                "start": start,
                "end": start + 0.5,
                "low": np.full(ROWS_PER_FILE, 2000, np.float32),
                "high": np.full(ROWS_PER_FILE, 4000, np.float32),
                "class": label,
                "probability": probability,
                "second": label,
                "second_probability": 1 - probability,
                "clip_start": starts[clip],
                "clip_end": starts[clip] + CLIP_SECONDS,
                "time": begin + (1000 * start).astype("timedelta64[ms]"),
                "model": [MODEL] * ROWS_PER_FILE,
            },
            "clips": {
                "file": [file] * CLIPS_PER_FILE,
                "start": starts,
                "end": starts + CLIP_SECONDS,
                "tags": pa.array([[0.5, 0.5]] * CLIPS_PER_FILE, pa.list_(pa.float32())),
                "segments": np.full(CLIPS_PER_FILE, 2, np.int32),
                "time": begin + (1000 * starts).astype("timedelta64[ms]"),
                "utc_offset": np.zeros(CLIPS_PER_FILE, np.int16),
                "model": [MODEL] * CLIPS_PER_FILE,
            },
        }
        for table, columns in tables.items():
            path = result.path(archive, table)
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns, schema=schema(table)).replace_schema_metadata(about), path)
    return n_files
