"""Merge another annotator's copy: open it without changing it, and make the plan."""

from __future__ import annotations

from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.project.db.database_file import DATABASE
from miml_core.project.db.store import Store
from miml_core.project.edits.merge_plan import make_merge_plan
from miml_core.project.edits.merge_records import MergePlan
from miml_core.project.packing.opening import open_copy


def preview(store: Store, other: Path) -> MergePlan:
    """Return what merging a project folder or a packed file would do; changes neither project.

    Raises
    ------
    BagtagError
        It is no project, is damaged, or is the project itself.
    """
    if not other.exists():
        raise BagtagError(f"There is no {str(other)!r}; give the folder of a project, or a packed project.")
    if other.is_dir() and (other / DATABASE).exists() and (other / DATABASE).samefile(store.path):
        raise BagtagError(f"{str(other)!r} is the project itself; give the copy of another annotator.")
    with open_copy(other) as copy, copy.read() as theirs, store.read() as ours:
        return make_merge_plan(ours, theirs)
