"""A project that is deleted, replaced or moved while it is open: only edits in the file at its path are acknowledged.

Each test tries ten edits; SQLite itself stores them all in a file that nobody will ever see.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from miml_core.project import Project
from miml_core.project.db.database_file import FileConnection
from miml_core.project.errors import ProjectMoved
from tests.project import processes
from tests.project.conftest import add_bags

_TRIES = 10


def try_edits(project: Project, nonce: str = "after the move") -> list[int]:
    """Return the numbers of the edits that were acknowledged."""
    acknowledged = []
    for number in range(_TRIES):
        try:
            project.edits.apply_once(nonce, number, processes.edit(number, 2))
        except ProjectMoved:
            continue
        acknowledged.append(number)
    return acknowledged


def edits_in(database: Path) -> set[tuple[str, int]]:
    """Return (nonce, number) of all edits stored in a database that no process has open."""
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return set(connection.execute("SELECT nonce, number FROM edits"))


def delete_database(project: Project, _: Path) -> str:
    (project.folder / "project.db").unlink()
    return "deleted or moved"


def delete_folder(project: Project, _: Path) -> str:
    shutil.rmtree(project.folder)
    return "is gone"


def move_folder(project: Project, elsewhere: Path) -> str:
    project.folder.rename(elsewhere / "moved")
    return "is gone"


def move_to_another_disk(project: Project, elsewhere: Path) -> str:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == elsewhere.stat().st_dev:
        pytest.skip("needs a second file system")
    target = Path(tempfile.mkdtemp(dir=memory))
    try:
        shutil.move(project.folder, target / "moved")
    finally:
        shutil.rmtree(target)
    return "is gone"


def replace_by_a_copy(project: Project, elsewhere: Path) -> str:
    project.backup(elsewhere / "copy.db").rename(project.folder / "project.db")
    return "replaced"


def replace_by_another_project(project: Project, elsewhere: Path) -> str:
    with Project.create(elsewhere / "another") as another:
        add_bags(another, 2)
        for name in ("Wren", "Robin", "Owl"):
            another.edits.add_class(name)
    (elsewhere / "another" / "project.db").rename(project.folder / "project.db")
    return "replaced"


def delete_the_log(project: Project, _: Path) -> str:
    (project.folder / "project.db-wal").unlink()
    return "project.db-wal"


def replace_the_log(project: Project, elsewhere: Path) -> str:
    shutil.copy(project.folder / "project.db-wal", elsewhere / "copy")
    (elsewhere / "copy").rename(project.folder / "project.db-wal")
    return "project.db-wal"


@pytest.mark.parametrize(
    "happen",
    [
        delete_database, delete_folder, move_folder, move_to_another_disk, replace_by_a_copy,
        replace_by_another_project, delete_the_log, replace_the_log,
    ],
)  # fmt: skip
def test_nothing_is_acknowledged_once_the_file_is_another(
    small: Project, tmp_path: Path, happen: Callable[[Project, Path], str]
) -> None:
    small.edits.tag(1, 1)
    words = happen(small, tmp_path)
    there = (small.folder / "project.db").exists()
    assert try_edits(small) == []
    with pytest.raises(ProjectMoved, match=words):
        _ = small.revision
    with pytest.raises(ProjectMoved, match=words):
        small.edits.tag(1, 2)
    small.close()
    assert (small.folder / "project.db").exists() == there, "none is made in its place"
    if there:
        assert edits_in(small.folder / "project.db") == set()
        with Project.open(small.folder) as opened_again:
            assert try_edits(opened_again) == list(range(_TRIES))
            assert opened_again.check() == []
        assert len(edits_in(small.folder / "project.db")) == _TRIES


@pytest.mark.parametrize("with_its_log", [True, False])
def test_edits_continue_when_the_file_is_put_back(small: Project, tmp_path: Path, with_its_log: bool) -> None:
    """What was not acknowledged meanwhile is sent again, and stored once."""
    files = [small.folder] if with_its_log else [small.folder / "project.db"]
    for file in files:
        file.rename(tmp_path / "aside")
    assert try_edits(small) == []
    (tmp_path / "aside").rename(files[0])
    assert try_edits(small) == list(range(_TRIES))
    assert small.check() == []


def test_acknowledged_edits_survive_the_deletion_of_the_log(small: Project) -> None:
    assert try_edits(small, "before") == list(range(_TRIES))
    delete_the_log(small, small.folder)
    assert try_edits(small) == []
    assert {number for nonce, number in edits_in(small.folder / "project.db") if nonce == "before"} == set(range(10))


def test_acknowledged_edits_follow_the_file_that_was_moved_away(small: Project, tmp_path: Path) -> None:
    """They are in the log of commits, which stays, and must not be replayed on the new file."""
    assert try_edits(small, "before") == list(range(_TRIES))
    copy = small.backup(tmp_path / "copy.db")
    small.edits.set_note(1, "later than the copy")
    (small.folder / "project.db").rename(tmp_path / "old.db")
    copy.rename(small.folder / "project.db")
    assert try_edits(small) == []
    with Project.open(small.folder) as another:
        assert another.bags.get(1).note == "" and another.check() == []
        assert try_edits(another) == list(range(_TRIES))
        small.close()
        assert another.check() == [], "closing the old file leaves the log of the new one alone"
        another.edits.set_note(1, "new")
    with closing(sqlite3.connect(tmp_path / "old.db")) as old:
        assert old.execute("SELECT note FROM bags WHERE id = 1").fetchone() == ("later than the copy",)


def test_a_replacement_between_the_check_and_the_commit_is_not_acknowledged(small: Project, tmp_path: Path) -> None:
    copy = small.backup(tmp_path / "copy.db")

    def replace_at_commit(_: object) -> None:
        if copy.exists():
            copy.rename(small.folder / "project.db")

    from sqlalchemy import event

    event.listen(small.store._engine, "commit", replace_at_commit)
    with pytest.raises(ProjectMoved, match="replaced"):
        small.edits.tag(1, 1)
    assert not copy.exists(), "it was replaced just before the commit"
    small.close()
    with Project.open(small.folder) as opened_again:
        assert opened_again.bags.get(1).tags == {}


def test_connections_made_at_different_times_have_the_same_file_open(small: Project, tmp_path: Path) -> None:
    """A second connection of the pool must not find the new file while the first one has the old."""
    with small.store.read():
        replace_by_another_project(small, tmp_path)
        with pytest.raises(ProjectMoved, match="replaced"):
            _ = small.revision


def test_no_connection_makes_an_empty_database(small: Project) -> None:
    with small.store.read():
        delete_database(small, small.folder)
        with pytest.raises(ProjectMoved, match="deleted"):
            _ = small.revision
    assert not (small.folder / "project.db").exists()


def test_the_identity_is_that_of_the_file_really_opened(small: Project) -> None:
    """By the system's own list of open files, where there is one."""
    opened = Path("/proc/self/fd")
    if not opened.is_dir():
        pytest.skip("needs /proc")
    with small.store.read() as connection:
        file = connection.connection.driver_connection
        assert isinstance(file, FileConnection)
        names = {str(path.readlink()): path for path in opened.iterdir() if path.is_symlink()}
        for path, known in ((file.files.path, file.files.database_id), (file.files.wal_path, file.files.wal_id)):
            facts = names[path].stat()
            assert (facts.st_dev, facts.st_ino) == known


def test_a_new_project_does_not_replay_the_log_of_a_deleted_one(small: Project, tmp_path: Path) -> None:
    small.edits.tag(1, 1)
    shutil.copy(small.folder / "project.db-wal", tmp_path)
    small.close()
    (small.folder / "project.db").unlink()
    (tmp_path / "project.db-wal").rename(small.folder / "project.db-wal")
    with Project.create(small.folder) as made:
        assert made.bags.list().bags == [] and made.check() == []


@pytest.mark.slow
def test_a_process_that_replaces_the_file_while_another_writes(small: Project, tmp_path: Path) -> None:
    """Every acknowledged edit is in the file that was at the path when it was acknowledged."""
    folder = small.folder
    small.close()
    rng = np.random.default_rng(7)
    ours, theirs = processes.pipe()
    moved_last = processes.event()
    writer = processes.start(processes.write_on_through_moves, str(folder), 60, moved_last, theirs)
    theirs.close()
    replacer_ours, replacer_theirs = processes.pipe()
    replacer = processes.start(
        processes.replace_again_and_again,
        *(str(folder), str(tmp_path), rng.random(40).tolist(), moved_last, replacer_theirs),
    )
    replacer_theirs.close()
    acknowledged = set(_received(ours))
    asides = list(_received(replacer_ours))
    writer.join()
    replacer.join()
    assert writer.exitcode == 0 and replacer.exitcode == 0
    stored = {number for path in [folder / "project.db", *map(Path, asides)] for _, number in edits_in(path)}
    assert acknowledged <= stored
    assert len(acknowledged) >= 60 and len(asides) > 3


def _received(connection: processes.Connection) -> Iterator[object]:
    try:
        while True:
            yield connection.recv()
    except EOFError:
        return
