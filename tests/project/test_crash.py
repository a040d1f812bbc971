"""Nothing acknowledged is ever lost: processes killed at any moment, many writers at once, a full disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.db.schema import edits
from miml_core.project.errors import NotSaved
from miml_core.project.jobs import launch
from tests.conftest import PATIENCE
from tests.project import processes
from tests.project.conftest import add_bags
from tests.project.job_stages import Forked, do
from tests.project.sounds import write_recordings
from tests.project.test_learn_segmenter import judge_all

_KILLS = 100


def stored_edits(project: Project) -> list[tuple[str, int]]:
    """Return (nonce, number) in the order in which they were stored."""
    with project.store.read() as connection:
        return [tuple(row) for row in connection.execute(select(edits.c.nonce, edits.c.number).order_by(edits.c.at))]


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_that_was_acknowledged(small: Project) -> None:
    folder, n_bags = small.folder, 2
    small.close()
    rng = np.random.default_rng(11)
    acknowledged = 0
    for kill in range(_KILLS):
        ours, theirs = processes.pipe()
        writer = processes.start(processes.write_forever, str(folder), f"writer {kill}", n_bags, theirs)
        theirs.close()
        for _ in range(rng.geometric(0.1)):
            last = ours.recv()
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        for number in _rest(ours):
            last = number
        acknowledged += last + 1
        with closing(sqlite3.connect(folder / "project.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        with Project.open(folder) as project:
            numbers = [number for nonce, number in stored_edits(project) if nonce == f"writer {kill}"]
            assert numbers == list(range(len(numbers))), "nothing in between is missing"
            assert last + 1 <= len(numbers) <= last + 2, "at most one was stored but not reported yet"
    with Project.open(folder) as project:
        expected: dict[int, dict[int, int]] = {1: {}, 2: {}}
        for _, number in stored_edits(project):
            act = processes.edit(number, n_bags)
            expected[act["bag"]][act["class"]] = act["value"]
        for bag_id, tags in expected.items():
            assert project.bags.get(bag_id).tags == {c: v for c, v in tags.items() if v}
        assert project.check() == []
    assert acknowledged > _KILLS


@pytest.mark.slow
def test_kills_between_edits_of_all_kinds_leave_a_whole_project(small: Project) -> None:
    """Corrections, drawn segments and undo change several tables: all of an edit is stored, or nothing."""
    folder = small.folder
    small.close()
    rng = np.random.default_rng(12)
    for kill in range(_KILLS // 4):
        ours, theirs = processes.pipe()
        writer = processes.start(processes.mix_forever, str(folder), f"mixed {kill}", theirs)
        theirs.close()
        for _ in range(rng.geometric(0.1)):
            last = ours.recv()
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        last = max([last, *_rest(ours)])
        with Project.open(folder) as project:
            numbers = [number for nonce, number in stored_edits(project) if nonce == f"mixed {kill}"]
            assert numbers == list(range(len(numbers))) and last + 1 <= len(numbers) <= last + 2
            assert project.check() == []


def _rest(connection: processes.Connection) -> Iterator[int]:
    try:
        while True:
            yield connection.recv()
    except (EOFError, OSError):
        return


@pytest.mark.slow
def test_many_writers_at_once_lose_nothing_and_nobody_is_refused(project: Project) -> None:
    n_threads, n_processes, n_edits = 8, 2, 25
    bags = add_bags(project, n_threads + n_processes, n_segments=1)
    for name in ("Wren", "Robin", "Owl"):
        project.edits.add_class(name)
    receivers = []
    for k in range(n_processes):
        ours, theirs = processes.pipe()
        processes.start(processes.write_some, str(project.folder), f"p{k}", n_edits, bags[n_threads + k], theirs)
        receivers.append(ours)
    errors: list[Exception] = []

    def tag_on(k: int) -> None:
        try:
            for number in range(n_edits):
                value = 1 - 2 * (number // 3 % 2)
                act = {"act": "tag", "bag": bags[k], "class": 1 + number % 3, "value": value}
                project.edits.apply_once(f"t{k}", number, act, annotator=f"t{k}")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=tag_on, args=(k,)) for k in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert [receiver.recv() for receiver in receivers] == [n_edits] * n_processes
    assert len(stored_edits(project)) == (n_threads + n_processes) * n_edits
    entries = project.edits.history(limit=10_000)
    assert len({entry.id for entry in entries if entry.act == "tag"}) == (n_threads + n_processes) * n_edits
    revisions = [project.bags.get(bag).revision for bag in bags]
    assert len(set(revisions)) == len(bags) and max(revisions) == project.revision
    for bag in bags:
        tags: dict[int, int] = {}
        for number in range(n_edits):
            tags[1 + number % 3] = 1 - 2 * (number // 3 % 2)
        assert project.bags.get(bag).tags == tags


def test_opening_a_project_twice_does_not_let_another_process_take_its_log_away(small: Project) -> None:
    for number in range(3):
        Project.open(small.folder).close()
        ours, theirs = processes.pipe()
        other = processes.start(processes.write_some, str(small.folder), f"other {number}", 1, 2, theirs)
        assert ours.recv() == 1
        other.join()
        small.edits.set_note(1, f"note {number}")
        ours, theirs = processes.pipe()
        processes.start(processes.read_note, str(small.folder), 1, theirs)
        assert ours.recv() == f"note {number}"


def test_a_full_disk_is_reported_and_breaks_nothing(small: Project) -> None:
    small.edits.tag(1, 1)
    before = small.bags.get(1).tags, len(small.edits.history())
    _limit_pages(small, 0)
    with pytest.raises(BagtagError, match=r"disk of .* is full: this was not saved"):
        for k in range(200):
            small.edits.set_note(1, "x" * 20_000 + str(k))
    note = small.bags.get(1).note
    _limit_pages(small, 1_000_000)
    assert small.bags.get(1).tags == before[0]
    assert small.bags.get(1).note == note
    assert small.check() == []
    small.edits.tag(2, 2)
    assert small.bags.get(2).tags == {2: 1}


def test_a_full_disk_ends_the_import_of_a_table(small: Project) -> None:
    """The line is not at fault, and the next line would fail too."""
    table = small.folder / "tags.csv"
    names = ";".join(f"{'x' * 150}{number}" for number in range(60))
    table.write_text(f"file,tags\nclip 0.wav,{names}\n")
    small.edits.import_tags(table)
    table.write_text(f"file,tags\nclip 1.wav,{names}\nclip 0.wav,Wren\n")
    _limit_pages(small, 0)
    with pytest.raises(NotSaved, match="is full"):
        small.edits.import_tags(table)
    _limit_pages(small, 1_000_000)
    assert small.check() == []
    assert len(small.bags.get(1).tags) == 60 and small.bags.get(2).tags == {}, "nothing of the table was stored"
    assert small.edits.import_tags(table).n_bags == 2


def _limit_pages(project: Project, more: int) -> None:
    """Limit every connection of the project to `more` new pages, like a full disk."""
    from sqlalchemy import event

    project.store.close()

    def limit(connection: sqlite3.Connection, _: object) -> None:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + more}")

    event.listen(project.store._engine, "connect", limit)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs a limit on the size of files")
def test_a_file_size_limit_is_reported_and_breaks_nothing(small: Project) -> None:
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    small.edits.tag(1, 1)
    largest = max(path.stat().st_size for path in small.folder.glob("project.db*"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
    try:
        with pytest.raises(BagtagError, match="not saved"):
            for k in range(200):
                small.edits.set_note(1, "x" * 50_000 + str(k))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert small.bags.get(1).tags == {1: 1}
    assert small.check() == []
    small.edits.tag(2, 2)


def test_a_project_that_becomes_read_only_is_reported_and_breaks_nothing(small: Project) -> None:
    from sqlalchemy import event

    small.edits.tag(1, 1)
    small.store.close()

    def forbid(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA query_only = ON")

    event.listen(small.store._engine, "connect", forbid)
    with pytest.raises(BagtagError, match="read-only"):
        small.edits.tag(2, 2)
    assert small.bags.get(1).tags == {1: 1} and small.bags.get(2).tags == {}
    event.remove(small.store._engine, "connect", forbid)
    small.store.close()
    small.edits.tag(2, 2)
    assert small.bags.get(2).tags == {2: 1} and small.check() == []


@pytest.mark.slow
def test_a_killed_learning_of_the_segmenter_changes_nothing_and_can_be_run_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workers = Forked()
    monkeypatch.setattr(launch, "start_worker", workers.start_worker)
    write_recordings(tmp_path / "sound", 12)
    do(project, "import", {"paths": [str(tmp_path / "sound")]})
    do(project, "segment", {"processes": 1})
    project.edits.add_class("Wren")
    judge_all(project, project.bags.ids())
    before = project.settings
    workers.hold_at = 1
    job = project.jobs.start("learn-segmenter")
    os.kill(workers.wait_for_step(1), signal.SIGKILL)
    workers.started[-1][0].join()
    workers.hold_at = None
    assert project.jobs.get(job.id).state == "dead" and project.settings == before
    assert not [problem for problem in project.check() if problem.kind != "leftover"]
    assert project.jobs.wait(project.jobs.restart(job.id).id, timeout=PATIENCE).state == "done"
    assert project.settings.learned_segmenter == "segmenters/1.npz"


def test_a_project_half_made_is_none(tmp_path: Path) -> None:
    (tmp_path / "project.db.new").write_bytes(b"half")
    with Project.create(tmp_path) as project:
        assert project.check() == []
