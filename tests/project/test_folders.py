"""Opening projects: damaged, foreign, newer, older and oddly named ones."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect, text

from miml_core.errors import BagtagError
from miml_core.project import Project, ProjectTooNew
from miml_core.project.db import migrate
from miml_core.project.db.schema import metadata
from tests.project import processes


def test_what_is_no_project_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BagtagError, match="no folder"):
        Project.open(tmp_path / "nowhere")
    with pytest.raises(BagtagError, match=r"has no project\.db"):
        Project.open(tmp_path)
    (tmp_path / "a file").write_text("x")
    with pytest.raises(BagtagError, match="no folder"):
        Project.open(tmp_path / "a file")
    with pytest.raises(BagtagError, match="cannot be created"):
        Project.create(tmp_path / "a file" / "inside")


@pytest.mark.parametrize("n_bytes", [0, 1, 99, 100, 5000, 100_000])
def test_random_bytes_are_no_project(tmp_path: Path, n_bytes: int) -> None:
    content = np.random.default_rng(n_bytes).bytes(n_bytes)
    (tmp_path / "project.db").write_bytes(content)
    with pytest.raises(BagtagError, match="damaged or not a Bagtag project"):
        Project.open(tmp_path)
    assert (tmp_path / "project.db").read_bytes() == content, "it is left as it was"


def test_a_database_of_something_else_is_no_project(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "project.db")) as other:
        other.execute("CREATE TABLE bags (id INTEGER)")
    with pytest.raises(BagtagError, match="another program"):
        Project.open(tmp_path)


_ODD_NAMES = ("it's", 'a "b" c', "new\nline", "🦉", "a;b?c=d&e#f%20", "  spaced  ", "ümlaut", "x" * 100)


@pytest.mark.parametrize("name", _ODD_NAMES)
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    with Project.create(tmp_path / name) as project:
        project.edits.add_class("Wren")
    with Project.open(tmp_path / name) as project:
        assert [one.name for one in project.classes.list()] == ["Wren"]
        assert project.name == name


def test_a_project_is_not_made_twice(project: Project) -> None:
    with pytest.raises(BagtagError, match="already a project"):
        Project.create(project.folder)
    with pytest.raises(BagtagError, match='"sound" or "picture"'):
        Project.create(project.folder / "inside", kind="smell")  # type: ignore[arg-type]
    assert not (project.folder / "inside" / "project.db.new").exists()


def test_a_read_only_project_is_reported(small: Project, tmp_path: Path) -> None:
    small.close()
    folder = tmp_path / "read only"
    shutil.copytree(small.folder, folder)
    for path in (folder, *folder.parents):
        if Path(tempfile.gettempdir()) in path.parents:  # pytest's own folders are closed to others
            path.chmod(0o755)
    (folder / "project.db").chmod(0o444)
    folder.chmod(0o555)
    ours, theirs = processes.pipe()
    processes.start(processes.open_as_nobody, str(folder), theirs)
    theirs.close()
    message = ours.recv()
    folder.chmod(0o755)
    assert "read-only" in message


def test_a_newer_project_is_refused_politely_and_left_alone(project: Project) -> None:
    with project.store.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ProjectTooNew, match="newer Bagtag"):
        Project.open(project.folder)
    assert not (project.folder / "backups").exists()


def test_an_older_project_is_brought_up_to_date_after_a_backup(
    small: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.edits.tag(1, 1)
    small.close()
    scripts = tmp_path / "migrations"
    shutil.copytree(migrate.SCRIPTS, scripts)
    before, after = migrate.LATEST, "9999"
    (scripts / "versions" / "9999_weather.py").write_text(
        "from alembic import op\n"
        f"revision, down_revision = '{after}', '{before}'\n"
        "def upgrade():\n    op.execute(\"ALTER TABLE bags ADD COLUMN weather TEXT NOT NULL DEFAULT 'fine'\")\n"
    )
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "LATEST", after)
    with Project.open(small.folder) as project:
        assert project.bags.get(1).tags == {1: 1}
        with project.store.read() as connection:
            assert connection.execute(text("SELECT DISTINCT weather FROM bags")).scalars().all() == ["fine"]
            assert migrate.version(connection) == after
    (copy,) = (small.folder / "backups").iterdir()
    with closing(sqlite3.connect(copy)) as database:
        assert database.execute("SELECT version_num FROM alembic_version").fetchone() == (before,)
        assert database.execute("SELECT count(*) FROM tags").fetchone() == (1,)
    Project.open(small.folder).close()
    assert len(list((small.folder / "backups").iterdir())) == 1, "once is enough"


def test_bags_of_an_older_project_are_ordered_by_doubt_as_in_a_new_one(predicted: Project) -> None:
    expected = [bag.doubt for bag in predicted.bags.list().bags]
    with predicted.store.write() as connection:
        connection.exec_driver_sql("UPDATE bags SET doubt = 0.4")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0004'")
    predicted.close()
    with Project.open(predicted.folder) as project:
        assert [bag.doubt for bag in project.bags.list().bags] == pytest.approx(expected)


def test_a_migration_that_fails_changes_nothing(
    small: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small.close()
    scripts = tmp_path / "migrations"
    shutil.copytree(migrate.SCRIPTS, scripts)
    (scripts / "versions" / "9999_broken.py").write_text(
        f"from alembic import op\nrevision, down_revision = '9999', '{migrate.LATEST}'\n"
        "def upgrade():\n    op.execute('DROP TABLE tags')\n    raise RuntimeError('half-way')\n"
    )
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "SCRIPTS", scripts)
        patch.setattr(migrate, "LATEST", "9999")
        with pytest.raises(RuntimeError):
            Project.open(small.folder)
    with Project.open(small.folder) as project:
        assert project.bags.get(1).tags == {}


def test_the_migrations_make_the_tables_of_the_schema(project: Project) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(migrate.SCRIPTS))
    assert ScriptDirectory.from_config(config).get_current_head() == migrate.LATEST
    with project.store.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert set(inspect(connection).get_table_names()) == {*metadata.tables, "alembic_version"}


def test_the_cache_may_be_deleted_at_any_time(project: Project) -> None:
    (project.cache_folder / "thing").write_text("x")
    shutil.rmtree(project.cache_folder)
    (project.cache_folder / "thing").write_text("y")
    assert [path.read_text() for path in project.cache_folder.iterdir()] == ["y"]


def test_a_backup_is_a_project(small: Project, tmp_path: Path) -> None:
    small.edits.tag(1, 1)
    small.backup(tmp_path / "copy" / "project.db")
    with Project.open(tmp_path / "copy") as copy:
        assert copy.bags.get(1).tags == {1: 1}
