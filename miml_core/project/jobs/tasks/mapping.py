"""Compute the map of a project's segments."""

from __future__ import annotations

from typing import Any

from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import computing_features
from miml_core.project.similarity.segment_map import make_map


def run(context: JobContext) -> dict[str, Any]:
    """Compute missing features, then the map of all segments."""
    computing_features.describe_all(context)
    made = make_map(context.store, context.progress)
    return {"message": f"computed the map of {len(made.segment_ids)} segments", "segments": len(made.segment_ids)}
