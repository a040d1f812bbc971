"""Packing a project to one file and unpacking it elsewhere."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from miml_core.errors import BagtagError
from miml_core.progress import Progress
from miml_core.project import Project
from miml_core.project.db.schema import metadata
from miml_core.project.errors import Cancelled
from miml_core.project.packing.manifest import MANIFEST
from miml_core.project.packing.pack import pack
from miml_core.project.packing.unpack import unpack


def rows_of(folder: Path, *, but: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return all rows of all tables of a project that nobody writes."""
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for name in metadata.tables
            if name not in but
        }


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_all_rows_and_files_arrive_and_the_media_are_found(garden: Path, packed: Path, tmp_path: Path) -> None:
    names = zipfile.ZipFile(packed).namelist()
    assert sorted(names) == sorted(
        [
            *(MANIFEST, "project.db", "runs/7/model.npz", "segmenters/1.npz"),
            *("media/site 1/dawn.wav", "media/site 2/dawn.wav", "media/site 1/DAWN-2.wav"),
        ]
    ), "neither caches nor other files, and no two names that differ only by case"
    stored = {info.filename for info in zipfile.ZipFile(packed).infolist() if info.compress_type == zipfile.ZIP_STORED}
    assert stored == {name for name in names if name.startswith("media/")}
    done = unpack(packed, tmp_path / "elsewhere")
    assert (done.n_media, done.missing, done.manifest.name) == (3, [], "Garden")
    assert done.manifest.counts == {"media": 3, "bags": 3, "segments": 12, "tags": 1, "labels": 1, "runs": 1}
    assert rows_of(done.folder, but=("media",)) == rows_of(garden, but=("media",))
    assert (done.folder / "runs/7/model.npz").read_bytes() == b"runs/7/model.npz"
    with Project.open(done.folder) as project:
        assert [project.media.path(bag).read_bytes() for bag in (1, 2, 3)] == [b"sound 0", b"sound 1", b"sound 2"]
        assert {medium.path for medium in project.media.list()} == {name for name in names if name.startswith("media/")}
        (job,) = project.jobs.list()
        assert job.state == "stopped" and not (done.folder / "logs").exists(), "no job of it was started"
        assert project.check() == []
    assert not (garden.parent / "owned.csv").exists()


def test_without_media_they_are_relinked_or_listed(garden: Path, tmp_path: Path) -> None:
    with Project.open(garden) as project:
        pack(project.store, tmp_path / "bare.zip")
    shutil.copytree(garden.parent / "recordings", tmp_path / "disk")
    (tmp_path / "in").mkdir()
    lost = unpack(tmp_path / "bare.zip", tmp_path / "in" / "lost")
    assert len(lost.missing) == 3 and lost.n_media == 0
    found = unpack(tmp_path / "bare.zip", tmp_path / "in" / "found", media_from=tmp_path / "disk")
    assert found.missing == [] and len(found.relinked) == 3
    with Project.open(found.folder) as project:
        assert project.media.path(2).read_bytes() == b"sound 1"
    with pytest.raises(BagtagError, match="already exists"):
        unpack(tmp_path / "bare.zip", tmp_path / "in" / "found")
    with pytest.raises(BagtagError, match="no folder"):
        unpack(tmp_path / "bare.zip", tmp_path / "nowhere" / "x")


def test_media_by_absolute_paths_of_another_computer_are_relinked(garden: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(garden, tmp_path / "a" / "project"))
    with Project.open(copy) as project:
        with project.store.write() as connection:
            connection.exec_driver_sql("UPDATE media SET path = '/data/of/ann/' || id || '.wav'")
        assert len(project.media.relink(garden.parent / "recordings")) == 3
        assert project.media.path(1).read_bytes() == b"sound 0"


def test_a_project_is_packed_while_others_write(garden: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(garden.parent, tmp_path / "busy")) / "project"
    over = threading.Event()
    with Project.open(copy) as project, Project.open(copy, annotator="Bob") as other:
        before = rows_of(copy)["tags"]

        def write() -> None:
            value = 1
            while not over.is_set():
                other.edits.tag(2, 1, value)
                value = 1 - value

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = [pack(project.store, tmp_path / f"{number}.zip", media=True) for number in range(3)]
        finally:
            over.set()
            writer.join()
    for number, each in enumerate(made):
        folder = unpack(each.path, tmp_path / f"out {number}").folder
        tags = rows_of(folder)["tags"]
        assert tags in (before, [*before, (2, 1, 1)])
        with Project.open(folder) as project:
            assert project.check() == [], "a snapshot of one moment"
    assert [name for name in left_in(copy / "backups") if name.startswith(".")] == []


def test_what_is_packed_can_be_cancelled_and_is_never_half_there(garden: Path, tmp_path: Path) -> None:
    reported: list[str] = []

    def stop_at(what: str) -> Progress:
        def report(step: int, of: int, info: Mapping[str, Any]) -> None:
            reported.append(info["what"])
            if info["what"].startswith(what):
                raise Cancelled

        return report

    (tmp_path / "out").mkdir()
    with Project.open(garden) as project:
        for what in ("copying", "checking", "packing dawn"):
            with pytest.raises(Cancelled):
                pack(project.store, tmp_path / "out" / "x.zip", media=True, progress=stop_at(what))
        made = pack(project.store, tmp_path / "out" / "x.zip", media=True)
    assert left_in(tmp_path / "out") == ["x.zip"]
    assert [name for name in left_in(garden / "backups") if name.startswith(".")] == []
    with pytest.raises(Cancelled):
        unpack(made.path, tmp_path / "out" / "y", progress=stop_at("unpacking"))
    assert left_in(tmp_path / "out") == ["x.zip"]


def test_missing_and_foreign_media_are_left_out_and_listed(garden: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(garden.parent, tmp_path / "part")) / "project"
    (copy.parent / "recordings" / "site 2" / "dawn.wav").write_bytes(b"another sound")
    with Project.open(copy) as project:
        with project.store.write() as connection:
            connection.exec_driver_sql("UPDATE media SET path = '/etc/hostname.wav' WHERE id = 3")
        made = pack(project.store, tmp_path / "part.zip", media=True)
    assert made.n_media == 1
    assert [each.name for each in made.left_out] == ["../recordings/site 2/dawn.wav", "/etc/hostname.wav"]
    assert "has changed" in made.left_out[0].reason and "system" in made.left_out[1].reason
    assert unpack(made.path, tmp_path / "again").missing == [each.name for each in made.left_out]


def test_large_members_use_zip64(garden: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("miml_core.project.packing.pack._LARGE", 1)
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 1000)
    with Project.open(garden) as project:
        made = pack(project.store, tmp_path / "large.zip", media=True)
    info = zipfile.ZipFile(made.path).getinfo("project.db")
    assert info.extract_version >= zipfile.ZIP64_VERSION
    assert unpack(made.path, tmp_path / "large").n_media == 3
