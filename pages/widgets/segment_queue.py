"""Which bags the segment page goes through: all, in the order they were added."""

from __future__ import annotations

from miml_core.project import Project
from pages.widgets.current_bag import asked_bag, current_bag
from pages.widgets.steady_queue import steady_queue


def bags_to_segment(project: Project) -> tuple[list[int], int]:
    """All bags, and the one to show."""
    n_bags = project.progress().n_bags
    bags = steady_queue("segment", (str(project.folder), n_bags), project.bag_ids)
    asked_bag(project)
    return bags, current_bag(project, bags)
