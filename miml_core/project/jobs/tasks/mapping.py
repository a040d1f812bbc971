"""Compute the map of a project's segments."""

from __future__ import annotations

from typing import Any

from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.tasks import describing
from miml_core.project.similarity.segment_map import make_map


def run(context: JobContext) -> dict[str, Any]:
    """Describe what is not described yet, then arrange all segments."""
    describing.describe_all(context)
    made = make_map(context.store, context.report)
    return {"message": f"arranged {len(made.segment_ids)} segments", "segments": len(made.segment_ids)}
