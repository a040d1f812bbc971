"""Rows of jobs as somebody else's project may hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from miml_core.project import Project

EXPORT = {"format": "csv", "what": "all"}


def add_job(project: Project, kind: str, params: Any, **values: Any) -> int:
    """Write a job into the table of jobs, past everything that makes a job ours; returns its number."""
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
    """A project whose class is a line of Python and whose queue holds an export of it to `target`."""
    with Project.create(folder) as project:
        project.add_class("import os; os.system('touch owned')")
        add_job(project, "export", {**EXPORT, "path": str(target)})
