"""The map of 10 000 and of 50 000 segments: seconds of one core for each step of its job, and bytes of the chart.

The job runs beside the work of people, so its time is of comfort only; the chart's size is what the browser has to load
when the page opens. Aim: 50 000 segments in five minutes and 2 MB.
"""

from __future__ import annotations

import time

import numpy as np

from miml_core.project.similarity.layout import map_of, n_neighbours, nearest_neighbours
from miml_core.project.similarity.segment_map import MOST_SEGMENTS, MapState, SegmentMap
from miml_core.project.similarity.unnamed import find_clusters
from pages.widgets.map.chart import doubt_trace

N_COLUMNS = 64
N_KINDS = 40


def run() -> None:
    """Print the figures."""
    for n in (10_000, MOST_SEGMENTS):
        rng = np.random.default_rng(0)
        kinds = rng.normal(size=(N_KINDS, N_COLUMNS))
        vectors = (kinds[rng.integers(N_KINDS, size=n)] + 0.8 * rng.normal(size=(n, N_COLUMNS))).astype(np.float32)
        began = time.process_time()
        neighbours, distances = nearest_neighbours(vectors, n_neighbours(n))
        compared = time.process_time()
        places = map_of(vectors, neighbours, distances)
        arranged = time.process_time()
        clusters = find_clusters(places)
        ended = time.process_time()
        print(
            f"{n} segments: neighbours {compared - began:.0f} s, map {arranged - compared:.0f} s, {clusters.max() + 1} "
            f"clusters {ended - arranged:.0f} s; chart {_chart_bytes(places, clusters) / 1e6:.1f} MB",
            flush=True,
        )


def _chart_bytes(places: np.ndarray, clusters: np.ndarray) -> int:
    import plotly.graph_objects as go

    n = len(places)
    ids = np.arange(1, n + 1)
    made = SegmentMap(ids, places, clusters, n, 0.0, "key")
    zeros, ones = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    state = MapState(ones > 0, ids, zeros, ones, np.full(n, 0.5))
    return len(go.Figure(doubt_trace(made, state)).to_json())
