"""Packing a project to one file and unpacking it elsewhere; crafted files are refused and leave nothing behind."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.db.schema import metadata
from miml_core.project.errors import Cancelled
from miml_core.project.packing import checked_zip
from miml_core.project.packing.manifest import MANIFEST
from miml_core.project.packing.pack import pack
from miml_core.project.packing.unpack import unpack
from tests.project.conftest import add_bags
from tests.project.foreign import add_job

Members = dict[str, bytes]


def rows_of(folder: Path, *, but: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """Return all rows of all tables of a project that nobody writes."""
    with closing(sqlite3.connect(folder / "project.db")) as connection:
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for name in metadata.tables
            if name not in but
        }


@pytest.fixture(scope="module")
def garden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with tags, labels, a run file, a segmenter, a queued job, and recordings of the same name."""
    home = tmp_path_factory.mktemp("garden")
    with Project.create(home / "project", name="Garden", annotator="Ann") as project:
        add_bags(project, 3, 4)
        wren = project.edits.add_class("Wren").id
        project.edits.tag(1, wren)
        project.edits.set_label(1, wren)
        project.edits.finish(1)
        add_job(project, "export", {"format": "csv", "path": str(home / "owned.csv")})
        with project.store.write() as connection:
            for number, place in enumerate(("site 1/dawn.wav", "site 2/dawn.wav", "site 1/DAWN.wav"), start=1):
                target = home / "recordings" / place
                target.parent.mkdir(parents=True, exist_ok=True)
                (home / "project" / "media" / f"clip {number - 1}.wav").rename(target)
                connection.exec_driver_sql("UPDATE media SET path = ? WHERE id = ?", (f"../recordings/{place}", number))
            connection.exec_driver_sql(
                "INSERT INTO runs (id, model, params, seed, state, started_at, scores, curves, classes, background, "
                "feature_key, n_bags, n_segments, n_corrections, annotator, message) "
                "VALUES (7, 'ored-lr', '{}', 0, 'done', 1.0, '{}', '{}', '[]', 0, 'x', 0, 0, 0, 'Ann', '')"
            )
    for name in ("runs/7/model.npz", "segmenters/1.npz", "runs/9/model.npz", "cache/x.bin", "notes.txt"):
        (home / "project" / name).parent.mkdir(exist_ok=True, parents=True)
        (home / "project" / name).write_bytes(name.encode())
    return home / "project"


@pytest.fixture(scope="module")
def packed(garden: Path) -> Path:
    with Project.open(garden) as project:
        return pack(project.store, garden.parent / "garden.zip", media=True).path


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

    def stop_at(what: str) -> Callable[[int, int, str], None]:
        def report(done: int, of: int, now: str) -> None:
            reported.append(now)
            if now.startswith(what):
                raise Cancelled

        return report

    (tmp_path / "out").mkdir()
    with Project.open(garden) as project:
        for what in ("copying", "checking", "packing dawn"):
            with pytest.raises(Cancelled):
                pack(project.store, tmp_path / "out" / "x.zip", media=True, report=stop_at(what))
        made = pack(project.store, tmp_path / "out" / "x.zip", media=True)
    assert left_in(tmp_path / "out") == ["x.zip"]
    assert [name for name in left_in(garden / "backups") if name.startswith(".")] == []
    with pytest.raises(Cancelled):
        unpack(made.path, tmp_path / "out" / "y", report=stop_at("unpacking"))
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


# crafted files


def members_of(packed: Path) -> Members:
    with zipfile.ZipFile(packed) as file:
        return {name: file.read(name) for name in file.namelist()}


def listed(members: Members) -> bytes:
    """Return a manifest that is right for these members."""
    values = json.loads(members[MANIFEST])
    values["members"] = [
        {"name": name, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in members.items()
        if name != MANIFEST
    ]
    return json.dumps(values).encode()


def write(path: Path, members: Members, **infos: zipfile.ZipInfo) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            info = infos.get(name, zipfile.ZipInfo(name))
            info.compress_type = zipfile.ZIP_STORED if name.startswith("media/") else zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return path


BAD_NAMES = [
    *("../evil.wav", "media/../../evil.wav", "/tmp/evil.wav", "C:/evil.wav", "C:evil.wav", "media/C:/x.wav"),
    *("media\\..\\..\\evil.wav", "..\\evil.wav", "\\\\host\\share\\x.wav", "media//x.wav", "media/./x.wav", "./x.wav"),
    *("media/", "media", "media/x.py", "media/.hidden.wav", "media/nul.wav", "media/x.wav.", "media/x.wav "),
    *("project.db-wal", "project.db/x.wav", "runs/7/model.py", "runs/../x/model.npz", "runs/07/model.npz"),
    *("cache/similarity.npy", "segmenters/x.npz", "logs/job-1.txt", "media/x.wav:stream.wav", "media/a\nb.wav"),
    "media/" + "x" * 300 + ".wav",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_outside_of_a_project_are_refused(packed: Path, tmp_path: Path, name: str) -> None:
    members = {**members_of(packed), name: b"evil"}
    refused(tmp_path, members | {MANIFEST: listed(members)})


def refused(tmp_path: Path, members: Members, match: str = "not a file of a project", **infos: zipfile.ZipInfo) -> None:
    """Assert that a crafted file is refused, and that nothing is left of it."""
    (tmp_path / "in").mkdir(exist_ok=True)
    refused_file(write(tmp_path / "crafted.zip", members, **infos), match)


def refused_file(path: Path, match: str) -> None:
    around = path.parent
    before = left_in(around), left_in(around / "in")
    with pytest.raises(BagtagError, match=match):
        unpack(path, around / "in" / "project")
    assert (left_in(around), left_in(around / "in")) == before


def _extra(members: Members) -> Members:
    return {**members, "media/extra.wav": b"x"}


def _stranger(members: Members) -> Members:
    more = {**members, "media/extra.wav": b"a sound that is no medium of the project"}
    return more | {MANIFEST: listed(more)}


def _less(members: Members) -> Members:
    return {name: content for name, content in members.items() if name != "media/site 2/dawn.wav"}


def _changed(members: Members) -> Members:
    return {**members, "media/site 2/dawn.wav": b"sound X"}


def _no_database(members: Members) -> Members:
    less = {name: content for name, content in members.items() if name != "project.db"}
    return less | {MANIFEST: listed(less)}


def _case(members: Members) -> Members:
    more = {**members, "media/SITE 2/Dawn.wav": members["media/site 2/dawn.wav"]}
    return more | {MANIFEST: listed(more)}


def _case_of_folders(members: Members) -> Members:
    more = {**members, "media/SITE 2/other.wav": members["media/site 2/dawn.wav"]}
    return more | {MANIFEST: listed(more)}


def _file_and_folder(members: Members) -> Members:
    more = {**members, "media/x.wav": b"1", "media/x.wav/y.wav": b"2"}
    return more | {MANIFEST: listed(more)}


def _other_database(change: str) -> Callable[[Members], Members]:
    def craft(members: Members) -> Members:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(members["project.db"])
            connection.executescript(change)
            members = {**members, "project.db": bytes(connection.serialize())}
        return members | {MANIFEST: listed(members)}

    return craft


def _broken_database(members: Members) -> Members:
    content = bytearray(members["project.db"])
    content[8192 * 3 : 8192 * 4] = bytes(8192)
    members = {**members, "project.db": bytes(content)}
    return members | {MANIFEST: listed(members)}


def _manifest(**values: Any) -> Callable[[Members], Members]:
    return lambda members: {**members, MANIFEST: json.dumps({**json.loads(members[MANIFEST]), **values}).encode()}


@pytest.mark.parametrize(
    ("craft", "reason"),
    [
        (_extra, "not those of its manifest"),
        (_stranger, "media are not those of the project"),
        (_less, "not those of its manifest"),
        (_changed, "checksum"),
        (_no_database, "not those of its manifest"),
        (_case, "letter case"),
        (_case_of_folders, "letter case"),
        (_file_and_folder, "letter case"),
        (_broken_database, "damaged"),
        (_other_database("CREATE TRIGGER t AFTER UPDATE ON bags BEGIN DELETE FROM tags; END"), "trigger"),
        (_other_database("CREATE VIEW v AS SELECT 1"), "view"),
        (_other_database("CREATE TABLE more (x)"), "more"),
        (_other_database("DROP TABLE tags"), "tags"),
        (_other_database("UPDATE segments SET region = x'00'"), "shape of a segment"),
        (_other_database("PRAGMA application_id = 1"), "not a backup"),
        (_other_database("UPDATE alembic_version SET version_num = '9999'"), "newer Bagtag"),
        (_manifest(format="bagtag-project-2"), "newer Bagtag"),
        (_manifest(format="x"), "manifest"),
        (_manifest(members=[]), "not those of its manifest"),
        (_manifest(members=[{"name": 1}]), "manifest is damaged"),
        (_manifest(kind="film"), "kind"),
        (lambda members: {**members, MANIFEST: b"[" * 100_000}, "manifest"),
        (lambda members: {**members, MANIFEST: b"\xff{"}, "manifest"),
        (lambda members: {name: each for name, each in members.items() if name != MANIFEST}, "no manifest"),
    ],
)
def test_crafted_contents_are_refused(
    packed: Path, tmp_path: Path, craft: Callable[[Members], Members], reason: str
) -> None:
    refused(tmp_path, craft(members_of(packed)), reason)


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFDIR])
def test_links_and_devices_are_refused(packed: Path, tmp_path: Path, kind: int) -> None:
    info = zipfile.ZipInfo("media/site 2/dawn.wav")
    info.create_system, info.external_attr = 3, (kind | 0o777) << 16
    refused(tmp_path, members_of(packed), "link or a device", **{info.filename: info})


def test_names_that_occur_twice_are_refused(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    crafted = write(tmp_path / "crafted.zip", members_of(packed))
    with zipfile.ZipFile(crafted, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr("project.db", b"another")
    refused_file(crafted, "same name")


def test_bombs_are_refused_before_and_while_they_are_unpacked(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = members_of(packed)
    (tmp_path / "in").mkdir()
    monkeypatch.setattr(checked_zip, "_FREE_BYTES", 2**16)
    zeros = {**members, "runs/1/model.npz": bytes(2**21)}
    refused(tmp_path, zeros | {MANIFEST: listed(zeros)}, "would become 2,097,152 bytes")
    monkeypatch.undo()
    # Headers and manifest state less than what comes out of the compressed data.
    small = {**zeros, "runs/1/model.npz": bytes(1000)}
    crafted = write(tmp_path / "crafted.zip", zeros | {MANIFEST: listed(small)})
    content = bytearray(crafted.read_bytes())
    true = (2**21).to_bytes(4, "little")
    assert content.count(true) >= 2
    crafted.write_bytes(content.replace(true, (1000).to_bytes(4, "little")))
    refused_file(crafted, "damaged|checksum|larger")
    # Members that share their bytes, as in Fifield's bomb.
    with zipfile.ZipFile(write(tmp_path / "crafted.zip", members), "a") as file:
        twin = file.getinfo("media/site 1/dawn.wav")
        shared = zipfile.ZipInfo("media/again.wav")
        for name in ("header_offset", "CRC", "compress_size", "file_size", "compress_type"):
            setattr(shared, name, getattr(twin, name))
        file.filelist.append(shared)
        file.NameToInfo[shared.filename] = shared
        file._didModify = True  # type: ignore[attr-defined]
    refused_file(tmp_path / "crafted.zip", "overlap")
    # More than the disk holds.
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 9, 1))  # type: ignore[attr-defined]
    refused_file(write(tmp_path / "crafted.zip", members), "Free some space")


@pytest.mark.parametrize("cut", [0, 10, 1000, -30])
def test_files_that_are_cut_off_or_no_zip_are_refused(packed: Path, tmp_path: Path, cut: int) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "crafted.zip").write_bytes(packed.read_bytes()[:cut])
    refused_file(tmp_path / "crafted.zip", "not a project packed by Bagtag")
