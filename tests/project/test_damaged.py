"""Damaged and crafted databases: opening and every command end in a sentence, never in a traceback."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from miml_core.__main__ import main
from miml_core.errors import BagtagError
from miml_core.project import Project
from tests.project.conftest import add_bags, store_run

_FUZZED = 60
_PAGE = 8192


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a project with rows in every table, closed; tests damage copies of it."""
    with Project.create(tmp_path_factory.mktemp("complete") / "project", annotator="Ann") as project:
        add_bags(project, 3)
        for name in ("Wren", "Robin", "Owl"):
            project.edits.add_class(name)
        project.edits.set_label(1, 2)
        project.edits.apply_once("a screen", 1, {"act": "tag", "bag": 2, "class": 3, "value": 1})
        store_run(project, lambda n: np.tile([0.6, 0.3, 0.0, 0.1], (n, 1)))
        break_rows(
            project.folder,
            "INSERT INTO jobs (kind, lane, params, state, done, total, message, info, result, cancel, created_at, "
            "annotator) VALUES ('export', 'export', '{}', 'done', 1, 1, '', '{}', '{}', 0, 1.0, 'Ann')",
            "INSERT INTO job_failures (job_id, item, reason) VALUES (1, 'x', 'y')",
            "INSERT INTO job_log (job_id, at, text) VALUES (1, 1.0, 'z')",
        )
    return project.folder


@pytest.fixture
def copy(complete: Path, tmp_path: Path) -> Path:
    return shutil.copytree(complete, tmp_path / "copy")


def break_rows(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "project.db")) as database, database:
        for statement in statements:
            database.execute(statement)


def use(folder: Path) -> list[str]:
    """Use all services of a project; return the `BagtagError`s. Any other error fails the test."""
    messages = []

    def attempt(act: Callable[[Project], object]) -> None:
        try:
            with Project.open(folder, annotator="Ann") as project:
                project.store._daily.postpone()
                act(project)
        except BagtagError as error:
            messages.append(str(error))

    for act in (
        lambda project: project.bags.list(search="clip"),
        lambda project: [project.segments.list(bag) for bag in project.bags.ids()],
        lambda project: project.classes.list(),
        lambda project: (project.settings, project.kind, project.name, project.news(0)),
        lambda project: [project.jobs.log(job.id) for job in project.jobs.list()],
        lambda project: project.runs.list(),
        lambda project: project.bags.bagset(),
        lambda project: project.review.queue("least_sure", limit=5),
        lambda project: project.review.tag_suggestions(1),
        lambda project: project.edits.undo(),
        lambda project: project.edits.tag(1, 1),
        lambda project: project.edits.apply_once("a screen", 1, {"act": "tag", "bag": 2, "class": 3, "value": 1}),
        lambda project: project.edits.history(),
        lambda project: project.exports.rows("all"),
    ):
        attempt(act)
    return messages


def run_commands(folder: Path, capsys: pytest.CaptureFixture[str]) -> set[int]:
    """Return the exit codes of the commands that read a project."""
    table = folder.parent / "tags.csv"
    table.write_text("file,tags\nclip 0.wav,Wren\n")
    codes = set()
    for arguments in (
        ["status"], ["check"], ["check", "--repair"], ["tag", str(table)], ["backup"], ["restore", "--list"],
    ):  # fmt: skip
        codes.add(main([arguments[0], str(folder), *arguments[1:]]))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err + captured.out
    return codes


def truncate(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: int(rng.integers(0, len(content)))]


def cut_at_page(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: _PAGE * int(rng.integers(1, len(content) // _PAGE))]


def zero_page(content: bytearray, rng: np.random.Generator) -> bytearray:
    start = _PAGE * int(rng.integers(0, len(content) // _PAGE))
    content[start : start + _PAGE] = bytes(_PAGE)
    return content


def swap_pages(content: bytearray, rng: np.random.Generator) -> bytearray:
    one, other = (_PAGE * int(page) for page in rng.integers(1, len(content) // _PAGE, 2))
    content[one : one + _PAGE], content[other : other + _PAGE] = (
        content[other : other + _PAGE],
        content[one : one + _PAGE],
    )
    return content


def scratch_header(content: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(0, 100, 3):
        content[place] = int(rng.integers(256))
    return content


def scratch_schema(content: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(100, _PAGE, 20):
        content[place] = int(rng.integers(256))
    return content


def scratch_anywhere(content: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(0, len(content), 200):
        content[place] = int(rng.integers(256))
    return content


def scratch_text(content: bytearray, rng: np.random.Generator) -> bytearray:
    """Change letters of stored text only: the pages stay in order, names and JSON do not."""
    letters = [place for place in range(_PAGE, len(content)) if chr(content[place]).isalpha()]
    for place in rng.choice(letters, 40):
        content[place] = int(rng.integers(256))
    return content


_DAMAGES = (
    truncate, cut_at_page, zero_page, swap_pages, scratch_header, scratch_schema, scratch_anywhere, scratch_text,
)  # fmt: skip


@pytest.mark.slow
def test_damage_of_any_kind_ends_in_a_sentence(
    complete: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(16)
    content = (complete / "project.db").read_bytes()
    n_reported = 0
    for number in range(_FUZZED):
        damage = _DAMAGES[number % len(_DAMAGES)]
        folder = tmp_path / f"{number} {damage.__name__}" / "project"
        shutil.copytree(complete, folder)
        (folder / "project.db").write_bytes(damage(bytearray(content), rng))
        if number % 5 == 0:
            (folder / "project.db-wal").write_bytes(rng.bytes(5000))
        n_reported += bool(use(folder))
        assert run_commands(folder, capsys) <= {0, 1, 3}
    assert n_reported > _FUZZED / 2


@pytest.mark.parametrize("n_pages", range(0, 20, 3))
def test_a_truncated_database_is_reported(copy: Path, n_pages: int) -> None:
    content = (copy / "project.db").read_bytes()
    assert len(content) > 20 * _PAGE
    (copy / "project.db").write_bytes(content[: n_pages * _PAGE])
    with pytest.raises(BagtagError, match="is damaged"), Project.open(copy) as project:
        problems = project.check()
        raise BagtagError(problems[0].sentence)


def test_tables_whose_description_is_not_text_are_reported(copy: Path) -> None:
    content = (copy / "project.db").read_bytes()
    scratched = content.replace(b"reason TEXT NOT NULL", b"r\xffason TEXT NOT NULL")
    assert scratched != content
    (copy / "project.db").write_bytes(scratched)
    with pytest.raises(BagtagError, match="is damaged"):
        Project.open(copy)


def test_garbage_in_the_log_of_commits_is_passed_over(copy: Path) -> None:
    (copy / "project.db-wal").write_bytes(np.random.default_rng(3).bytes(50_000))
    assert use(copy) == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER trap AFTER INSERT ON history BEGIN DELETE FROM tags; END",
        "CREATE VIEW trap AS SELECT * FROM tags",
        "CREATE TABLE trap (x)",
        "CREATE VIRTUAL TABLE trap USING fts5(x)",
        "DROP TABLE verdicts",
        "ALTER TABLE bags RENAME COLUMN note TO notes",
        "ALTER TABLE bags ADD COLUMN trap GENERATED ALWAYS AS (upper(name))",
    ],
)
def test_foreign_tables_are_refused_before_anything_is_written(copy: Path, statement: str) -> None:
    break_rows(copy, statement)
    before = (copy / "project.db").read_bytes()
    with pytest.raises(BagtagError, match="damaged or not a Bagtag project: "):
        Project.open(copy)
    if "TRIGGER" in statement or "VIEW" in statement:
        assert (copy / "project.db").read_bytes() == before


def test_a_column_of_another_type_is_refused(copy: Path) -> None:
    break_rows(copy, "DROP TABLE job_log", "CREATE TABLE job_log (id INTEGER, job_id TEXT, at FLOAT, text TEXT)")
    with pytest.raises(BagtagError, match="has another type"):
        Project.open(copy)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET value = '{' WHERE key = 'settings'",
        "UPDATE meta SET value = '[1, 2]' WHERE key = 'settings'",
        'UPDATE meta SET value = \'{"spectrogram": {"window": "no number"}}\' WHERE key = \'settings\'',
        f"UPDATE meta SET value = '{'[' * 100_000}' WHERE key = 'settings'",
        "DELETE FROM meta WHERE key = 'settings'",
        "UPDATE meta SET value = CAST(x'ff226122' AS TEXT) WHERE key = 'name'",
        "UPDATE jobs SET params = 'x'",
        "UPDATE jobs SET info = '[]'",
        "UPDATE jobs SET result = x'00'",
        "UPDATE runs SET classes = '{}'",
        "UPDATE runs SET classes = '[\"a\"]'",
        "UPDATE runs SET scores = '3'",
        "UPDATE bags SET start = 'soon'",
        "UPDATE bags SET name = CAST(x'ff' AS TEXT)",
        "UPDATE bags SET name = x'00'",
        "UPDATE media SET fingerprint = 7",
        "UPDATE history SET changes = 'x'",
        "UPDATE edits SET result = '[]'",
        "UPDATE grids SET grid = '{}'",
        "UPDATE segments SET region = 'text'",
        "UPDATE segments SET \"left\" = 'text'",
        "UPDATE features SET numbers = x'00'",
        "UPDATE features SET n_features = 'many'",
        "UPDATE topics SET revision = 'x'",
        "UPDATE classes SET name = x'ff'",
        "UPDATE tags SET value = 'yes'",
        "DELETE FROM topics",
        "DELETE FROM grids",
        "DELETE FROM media",
    ],
)
def test_rows_that_cannot_be_read_end_in_a_sentence(
    copy: Path, statement: str, capsys: pytest.CaptureFixture[str]
) -> None:
    break_rows(copy, statement)
    use(copy)
    assert run_commands(copy, capsys) <= {0, 1, 3}


def test_a_mistake_in_bagtag_is_not_called_damage(copy: Path) -> None:
    with pytest.raises(KeyError), Project.open(copy) as project, project.store.read():
        raise KeyError("a mistake")
