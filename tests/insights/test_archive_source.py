"""An archive is read once: what is added is read in addition, what is replaced or removed makes it read again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from miml_core.archive.results import Result, results_of
from miml_core.insights import activity, archive_source, open_source
from miml_core.insights.archive_source import read_archive, unread_results
from miml_core.installation import state_folder
from tests.insights.generated_archive import CLASSES, MODEL, SITES, make_archive, write_result


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small archive, and a state folder without anything in it."""
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))
    make_archive(tmp_path / "archive", n_files=6)
    return tmp_path / "archive"


def facts(source):
    found = activity(source, None, 0.0)
    counted = (found.counts.sum(), found.effort_s.sum(), found.clips.sum())
    return counted, source.n_files, source.n_files_without_time, dict(sorted(source.clocks.items(), key=str))


def unkept(archive: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as patch:
        patch.setenv("BAGTAG_STATE", "/dev/null/none")
        return read_archive(archive)


def test_what_is_kept_is_what_is_read(archive, monkeypatch):
    n_results = len(list(results_of(archive, MODEL)))
    assert unread_results(archive) == n_results
    steps: list[int] = []
    first = open_source(archive=archive, progress=lambda step, of, info: steps.append(step))
    assert steps == list(range(1, n_results + 1)) and unread_results(archive) == 0
    monkeypatch.setattr(archive_source, "read_results", None)  # nothing may be read again
    assert facts(open_source(archive=archive)) == facts(first)


def test_added_results_are_read_in_addition(archive, monkeypatch):
    before = open_source(archive=archive)
    clip = {"file": "survey/new/a.wav", "start": 0.0, "end": 40.0, "tags": [], "segments": 0, "utc_offset": 60}
    write_result(archive, Result("new site", "unknown", f"{MODEL}-new"), [clip], [])
    assert unread_results(archive) == 1
    after = open_source(archive=archive)
    assert after.n_files == before.n_files + 1 and "new site" in after.sites
    assert facts(after) == facts(unkept(archive, monkeypatch))
    assert after.results[: len(before.results)] == before.results, "the numbers of segments stay valid"


def test_replaced_and_removed_results_are_noticed(archive, monkeypatch):
    open_source(archive=archive)
    some = next(results_of(archive, MODEL))
    clip = {"file": "survey/x.wav", "start": 0.0, "end": 3600.0, "tags": [], "segments": 0, "utc_offset": None}
    write_result(archive, some, [clip], [])
    replaced = open_source(archive=archive)
    assert facts(replaced) == facts(unkept(archive, monkeypatch))
    for table in ("segments", "clips"):
        some.path(archive, table).unlink()
    assert facts(open_source(archive=archive)) == facts(unkept(archive, monkeypatch))


def test_damaged_kept_files_are_made_again(archive):
    before = facts(open_source(archive=archive))
    (index,) = state_folder().glob("insights/*/index.json")
    for damage in (
        b"",
        b"{}",
        b'{"classes": [], "sites": [], "chunks": [{"name": "../../x", "keys": [], "facts": {}}]}',
    ):
        index.write_bytes(damage)
        assert facts(open_source(archive=archive)) == before
    for damage in (b"ARROW1", None):
        for path in index.parent.glob("*.arrow"):
            path.unlink()
            if damage is not None:
                path.write_bytes(damage)
        assert facts(open_source(archive=archive)) == before


def test_few_archives_are_kept(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(archive_source, "_MOST_ARCHIVES", 2)
    for number in range(3):
        shutil.copytree(archive, tmp_path / str(number))
        open_source(archive=tmp_path / str(number))
    assert len(list(state_folder().glob("insights/*"))) == 2


def test_names_never_become_a_query(archive):
    source = open_source(archive=archive)
    assert set(source.sites) <= set(SITES) and source.classes == tuple(CLASSES)
    everything = activity(source, None, 0.0).counts.sum()
    assert everything == sum(activity(source, name, 0.0).counts.sum() for name in CLASSES) > 0
