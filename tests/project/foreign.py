"""Rows of jobs as a project of somebody else may have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from miml_core.project import Project

EXPORT = {"format": "csv", "what": "all"}


def add_job(project: Project, kind: str, params: Any, **values: Any) -> int:
    """Insert a job that this installation has no record of; return its number."""
    row = {
        "kind": kind,
        "lane": {"export": "export", "train": "model"}.get(kind, "files"),
        "params": params if isinstance(params, str) else json.dumps(params),
        "state": "queued",
        "message": "waiting",
        "created_at": 1.0,
        "annotator": "Eve",
        **dict.fromkeys(("done", "total", "cancel"), 0),
        **dict.fromkeys(("info", "result"), "{}"),
        **values,
    }
    with project.store.write() as connection:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        connection.exec_driver_sql(f"INSERT INTO jobs ({names}) VALUES ({marks})", tuple(row.values()))
        return int(connection.exec_driver_sql("SELECT max(id) FROM jobs").scalar_one())


def make_trap(folder: Path, target: Path) -> None:
    """Make a project whose class is a line of Python and whose queue has an export of it to `target`."""
    with Project.create(folder) as project:
        project.edits.add_class("import os; os.system('touch owned')")
        add_job(project, "export", {**EXPORT, "path": str(target)})
