"""Finding the file that a table names."""

from __future__ import annotations

from pathlib import Path

import pytest

from miml_core import BagtagError
from miml_core.project import Project
from miml_core.project.media import files as media_files
from miml_core.project.queries.file_names import NOT_FOUND, SEVERAL, FileFinder


def add_files(project: Project, *names: str) -> None:
    for name in names:
        path = project.folder / "media" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        size, mark = media_files.fingerprint(path)
        medium = {"path": media_files.stored_path(project.folder, path), "size": size, "fingerprint": mark,
                  "missing": False, "duration": 20.0, "rate": 16000}  # fmt: skip
        bags = [{"name": f"{name} {k}", "start": 10.0 * k, "end": 10.0 * k + 10, "recorded_at": None} for k in range(2)]
        with project.store.write() as connection:
            media_files.store_file(connection, media_files.FileFacts(medium, bags))


@pytest.fixture
def recorded(project: Project) -> Project:
    add_files(project, "dawn.wav", "Site A/Dusk.WAV", "north/rain.flac", "south/rain.flac", "2024.05.01 pond.wav")
    return project


@pytest.mark.parametrize(
    ("name", "found", "how"),
    [
        ("media/dawn.wav", "media/dawn.wav", "path"),
        ("dawn.wav", "media/dawn.wav", "name"),
        ("/elsewhere/audio/dawn.wav", "media/dawn.wav", "name"),
        ("C:\\audio\\dawn.wav", "media/dawn.wav", "name"),
        ("DUSK.wav", "media/Site A/Dusk.WAV", "name, letter case ignored"),
        ("dawn", "media/dawn.wav", "name without extension"),
        ("dusk.mp3", "media/Site A/Dusk.WAV", "name without extension"),
        ("2024.05.01 pond", "media/2024.05.01 pond.wav", "name without extension"),
        ("other/south/rain.flac", "media/south/rain.flac", "name"),
        ("north/RAIN", "media/north/rain.flac", "name without extension"),
        ("rain.flac", None, SEVERAL),
        ("rain", None, SEVERAL),
        ("snow.wav", None, NOT_FOUND),
    ],
)
def test_a_name_is_found(recorded: Project, name: str, found: str | None, how: str) -> None:
    with recorded.store.read() as connection:
        finder = FileFinder(connection, recorded.folder)
        medium, said = finder.find(name)
        assert said == how
        assert (None if medium is None else finder.path(medium)) == found


def test_a_path_starts_at_the_table(recorded: Project) -> None:
    with recorded.store.read() as connection:
        finder = FileFinder(connection, recorded.folder, beside=recorded.folder / "media" / "north")
        medium, how = finder.find("rain.flac")
        assert medium is not None and finder.path(medium) == "media/north/rain.flac" and how == "path"


def test_a_pattern_leaves_out_what_is_around_the_name(recorded: Project) -> None:
    with recorded.store.read() as connection:
        finder = FileFinder(connection, recorded.folder, pattern="labels_*_v2")
        assert finder.find("labels_dawn_v2.txt").medium == finder.find("dawn.wav").medium == 1
        with pytest.raises(BagtagError, match=r"needs one \*"):
            FileFinder(connection, recorded.folder, pattern="labels")


def test_tag_tables_name_files_without_extension(recorded: Project, tmp_path: Path) -> None:
    table = tmp_path / "tags.csv"
    lines = ["dawn,0,Wren", "DUSK,10,Owl", "rain,0,Owl", "dawn,3,Owl", "dawn,,Owl"]
    lines += [f"nowhere {k}.wav,0,Owl" for k in range(260)]
    table.write_text("\n".join(["file,start_s,tags", *lines]))
    done = recorded.edits.import_tags(table)
    assert done.n_bags == 2 and done.n_left_out == 263
    assert sorted({one.name for one in recorded.classes.list()}) == ["Owl", "Wren"]
    assert len(done.left_out) == 4
    assert done.left_out[3].startswith("260 lines: The file is not in the project: 'nowhere 0.wav'")
    assert done.left_out[3].endswith("and 257 more.")
