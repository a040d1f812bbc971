"""Backups: before repairs and migrations, daily, by hand; restoring; and rows that a repair removes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from miml_core.__main__ import main
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.db import backups, daily_backup, migrate
from tests.project.test_check import break_it


def names(project: Project) -> list[str]:
    folder = project.folder / "backups"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def without_references(project: Project, *statements: str) -> None:
    """Change tables as damage would, without the database's own checks."""
    project.close()
    with closing(sqlite3.connect(project.folder / "project.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def disk_full(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


# repair


def test_repair_keeps_the_tags_that_have_no_place_any_more(small: Project) -> None:
    small.edits.set_label(6, 2)
    small.edits.tag(1, 3, -1)
    small.edits.tag(2, 1)
    without_references(small, "DELETE FROM bags WHERE id = 2", "DELETE FROM classes WHERE id = 3")
    problems = small.check(repair=True)
    (copy,) = [name for name in names(small) if name.startswith("before-repair")]
    (kept,) = [name for name in names(small) if name.startswith("repair")]
    rows = json.loads((small.folder / "backups" / kept).read_text())["rows"]
    tags = [row["row"] for row in rows if row["table"] == "tags"]
    assert sorted((tag["bag_id"], tag["class_id"], tag["value"]) for tag in tags) == [(1, 3, -1), (2, 1, 1), (2, 2, 1)]
    assert [row["row"]["class_id"] for row in rows if row["table"] == "verdicts"] == [2]
    assert len([row for row in rows if row["table"] == "segments"]) == 5
    message = next(problem.sentence for problem in problems if problem.kind == "orphan")
    assert kept in message and all(count in message for count in ("3 tags", "1 label", "5 segments"))
    with closing(sqlite3.connect(small.folder / "backups" / copy)) as database:
        assert database.execute("SELECT count(*) FROM tags").fetchone() == (3,), "the backup is from before"
    assert small.check() == []
    assert small.bags.get(1).tags == {}


def test_a_bag_whose_file_row_is_lost_keeps_its_tags_and_labels(small: Project) -> None:
    small.edits.set_label(1, 2)
    without_references(small, "DELETE FROM media WHERE id = 1")
    small.check(repair=True)
    assert small.bags.get(1).tags == {2: 1} and small.segments.get(1).label == 2
    assert [problem.kind for problem in small.check()] == ["missing"]


def test_a_tag_that_contradicts_a_label_is_kept_aside(small: Project) -> None:
    small.edits.set_label(1, 2)
    break_it(small, "UPDATE tags SET value = -1")
    (problem,) = small.check(repair=True)
    (kept,) = [name for name in names(small) if name.endswith(".json")]
    assert f"1 tag kept in backups/{kept}" in problem.sentence
    (row,) = json.loads((small.folder / "backups" / kept).read_text())["rows"]
    assert row == {"table": "tags", "row": {"bag_id": 1, "class_id": 2, "value": -1}}
    assert small.bags.get(1).tags == {2: 1}


def test_nothing_is_backed_up_when_there_is_nothing_to_repair(small: Project) -> None:
    assert small.check(repair=True) == [] and names(small) == []
    break_it(small, "UPDATE bags SET n_tags = 7")
    assert [problem.repaired for problem in small.check()] == [False] and names(small) == []


def test_a_repair_without_space_for_its_backup_does_not_begin(small: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    break_it(small, "UPDATE bags SET n_tags = 7")
    with monkeypatch.context() as patch:
        patch.setattr("miml_core.project.db.backups._flush", disk_full)
        with pytest.raises(BagtagError, match=r"backup .* could not be written: .*No space left"):
            small.check(repair=True)
    assert [problem.kind for problem in small.check()] == ["counters"]
    assert names(small) == [], "nor is half a backup left"


def test_the_folder_of_an_unknown_run_is_moved_and_not_deleted(small: Project) -> None:
    folder = small.folder / "runs" / "77"
    folder.mkdir(parents=True)
    (folder / "model.npz").write_bytes(b"hours of training")
    small.check(repair=True)
    (kept,) = [name for name in names(small) if name.startswith("run-77")]
    assert (small.folder / "backups" / kept / "model.npz").read_bytes() == b"hours of training"


# migration


def _fake_migration(monkeypatch: pytest.MonkeyPatch, scripts: Path) -> None:
    shutil.copytree(migrate.SCRIPTS, scripts)
    (scripts / "versions" / "9999_weather.py").write_text(
        f"from alembic import op\nrevision, down_revision = '9999', '{migrate.LATEST}'\n"
        "def upgrade():\n    op.execute('ALTER TABLE bags ADD COLUMN weather TEXT')\n"
    )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "LATEST", "9999")


def test_a_migration_without_space_for_its_backup_does_not_begin(
    small: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.close()
    before = migrate.LATEST
    _fake_migration(monkeypatch, tmp_path / "migrations")
    with monkeypatch.context() as patch:
        patch.setattr("miml_core.project.db.backups._flush", disk_full)
        with pytest.raises(BagtagError, match="could not be written"):
            Project.open(small.folder)
    with closing(sqlite3.connect(small.folder / "project.db")) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (before,)
    Project.open(small.folder).close()
    (copy,) = names(small)
    assert copy.startswith("before-migration-")


# daily


def test_the_first_write_of_a_day_makes_a_backup(small: Project) -> None:
    small.close()
    assert names(small) == [], "a new project has nothing to keep yet"
    with Project.open(small.folder) as project:
        project.edits.tag(1, 1)
        project.edits.tag(2, 1)
        project.store._daily.wait()
        assert names(project) == [backups.daily_path(project.folder).name]
        made = backups.daily_path(project.folder).stat().st_mtime_ns
    with Project.open(small.folder) as project:
        project.edits.tag(1, 2)
    assert backups.daily_path(small.folder).stat().st_mtime_ns == made, "once per day"


def test_seven_daily_backups_and_ten_others_are_kept(small: Project) -> None:
    folder = backups.make_folder(small.folder)
    for day in range(1, 10):
        (folder / f"daily-2020-01-0{day}.db").write_bytes(b"")
    for second in range(15):
        (folder / f"before-repair-2020-01-01-0000{second:02d}.db").write_bytes(b"")
    for kept in ("manual-2020-01-01-000000.db", "mine.db", "repair-2020-01-01-000000.json"):
        (folder / kept).write_bytes(b"")
    backups.prune(small.folder)
    kept_days = [name for name in names(small) if name.startswith("daily")]
    assert kept_days == [f"daily-2020-01-0{day}.db" for day in range(3, 10)]
    assert len([name for name in names(small) if name.startswith("before-repair")]) == 10
    assert {"manual-2020-01-01-000000.db", "mine.db", "repair-2020-01-01-000000.json"} <= set(names(small))


def test_a_daily_backup_that_fails_disturbs_nobody_and_is_tried_again(
    small: Project, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    small.close()
    with Project.open(small.folder) as project:
        with monkeypatch.context() as patch:
            patch.setattr("miml_core.project.db.backups._flush", disk_full)
            project.edits.tag(1, 1)
            project.store._daily.wait()
        assert names(project) == [] and "tried again" in caplog.text
        later = time.time() + 1.1 * daily_backup.RETRY_S
        monkeypatch.setattr("miml_core.project.db.daily_backup.time.time", lambda: later)
        project.edits.tag(2, 1)
        project.store._daily.wait()
        assert len(names(project)) == 1


def test_two_processes_do_not_make_the_daily_backup_at_once(small: Project) -> None:
    small.close()
    with Project.open(small.folder) as one, Project.open(small.folder) as other:
        assert one.store._daily._claim() and not other.store._daily._claim()


# the folder


def test_a_backups_folder_that_leads_elsewhere_is_refused(small: Project, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (small.folder / "backups").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    break_it(small, "UPDATE bags SET n_tags = 7")
    with pytest.raises(BagtagError, match="is a link or a file"):
        small.check(repair=True)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_backup_never_replaces_a_file(small: Project) -> None:
    recording = small.media.path(1)
    before = recording.read_bytes()
    for path in (recording, small.folder / "project.db"):
        with pytest.raises(BagtagError, match="already a file"):
            small.backup(path)
    assert recording.read_bytes() == before


# restore


def test_backups_are_listed_and_restored(small: Project, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(small.folder)
    small.edits.tag(1, 1)
    small.close()
    assert main(["backup", folder]) == 0
    (first,) = names(small)
    with Project.open(folder) as project:
        project.store._daily.postpone()
        project.edits.tag(2, 1)
    capsys.readouterr()
    assert main(["restore", folder, "--list", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["backups"]
    assert (entry["name"], entry["bags"], entry["tags"], entry["edits"]) == (first, 2, 1, 4)
    assert main(["restore", folder]) == 0
    with Project.open(folder) as project:
        assert (project.bags.get(1).tags, project.bags.get(2).tags) == ({1: 1}, {})
        assert project.check() == []
    (kept,) = [name for name in names(small) if name.startswith("before-restore")]
    assert main(["restore", folder, kept]) == 0
    with Project.open(folder) as project:
        assert project.bags.get(2).tags == {1: 1}, "a restore can be taken back"


@pytest.mark.parametrize("damage", ["scratched", "text", "empty", "gone", "log"])
def test_a_project_that_cannot_be_opened_is_restored_and_kept(
    small: Project, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    small.edits.tag(1, 1)
    small.store.backup_before("manual")
    small.close()
    database = small.folder / "project.db"
    if damage == "gone":
        database.unlink()
    elif damage == "log":
        database.write_bytes(b"x" * 9000)
    else:
        scratched = b"\0" * 8192 + database.read_bytes()[8192:]
        database.write_bytes({"scratched": scratched, "text": b"hello" * 900, "empty": b""}[damage])
    assert main(["status", str(small.folder)]) == 1
    if damage == "log":
        (small.folder / "project.db-wal").write_bytes(b"y" * 9000)
    broken = {path.name: path.read_bytes() for path in small.folder.glob("project.db*")}
    message = capsys.readouterr().err
    assert "python -m miml_core restore" in message and names(small)[0] in message
    assert main(["restore", str(small.folder)]) == 0
    with Project.open(small.folder) as project:
        assert project.bags.get(1).tags == {1: 1} and project.check() == []
    kept = [name for name in names(small) if name.startswith("damaged")]
    if broken:
        folder = small.folder / "backups" / kept[0]
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == broken
    else:
        assert kept == []


def test_a_project_in_use_is_not_restored(small: Project) -> None:
    small.store.backup_before("manual")
    small.edits.tag(1, 1)
    assert main(["restore", str(small.folder)]) == 1
    small.edits.tag(2, 1)
    assert small.bags.get(1).tags == small.bags.get(2).tags == {1: 1}
    assert small.check() == []


def test_a_restore_that_fails_half_way_leaves_the_project_as_it_was(
    small: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.store.backup_before("manual")
    small.edits.tag(1, 1)
    small.close()
    for part in ("_copy_backup", "_keep_present"):
        with monkeypatch.context() as patch:
            patch.setattr(f"miml_core.project.db.restoring.{part}", disk_full)
            assert main(["restore", str(small.folder)]) == 1
        with Project.open(small.folder) as project:
            assert project.bags.get(1).tags == {1: 1} and project.check() == []


def test_what_is_no_sound_backup_is_refused(small: Project, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small.edits.tag(1, 1)
    small.close()
    (tmp_path / "text.db").write_text("no backup" * 200)
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE bags (id)")
    shutil.copy(small.folder / "project.db", tmp_path / "trap.db")
    with closing(sqlite3.connect(tmp_path / "trap.db")) as trap:
        trap.execute("CREATE TRIGGER trap AFTER INSERT ON tags BEGIN DELETE FROM tags; END")
    for name in ("text.db", "other.db", "trap.db", "none.db"):
        assert main(["restore", str(small.folder), str(tmp_path / name)]) == 1
        assert "bagtag: " in capsys.readouterr().err
    assert main(["restore", str(small.folder)]) == 1
    assert "There is no backup" in capsys.readouterr().err
    with Project.open(small.folder) as project:
        assert project.bags.get(1).tags == {1: 1}


def test_messages_name_a_backup_only_if_there_is_one(small: Project) -> None:
    small.close()
    database = small.folder / "project.db"
    whole = database.read_bytes()
    database.write_bytes(b"x" * 9000)
    with pytest.raises(BagtagError) as without:
        Project.open(small.folder)
    assert "restore" not in str(without.value) and "newest backup" not in str(without.value)
    database.write_bytes(whole)
    with Project.open(small.folder) as project:
        copy = project.store.backup_before("manual")
    database.write_bytes(b"x" * 9000)
    with pytest.raises(BagtagError, match=copy.name):
        Project.open(small.folder)
    assert os.path.lexists(copy)
