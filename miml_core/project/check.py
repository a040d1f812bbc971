"""Check the integrity of a project, and repair what can be repaired.

Each check is a function that yields what it found, with a repair where there is one. Repairs compute stored numbers
again and remove what belongs to nothing. The database is backed up before the first repair, and rows of people's work
that cannot stay in their tables are kept in a file (`removed_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from sqlalchemy import ColumnElement, Connection, Integer, cast, delete, func, insert, select, text

from miml_core.errors import BagtagError
from miml_core.plurals import counted
from miml_core.project.db import backups, counters, revisions, settings
from miml_core.project.db.database_file import DATABASE
from miml_core.project.db.own_folders import find_own_folder
from miml_core.project.db.removed_rows import RemovedRows
from miml_core.project.db.schema import BY_EYE, bags, features, predictions, segments, tags, verdicts
from miml_core.project.db.schema import bag_predictions as blocks
from miml_core.project.db.schema import media as media_table
from miml_core.project.db.schema import runs as runs_table
from miml_core.project.db.store import Store
from miml_core.project.jobs import queue as job_queue
from miml_core.project.learning import review_index, training_runs
from miml_core.project.media import access as media_access
from miml_core.project.media import state as media_state
from miml_core.project.queries.prediction_blocks import IMPORTED
from miml_core.project.records import Problem
from miml_core.segments.regions import Region

Repair = Callable[[], object]
Finding = tuple[Problem, Repair | None]

_OF_PEOPLE = ("tags", "verdicts", "segments", "history", "classes", "bags")
"""Tables whose rows may be a person's work."""
_MAY_BE_EMPTY = {("history", "target"), ("bags", "grid_id"), ("classes", "merged_into")}
"""References that may be null. (Not that of a verdict to its class: null means background there.)"""


def check(store: Store, *, repair: bool = False) -> list[Problem]:
    """Return all findings; with `repair`, those repaired are marked, with the file that keeps removed rows."""
    damaged = _damaged(store)
    if damaged is not None:  # other checks and repairs need a readable database
        return [damaged]
    findings: list[Problem] = []
    backed_up = False
    looks = (_references, _files, _labels, _shapes, _features, _counters, _runs, _blocks, _queue, _leftovers)
    for look in looks:
        for problem, mend in look(store):
            if repair and mend is not None:
                if not backed_up:
                    store.backup_before("before-repair")
                    backed_up = True
                kept = mend()
                kept_sentence = kept if isinstance(kept, str) else ""
                problem = replace(problem, repaired=True, sentence=problem.sentence + kept_sentence)
            findings.append(problem)
    return findings


def _damaged(store: Store) -> Problem | None:
    with store.read() as connection:
        found = [row[0] for row in connection.exec_driver_sql("PRAGMA integrity_check(10)")]
    if found == ["ok"]:
        return None
    what = f"The database is damaged ({' '.join(str(found[0]).split())}) and cannot be repaired."
    return Problem("damaged", what + backups.advice(store.folder), False)


def _references(store: Store) -> Iterator[Finding]:
    with store.read() as connection:
        orphans = _orphans(connection)
    if orphans:
        many = counted(len(orphans), "row refers", "rows refer")
        yield Problem("orphan", f"{many} to rows that no longer exist.", True), partial(_remove_orphans, store)
    with store.read() as connection:
        unused = select(func.count()).select_from(media_table).where(media_table.c.id.not_in(select(bags.c.media_id)))
        n_unused = connection.execute(unused).scalar()

    def forget() -> None:
        with store.write() as connection:
            connection.execute(delete(media_table).where(media_table.c.id.not_in(select(bags.c.media_id))))

    if n_unused:
        yield Problem("orphan", f"{counted(n_unused, 'file has', 'files have')} no bag.", True), forget


def _orphans(connection: Connection) -> list[tuple[str, int, str, str]]:
    """Return (table, row id, column, table it refers to) of rows that refer to a row that does not exist."""
    found = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
    columns = {}
    for table in {row[0] for row in found}:
        for key in connection.exec_driver_sql(f'PRAGMA foreign_key_list("{table}")'):
            columns[table, key[0]] = key[3]
    return sorted((table, row_id, columns[table, key], parent) for table, row_id, parent, key in found)


def _remove_orphans(store: Store) -> str:
    """Remove or correct rows that refer to nothing; those of people's work are kept in a file."""
    with store.write() as connection:
        removed = RemovedRows(connection, "They belong to a bag, segment, class or grid that no longer exists.")
        for table, row_id, column, parent in _orphans(connection):
            if parent == "media":  # the bag stays, with its tags and labels: only its file is unknown
                _add_missing_file(connection, row_id)
            elif (table, column) in _MAY_BE_EMPTY:
                removed.keep(table, "rowid = ?", [row_id])
                also = ", removed = 1" if table == "classes" else ""
                connection.exec_driver_sql(f'UPDATE "{table}" SET "{column}" = NULL{also} WHERE rowid = ?', (row_id,))
            else:
                if table == "segments":
                    removed.keep("verdicts", "segment_id = ?", [row_id])
                    connection.exec_driver_sql("DELETE FROM verdicts WHERE segment_id = ?", (row_id,))
                if table in _OF_PEOPLE:
                    removed.keep(table, "rowid = ?", [row_id])
                connection.exec_driver_sql(f'DELETE FROM "{table}" WHERE rowid = ?', (row_id,))
        counters.refresh_all(connection)
        revisions.advance(connection, changed_bags=connection.execute(select(bags.c.id)).scalars())
        return removed.write(store.folder)


def _add_missing_file(connection: Connection, bag_id: int) -> None:
    """Add a missing file for a bag whose row in `media` does not exist."""
    bag = connection.execute(select(bags.c.media_id, bags.c.name).where(bags.c.id == bag_id)).one()
    connection.exec_driver_sql(
        "INSERT OR IGNORE INTO media (id, path, size, fingerprint, missing) VALUES (?, ?, 0, '', 1)",
        (bag.media_id, f"lost file {bag.media_id} {bag.name}"),
    )


def _files(store: Store) -> Iterator[Finding]:
    media_state.refresh(store)
    with store.read() as connection:
        rows = connection.execute(select(media_table.c.path, media_state.STORED_STATE.label("state"))).all()
    for path, state in rows:
        if state == media_state.MISSING:
            sentence = f"The file {path!r} is missing; choose its new folder on the Library page."
            yield Problem("missing", sentence, False), None
        if state == media_state.CHANGED:
            sentence = (
                f"The file {path!r} has changed since it was added. Put the original back, or accept the new file with "
                "`check --accept-changed` or on the Library page."
            )
            yield Problem("changed", sentence, False), None
    for blocked in media_access.blocked_folders(store):
        sentence = f"The folder of {counted(blocked.n_files, 'file')} of this project, {blocked.folder!r}, "
        sentence += (
            "was not chosen on this computer. Allow it with `check --allow`, or on the Library page."
            if blocked.may_be_allowed
            else "is a system folder; nothing in it is opened."
        )
        yield Problem("not-allowed", sentence, False), None


def _labels(store: Store) -> Iterator[Finding]:
    with store.read() as connection:
        untagged = connection.execute(
            select(segments.c.bag_id, verdicts.c.class_id)
            .join(verdicts, verdicts.c.segment_id == segments.c.id)
            .outerjoin(tags, (tags.c.bag_id == segments.c.bag_id) & (tags.c.class_id == verdicts.c.class_id))
            .where(segments.c.alive, verdicts.c.class_id.is_not(None), func.coalesce(tags.c.value, 0) <= 0)
            .where(verdicts.c.checked_by == BY_EYE)
            .distinct()
        ).all()

    def tag() -> str:
        with store.write() as connection:
            removed = RemovedRows(
                connection, "Segments of the bag have the label of a class that these tags call absent."
            )
            for bag_id, class_id in untagged:
                removed.keep("tags", "bag_id = ? AND class_id = ? AND value < 0", [bag_id, class_id])
                connection.execute(delete(tags).where(tags.c.bag_id == bag_id, tags.c.class_id == class_id))
                connection.execute(insert(tags).values(bag_id=bag_id, class_id=class_id, value=1))
            changed = [row.bag_id for row in untagged]
            counters.refresh(connection, changed)
            revisions.advance(connection, changed_bags=changed)
            return removed.write(store.folder)

    if untagged:
        yield (
            Problem(
                "labels", f"{counted(len(untagged), 'label is', 'labels are')} not among the tags of the bag.", True
            ),
            tag,
        )


def _features(store: Store) -> Iterator[Finding]:
    with store.read() as connection:
        broken = list(
            connection.execute(
                select(features.c.bag_id).where(
                    func.length(features.c.numbers) * 2 != func.length(features.c.segment_ids) * features.c.n_features
                )
            ).scalars()
        )

    def forget() -> None:
        with store.write() as connection:
            connection.execute(delete(features).where(features.c.bag_id.in_(broken)))

    if broken:
        yield Problem("features", f"The features of {counted(len(broken), 'bag')} are incomplete.", True), forget


def _counters(store: Store) -> Iterator[Finding]:
    with store.read() as connection:
        wrong = counters.n_wrong(connection)

    def count() -> None:
        with store.write() as connection:
            counters.refresh_all(connection)

    if wrong:
        yield (
            Problem("counters", f"The counts stored with {counted(wrong, 'bag')} (segments, tags) are wrong.", True),
            count,
        )


def _shapes(store: Store) -> Iterator[Finding]:
    stored = select(segments.c.number, segments.c.region, bags.c.name).join(bags, bags.c.id == segments.c.bag_id)
    with store.read() as connection:
        for number, region, bag_name in connection.execute(stored):
            try:
                Region.from_bytes(region)
            except (BagtagError, ValueError, TypeError):
                what = f"The shape of segment {number} of {bag_name!r} is damaged; draw it again."
                yield Problem("damaged", what + backups.advice(store.folder), False), None


def _blocks(store: Store) -> Iterator[Finding]:
    """Check that predictions have one number per segment and class."""
    with store.read() as connection:
        broken = connection.execute(
            select(blocks.c.run_id, blocks.c.bag_id)
            .join(runs_table, runs_table.c.id == blocks.c.run_id)
            .where(
                (func.length(blocks.c.posterior) * 4 != func.length(blocks.c.segment_ids) * _n_columns())
                | (func.length(blocks.c.free_top) * 4 != func.length(blocks.c.segment_ids))
                | (func.length(blocks.c.free_probability) * 4 != func.length(blocks.c.segment_ids))
            )
        ).all()

    def forget() -> None:
        with store.write() as connection:
            for run_id, bag_id in broken:
                connection.execute(delete(blocks).where(blocks.c.run_id == run_id, blocks.c.bag_id == bag_id))
                connection.execute(delete(predictions).where(predictions.c.bag_id == bag_id))
            counters.refresh_bags(connection, [bag_id for _, bag_id in broken])

    if broken:
        many = counted(len(broken), "bag")
        yield Problem("predictions", f"The predictions of {many} are incomplete; predict again.", True), forget


def _n_columns() -> ColumnElement[int]:
    return func.json_array_length(runs_table.c.classes) + cast(runs_table.c.background, Integer)


def _queue(store: Store) -> Iterator[Finding]:
    with store.read() as connection:
        current = settings.get(connection, "current_run")
        up_to_date = settings.get(connection, "summarised_run") == current and review_index.is_complete(connection)
    if current is not None and not up_to_date:
        problem = Problem("queue", "The review queue is not up to date with the current run.", True)
        yield problem, lambda: review_index.summarise_all(store)


def _runs(store: Store) -> Iterator[Finding]:
    job_queue.update_jobs(store)
    with store.read() as connection:
        columns = (runs_table.c.id, runs_table.c.state, runs_table.c.model)
        known = connection.execute(select(*columns).order_by(runs_table.c.id)).all()
        current = settings.get(connection, "current_run")
    imported = {run.id for run in known if run.model == IMPORTED}
    with_model = {run.id for run in known if run.state == "done" and training_runs.has_model(store, run.id)}
    usable = [run.id for run in known if run.id in imported | with_model]

    def choose_another() -> None:
        with store.write() as connection:
            settings.put(connection, "current_run", usable[-1] if usable else None)
            settings.put(connection, "summarised_run", None)
            revisions.advance(connection, changed_topics=["runs"])

    if current is not None and current not in {run.id for run in known}:
        yield Problem("run", f"The current run, number {current}, no longer exists.", True), choose_another
    for run in known:
        if run.state == "done" and run.id not in imported and not training_runs.has_model(store, run.id):
            yield Problem("model", f"The model file of run {run.id} is missing; train again.", False), None
    folder = find_own_folder(store.folder, "runs")  # a link may point to a folder that is not the project's
    ids = {str(run.id) for run in known}
    for stray in sorted(folder.iterdir()) if folder is not None else []:
        if stray.name not in ids:
            problem = Problem("leftover", f"runs/{stray.name} belongs to no run.", True)
            yield problem, partial(_move_run_to_backups, store, stray)


def _move_run_to_backups(store: Store, stray: Path) -> str:
    """Move the folder of an unknown run to the backups: after a restore it may be needed again."""
    target = backups.new_path(store.folder, f"run-{stray.name}", "")
    try:
        stray.rename(target)
    except OSError as error:
        reason = error.strerror or error
        raise BagtagError(f"{str(stray)!r} could not be moved to {str(target)!r}: {reason}.") from error
    return f" Moved to {backups.FOLDER}/{target.name}."


def _leftovers(store: Store) -> Iterator[Finding]:
    half = store.folder / (DATABASE + ".new")
    if half.exists():
        sentence = f"{half.name} is left over from a project that was never completed."
        yield Problem("leftover", sentence, True), half.unlink
    with store.read() as connection:
        known = set(connection.execute(text("SELECT id FROM jobs")).scalars())
    logs = find_own_folder(store.folder, "logs")
    for path in sorted(logs.glob("job-*.txt")) if logs is not None else []:
        number = path.stem.removeprefix("job-")
        if not number.isdigit() or int(number) not in known:
            yield Problem("leftover", f"logs/{path.name} does not belong to any job.", True), path.unlink
