"""Archives of random results, written as `bagtag apply` writes them, and their rows to count by brute force."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from miml_core.archive.results import Result, schema

MODEL = "0123456789abcdef"
CLASSES = ["wren", "Robin'); DROP TABLE detections; --", "$label {chosen} %s", "<b>owl</b>", "never heard"]
SITES = ["marsh", "hill' OR 1=1 --"]


def write_result(archive: Path, result: Result, clips: list[dict], segments: list[dict]) -> None:
    """Write the tables of a result."""
    about = json.dumps({"files": [], "classes": CLASSES})
    for name, rows in (("segments", segments), ("clips", clips)):
        path = result.path(archive, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist([{**row, "model": MODEL} for row in rows], schema=schema(name))
        pq.write_table(table.replace_schema_metadata({"bagtag": about}), path)


def make_archive(archive: Path, seed: int = 0, n_files: int = 24, clip: float = 40.0) -> dict[str, list[dict]]:
    """Write random recordings of two sites, some across midnight, without a time, or silent; return all rows."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[dict[str, Any]]] = {"clips": [], "segments": []}
    (archive / "models").mkdir(parents=True)
    (archive / "models" / f"{MODEL}.bagtag").write_bytes(b"")
    for number in range(n_files):
        site = SITES[int(rng.integers(len(SITES)))]
        begin = datetime(2024, 5, 1) + timedelta(minutes=int(rng.integers(0, 4 * 24 * 60)), seconds=7)
        if number % 6 == 0:
            begin = begin.replace(hour=23, minute=59)
        known = number % 5 != 4
        offset = [None, 0, 120][number % 3]
        by_day: dict[str, tuple[list, list]] = {}
        for start in np.arange(0.0, 5 * clip, clip).tolist():
            time = begin + timedelta(seconds=start) if known else None
            where = {"file": f"survey/{site}/{number}.wav", "site": site}
            n = 0 if number % 7 == 3 else int(rng.integers(0, 5))
            first = {"start": start, "end": start + clip, "time": time, "utc_offset": offset}
            clips, segments = by_day.setdefault(str(time.date()) if time else "unknown", ([], []))
            clips.append({**where, **first, "tags": [0.0] * len(CLASSES), "segments": n})
            for left in rng.uniform(start, start + clip, n).tolist():
                label = CLASSES[int(rng.integers(4))] if rng.random() < 0.85 else None
                segments.append(
                    {
                        **where,
                        "start": left,
                        "end": left + 1,
                        "low": 1000.0,
                        "high": 2000.0,
                        "class": label,
                        "probability": float(np.float32(rng.random())),
                        "second": None,
                        "second_probability": 0.0,
                        "clip_start": start,
                        "clip_end": start + clip,
                        "time": begin + timedelta(seconds=left) if known else None,
                    }
                )
        for day, (clips, segments) in by_day.items():
            write_result(archive, Result(site, day, f"{MODEL}-{number}"), clips, segments)
            rows["clips"] += clips
            rows["segments"] += segments
    return rows
