"""Learn the segmenter from what people kept, drew and deleted."""

from __future__ import annotations

from miml_core.project import Project


def learn_segmenter(project: Project) -> None:
    """Offered once there are edits to learn from."""
