"""Packed projects that somebody crafted or damaged are refused and leave nothing behind."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from miml_core.errors import BagtagError
from miml_core.project.packing import checked_zip
from miml_core.project.packing.manifest import MANIFEST
from miml_core.project.packing.unpack import unpack
from tests.project.test_packing import left_in

Members = dict[str, bytes]


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
