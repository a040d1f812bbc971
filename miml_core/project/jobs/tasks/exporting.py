"""Export to a file or a folder."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, select

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS, Format, SegmentRow
from miml_core.exchange.cutouts import CutOuts
from miml_core.exchange.provenance import side_file_bytes, side_file_of
from miml_core.plurals import counted
from miml_core.project.db import settings
from miml_core.project.db.schema import bags, media
from miml_core.project.db.schema import jobs as jobs_table
from miml_core.project.instances import resegment
from miml_core.project.jobs import queue as job_queue
from miml_core.project.jobs.context import JobContext
from miml_core.project.jobs.export_targets import TargetCheck, resolve_target
from miml_core.project.media import files as media_files
from miml_core.project.queries import export_provenance, export_rows

_POLL_SECONDS = 0.2
_BAG_OF_FILE = (
    select(media.c.path, func.min(bags.c.id)).join(media, media.c.id == bags.c.media_id).group_by(media.c.path)
)
"""The path of each media file, and a bag of it."""


def run(context: JobContext) -> dict[str, Any]:
    """Write the chosen segments in a format, with a side file about the export."""
    chosen, bag_ids = _format(context), _bag_ids(context.params)
    target = resolve_target(_path(context.params))
    params = {**context.params, "what": context.params.get("what", "confirmed" if chosen.only_checked else "predicted")}
    _wait_for_segments(context)
    with context.store.read() as connection:
        rows = _collect(context, params, connection, chosen, bag_ids)
        missing = _count_missing(connection, params, bag_ids)
        facts = export_provenance.facts_of_project(connection)
        stored_paths = [medium.path for medium in media_files.all_media(connection)]
    media_paths = [media_files.real_path(context.store.folder, path) for path in stored_paths]
    side_file = side_file_of(target, is_file=chosen.is_one_file(target))
    check = TargetCheck(context.store.folder, chosen, media_paths, side_file)

    def check_and_report(path: Path) -> None:
        if isinstance(chosen, CutOuts):
            context.check()  # it reports by itself, also inside a zip archive
        else:
            context.report(len(rows), len(rows), f"writing {path.name}")
        check(path)

    def describe() -> bytes:
        written = chosen.written if isinstance(chosen, CutOuts) else rows
        about = {**export_provenance.facts_of_choice(params), **export_provenance.facts_of_rows(written)}
        return side_file_bytes({**facts, **about, "bags_without_segments": missing, **chosen.describe(written)})

    files = chosen.write(rows, target, check=check_and_report, side_file=(side_file, describe))
    installation.record_exports(context.store.folder, files)
    n_written = len(chosen.written) if isinstance(chosen, CutOuts) else len(rows)
    message = f"wrote {counted(n_written, 'segment')} to {params['path']}"
    if isinstance(chosen, CutOuts):
        message += _left_out(chosen, len(rows))
    if missing:
        noun = "bag" if missing == 1 else "bags"
        message += f"; segments of {missing} {noun} are missing or out of date: detect them and export again"
    source = "".join(facts["licences"])
    if source:
        message += f"; predictions are based on {source}"
    counts = {"rows": n_written, "missing": missing}
    return {"message": message, "files": [str(path) for path in files], **counts, "based_on": source}


def _left_out(chosen: CutOuts, n_rows: int) -> str:
    """Return the part of a message about segments that were not cut out."""
    kinds = ", ".join(f"{n} {what}" for what, n in chosen.left_out.items())
    n_failed = n_rows - len(chosen.written) - chosen.left_out.total()
    failed = f"; {n_failed} could not be cut out, see the list of problems" if n_failed else ""
    return failed + (f"; left out: {kinds}" if kinds else "")


def _format(context: JobContext) -> Format:
    params = context.params
    name = params.get("format")
    if not isinstance(name, str) or name not in FORMATS:
        raise BagtagError(f"There is no format called {name!r}; there are {', '.join(FORMATS)}.")
    chosen = FORMATS[name]
    if not isinstance(chosen, CutOuts):
        return chosen
    with context.store.read() as connection:
        channel = settings.instance_settings(connection).channel
        bag_of_file = {str(path): int(bag_id) for path, bag_id in connection.execute(_BAG_OF_FILE)}

    def find(file: str) -> Path:
        with context.store.read() as connection:
            return media_files.path_of_bag(connection, context.store.folder, bag_of_file[file])

    def progress(step: int, of: int, info: Mapping[str, float]) -> bool:
        context.report(step, of, "cutting out segments")
        return False

    options = {name: params[name] for name in ("padding", "rate") if params.get(name) is not None}
    return type(chosen)(find, channel=channel, on_failure=context.fail, progress=progress, **options)


def _path(params: dict[str, Any]) -> Path:
    path = params.get("path")
    if not isinstance(path, str) or not Path(path).is_absolute():
        raise BagtagError(f"An export needs the full path of a file or folder, not {path!r}.")
    return Path(path)


def _bag_ids(params: dict[str, Any]) -> list[int] | None:
    wanted = params.get("bags")
    if wanted is not None and not (isinstance(wanted, list) and all(isinstance(each, int) for each in wanted)):
        raise BagtagError(f"The bags of an export are a list of numbers, not {wanted!r}.")
    return wanted


def _collect(
    context: JobContext, params: dict[str, Any], connection: Connection, chosen: Format, bag_ids: list[int] | None
) -> list[SegmentRow]:
    total = int(connection.execute(select(func.total(bags.c.n_segments))).scalar() or 0)
    rows: list[SegmentRow] = []
    for row in export_rows.iter_rows(
        connection,
        params["what"],
        min_probability=_probability(params.get("min_probability", 0.0)),
        bag_ids=bag_ids,
        outlines=chosen.needs_outlines,
        only=_filter(params),
    ):
        rows.append(row)
        context.report(len(rows), total, "collecting segments")
    return rows


def _filter(params: dict[str, Any]) -> export_rows.RowFilter:
    days = {name: params.get(name, "") for name in ("since", "until", "site")}
    return export_rows.RowFilter(classes=frozenset(params.get("classes", [])), **days)


def _probability(value: Any) -> float:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise BagtagError(f"The lowest probability of an export is a number from 0 to 1, not {value!r}.")
    return float(value)


def _count_missing(connection: Connection, params: dict[str, Any], bag_ids: list[int] | None) -> int:
    """Count the bags whose segments are not detected, or with earlier settings; 0 if only labels are exported."""
    if params["what"] in ("confirmed", "accepted"):
        return 0
    return len(resegment.scope_bags(connection, bag_ids, scope="stale", again=False))


def _wait_for_segments(context: JobContext) -> None:
    """Wait while segments are detected or described: an export between two bags would mix old and new ones."""
    while _is_detecting(context):
        context.report(0, 0, "waiting until segments are detected")
        time.sleep(_POLL_SECONDS)
        job_queue.update_jobs(context.store)  # or it would wait for a worker that died


def _is_detecting(context: JobContext) -> bool:
    """Return whether a job of the files lane runs, or one that the user started before this export is queued."""
    with context.store.read() as connection:
        active = connection.execute(
            select(jobs_table).where(
                jobs_table.c.lane == job_queue.LANES["segment"], jobs_table.c.state.in_(["queued", "running"])
            )
        ).all()
    return any(
        job.state == "running"
        or (
            job.id < context.job_id
            and installation.is_own_job(context.store.folder, job.id, job.kind, json.loads(job.params))
        )
        for job in active
    )
