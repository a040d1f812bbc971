"""Where a project's recordings were made."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from PIL import Image
from sqlalchemy import text

from miml_core.__main__ import main
from miml_core.insights import open_source
from miml_core.insights.sun import recorded_place
from miml_core.media.recording_place import Place
from miml_core.project import Project
from tests.media.test_recording_time import add_chunk, quiet_wav


def test_the_place_of_a_project_is_kept_and_removed(project: Project) -> None:
    assert project.place is None
    revision = project.revision
    project.set_place(Place(43.6, 3.9), annotator="Ann")
    project.set_place(Place(43.6, 3.9), annotator="Bob")
    assert project.place == Place(43.6, 3.9) and "settings" in project.news(revision).topics
    (entry,) = [one for one in project.edits.history() if "place" in one.sentence]
    assert (entry.annotator, entry.sentence) == ("Ann", "set the place of the recordings to 43.6° N, 3.9° E")
    folder = project.folder
    project.close()
    with Project.open(folder) as again:
        assert again.place == Place(43.6, 3.9)
        again.set_place(None)
        assert again.place is None


@pytest.mark.parametrize(
    "stored", ["null", "7", '"here"', "[1]", "[91, 0]", '["a", "b"]', "{}", "[1, 2, 3]", "[NaN, 0]"]
)
def test_a_foreign_place_that_is_none(project: Project, stored: str) -> None:
    with project.store.write() as connection:
        connection.execute(text("INSERT INTO meta (key, value) VALUES ('place', :value)"), {"value": stored})
    assert project.place is None


def test_a_bag_has_the_place_of_its_file_or_of_the_project(project: Project, tmp_path: Path) -> None:
    with_gps, without, undated = (
        tmp_path / "20240520_043000.wav",
        tmp_path / "20241224_180000.wav",
        tmp_path / "wren.wav",
    )
    for path in (with_gps, without, undated):
        quiet_wav(path)
        add_chunk(path, b"note", path.name.encode())  # so that they are different files
    add_chunk(with_gps, b"guan", b"Loc Position: -33.9 151.2\n")
    first, second, third = project.media.add([with_gps, without, undated])
    assert project.media.location(first).place == Place(-33.9, 151.2) and project.media.location(second).place is None
    project.set_place(Place(43.6, 3.9))
    located = [project.media.location(bag) for bag in (first, second, third)]
    assert [one.place for one in located] == [Place(-33.9, 151.2), Place(43.6, 3.9), Place(43.6, 3.9)]
    assert [one.from_file for one in located] == [True, False, False]
    assert [one.recorded_at for one in located] == [datetime(2024, 5, 20, 4, 30), datetime(2024, 12, 24, 18), None]
    with_gps.unlink()
    assert project.media.location(first).place == Place(43.6, 3.9)


def test_a_picture_has_the_place_of_its_camera(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8825).update({1: "N", 2: (52.0, 12.0, 0.0), 3: "W", 4: (1.0, 30.0, 0.0)})
    Image.new("RGB", (40, 30), "red").save(tmp_path / "here.jpg", exif=exif)
    Image.new("RGB", (40, 30), "blue").save(tmp_path / "0.jpg")
    with Project.create(tmp_path / "pictures", kind="picture") as project:
        project.media.add([tmp_path / "0.jpg", tmp_path / "here.jpg"])
        assert [project.media.location(bag).place for bag in project.bags.ids()] == [None, Place(52.2, -1.5)]
        assert recorded_place(open_source(project=project), project) == Place(52.2, -1.5), "of the first that has one"


def test_the_command_line_stores_and_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "marsh")
    assert main(["new", folder, "--place=-33.9,151.2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["place"] == {"latitude": -33.9, "longitude": 151.2}
    assert main(["status", folder]) == 0
    assert "  place     33.9° S, 151.2° E\n" in capsys.readouterr().out
    assert main(["status", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["place"] == {"latitude": -33.9, "longitude": 151.2}


def test_the_command_line_refuses_what_is_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["new", str(tmp_path / "marsh"), "--place", "somewhere"])
    assert "'somewhere' is not a place; give latitude and longitude in degrees" in capsys.readouterr().err
    assert not (tmp_path / "marsh").exists()
