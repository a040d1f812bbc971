"""Files of a project are opened only in folders that were chosen on this computer."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import update

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.project import Project
from miml_core.project.db.schema import media as table
from miml_core.project.jobs.tasks import importing
from miml_core.project.media import access as media_access
from tests.conftest import PATIENCE
from tests.project.sounds import write_recordings
from tests.project.test_media_changes import InProcess

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "state"))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def far(tmp_path: Path) -> Path:
    """Make three recordings in a folder outside of the project."""
    write_recordings(tmp_path / "data" / "2024", 3)
    return tmp_path / "data" / "2024"


@pytest.fixture
def foreign(home: Path, far: Path) -> Iterator[Project]:
    """Return a project with files in `far`, made by another installation."""
    with Project.create(home / "project") as project:
        project.media.add(sorted(far.iterdir()))
        (home.parent / "state" / "installation.db").unlink()
        yield project


@pytest.fixture
def touched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of every path that is opened or whose status is read."""
    found: list[str] = []

    def watch(module: object, name: str) -> None:
        original = getattr(module, name)

        def watched(path: object, *rest: object, **options: object) -> object:
            if isinstance(path, (str, bytes, os.PathLike)):
                found.append(os.fsdecode(path))
            return original(path, *rest, **options)

        monkeypatch.setattr(module, name, watched)

    for name in ("stat", "lstat", "open", "readlink", "scandir"):
        watch(os, name)
    watch(__import__("io"), "open")
    return found


def point_to(project: Project, path: str) -> None:
    with project.store.write() as connection:
        connection.execute(update(table).where(table.c.id == 1).values(path=path))


PLACES = {
    "system": "/etc/passwd",
    "network": "//192.0.2.1/share/x.wav",
    "backslashes": "\\\\192.0.2.1\\share\\x.wav",
    "up": "../../../../../../../../etc/passwd",
    "address": "file://192.0.2.1/share/x.wav",
}


@pytest.mark.parametrize("place", PLACES)
def test_no_path_outside_is_opened_or_looked_at(foreign: Project, touched: list[str], place: str) -> None:
    point_to(foreign, PLACES[place])
    touched.clear()
    inside = str(foreign.folder.parent)
    bag = foreign.bags.get(1)
    # A path with backslashes, or an address, is the name of a file in the project: there is none of that name.
    assert (bag.not_allowed, bag.missing) == ((False, True) if place in ("backslashes", "address") else (True, False))
    foreign.bags.list()
    foreign.check()
    foreign.media.blocked_folders()
    with pytest.raises(BagtagError):
        foreign.media.path(1)
    outside = [path for path in touched if not path.startswith((inside, str(foreign.folder.parent.parent / "state")))]
    assert not [path for path in outside if "passwd" in path or "192.0.2.1" in path or "data" in path]


def test_a_folder_not_chosen_here_is_named_and_can_be_allowed(foreign: Project, far: Path) -> None:
    assert [(one.folder, one.n_files, one.may_be_allowed) for one in foreign.media.blocked_folders()] == [
        (str(far), 3, True)
    ]
    with pytest.raises(BagtagError, match=rf"is in '{far}', which was not chosen on this computer.*--allow"):
        foreign.media.path(1)
    assert [bag.not_allowed for bag in foreign.bags.list().bags] == [True] * 3
    assert {problem.kind for problem in foreign.check()} == {"not-allowed"}
    foreign.media.allow_folder(far)
    assert foreign.media.path(1).parent == far and foreign.media.blocked_folders() == [] == foreign.check()
    assert not any(bag.not_allowed for bag in foreign.bags.list().bags)


def test_jobs_list_what_is_not_allowed(foreign: Project) -> None:
    job = foreign.jobs.wait(foreign.jobs.start("segment", {}).id, timeout=PATIENCE)
    assert job.state == "done" and job.n_failures == 3
    assert all("not chosen on this computer" in failure.reason for failure in foreign.jobs.failures(job.id))


def test_adding_importing_and_finding_again_allow_what_was_given(home: Path, far: Path, tmp_path: Path) -> None:
    with Project.create(home / "added") as project:
        project.media.add([far / "clip_000.wav"])
        assert project.media.path(1) == far / "clip_000.wav"
    with Project.create(home / "imported") as project:
        job = project.jobs.wait(project.jobs.start("import", {"paths": [str(far)]}).id, timeout=PATIENCE)
        assert job.state == "done" and project.media.path(3)
        shutil.move(far, tmp_path / "moved")
        project.media.relink(tmp_path / "moved")
        assert project.media.path(1) == tmp_path / "moved" / "clip_000.wav"


def test_media_inside_and_beside_need_no_leave(home: Path) -> None:
    write_recordings(home / "project" / "media", 1)
    write_recordings(home / "recordings", 1, seed=1)
    with Project.create(home / "project") as project:
        project.media.add([home / "project" / "media" / "clip_000.wav", home / "recordings" / "clip_000.wav"])
    shutil.copytree(home, home.parent / "copy")
    with Project.open(home.parent / "copy" / "project") as project:
        assert project.media.path(1) and project.media.path(2) and project.media.blocked_folders() == []
    assert installation.allowed_folders(home / "project", "media") == []


@pytest.mark.parametrize("link", ["file", "folder", "network"])
def test_a_link_in_the_project_that_leads_outside_counts_as_outside(
    foreign: Project, far: Path, touched: list[str], link: str
) -> None:
    media = foreign.folder / "media"
    if link == "folder":
        media.symlink_to(far)
    else:
        media.mkdir()
        target = Path("//192.0.2.1/share") if link == "network" else far
        (media / "clip_000.wav").symlink_to(target / "clip_000.wav")
    point_to(foreign, "media/clip_000.wav")
    touched.clear()
    assert foreign.bags.get(1).not_allowed
    assert not [path for path in touched if path.startswith(str(far)) or "192.0.2.1" in path]
    if link != "network":
        foreign.media.allow_folder(far)
        assert foreign.media.path(1) == media / "clip_000.wav"


def test_a_folder_chosen_through_a_link_stays_usable(home: Path, far: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(far)
    with Project.create(home / "project") as project:
        project.media.add([tmp_path / "link" / "clip_000.wav"])
        assert project.media.list()[0].path == str(tmp_path / "link" / "clip_000.wav") and project.media.path(1)


@pytest.mark.parametrize("place", ["elsewhere", "beside the project", "in the project", "a link to a link"])
def test_a_folder_imported_through_a_link_is_chosen(home: Path, far: Path, tmp_path: Path, place: str) -> None:
    with Project.create(home / "project") as project:
        link = {"elsewhere": tmp_path, "in the project": project.folder}.get(place, home) / "link"
        if place == "a link to a link":
            (tmp_path / "first").symlink_to(far)
        link.symlink_to(tmp_path / "first" if place == "a link to a link" else far)
        write_recordings(tmp_path / "not chosen", 1)
        (home / "other").symlink_to(tmp_path / "not chosen")
        job = project.jobs.wait(project.jobs.start("import", {"paths": [str(link)]}).id, timeout=PATIENCE)
        assert (job.state, job.n_failures, job.result["bags"]) == ("done", 0, 3)
        assert project.media.path(1) == link / "clip_000.wav" and project.media.blocked_folders() == []
        assert not media_access.is_usable(project.folder, home / "other" / "clip_000.wav"), "nobody chose this link"


def test_a_relative_folder_is_chosen(home: Path, far: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "link").symlink_to(far)
    monkeypatch.chdir(home)
    with Project.create(home / "project") as project:
        (bag,) = project.media.add(["../data/2024/clip_000.wav"])
        assert project.media.path(bag) == far / "clip_000.wav"
        (bag,) = project.media.add(["link/../2024/clip_001.wav"])
        assert project.media.path(bag) == far / "clip_001.wav", "the folder that the system finds, not home / 2024"
        paths = [str(home / ".." / "data" / "2024")]
        job = project.jobs.wait(project.jobs.start("import", {"paths": paths}).id, timeout=PATIENCE)
        assert (job.state, job.n_failures, job.result["bags"], job.result["known"]) == ("done", 0, 1, 2)
        project.media.allow_folder("../data/2024/..")
        assert media_access.is_usable(project.folder, tmp_path / "data" / "other" / "x.wav")


def test_a_link_in_an_imported_folder_that_leads_outside_is_listed(home: Path, far: Path, tmp_path: Path) -> None:
    (tmp_path / "chosen").mkdir()
    shutil.copy(far / "clip_000.wav", tmp_path / "chosen" / "a.wav")
    (tmp_path / "chosen" / "b.wav").symlink_to(far / "clip_001.wav")
    with Project.create(home / "project") as project:
        job = project.jobs.wait(
            project.jobs.start("import", {"paths": [str(tmp_path / "chosen")]}).id, timeout=PATIENCE
        )
        (failure,) = project.jobs.failures(job.id)
        assert job.result["bags"] == 1 and failure.item.endswith("b.wav") and f"is in '{far}'" in failure.reason


@pytest.mark.parametrize("folder", ["/", "/etc", "/proc/self/fd", "/dev/../dev"])
def test_folders_of_the_system_are_never_allowed(foreign: Project, folder: str) -> None:
    with pytest.raises(BagtagError, match="system folder"):
        foreign.media.allow_folder(folder)


def test_many_folders_are_named_by_few(foreign: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = [f"/data/site{n}/card{m}/x.wav" for n in range(8) for m in range(3)] + ["/mnt/disk/y.wav"]
    found = media_access._find_blocked(foreign.folder, stored)
    assert [(one.folder, one.n_files) for one in found] == [("/data", 24), ("/mnt/disk", 1)]


def test_a_page_of_many_bags_decides_once_per_folder(foreign: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    decided: list[Path] = []
    is_below = media_access._is_below
    monkeypatch.setattr(media_access, "_is_below", lambda path, bases: decided.append(path) or is_below(path, bases))
    media_access._folder_is_inside.cache_clear()
    foreign.bags.list()
    foreign.bags.list()
    assert len(decided) == 1, "three bags of one folder, on two pages"


# files that are no files, and names that are no text


def special_files(folder: Path) -> dict[str, Callable[[Path], object]]:
    return {
        "pipe.wav": lambda path: os.mkfifo(path),
        "socket.wav": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
        "loop.wav": lambda path: path.symlink_to(path),
        "nothing.wav": lambda path: path.symlink_to(folder / "gone"),
        "device.wav": lambda path: path.symlink_to("/dev/zero"),
    }


def test_pipes_devices_and_odd_names_are_listed_and_the_rest_goes_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "recordings"
    write_recordings(folder, 2)
    monkeypatch.chdir(folder)  # names of sockets must be short
    for name, make in special_files(folder).items():
        make(Path(name))
    odd = Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.wav"))
    odd_folder = Path(os.fsdecode(os.fsencode(folder) + b"/\xff"))
    odd_folder.mkdir()
    for place in (odd, odd_folder / "x.wav"):
        shutil.copy(folder / "clip_000.wav", place)
    with Project.create(home / "project") as project:
        job = project.jobs.wait(project.jobs.start("import", {"paths": [str(folder)]}).id, timeout=PATIENCE)
        reasons = {Path(one.item).name: one.reason for one in project.jobs.failures(job.id)}
        assert job.state == "done" and job.result["bags"] == 2
        assert set(reasons) == {*special_files(folder), "caf\\xe9.wav", "x.wav"}
        assert "is a named pipe" in reasons["pipe.wav"] and "is a socket" in reasons["socket.wav"]
        assert "leads back to itself" in reasons["loop.wav"] and "is a link to" in reasons["nothing.wav"]
        assert "system folder" in reasons["device.wav"]
        assert "rename the file" in reasons["caf\\xe9.wav"] and "rename the folder" in reasons["x.wav"]
        again = project.jobs.wait(project.jobs.start("import", {"paths": [str(odd_folder)]}).id, timeout=PATIENCE)
        assert again.state == "done" and again.n_failures == 1


def test_a_project_in_a_folder_whose_name_is_no_text_works(home: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(home) + b"/caf\xe9"))
    write_recordings(home / "recordings", 1)
    shutil.copytree(home / "recordings", folder / "recordings")
    with Project.create(folder / "project") as project:
        project.media.add([folder / "recordings" / "clip_000.wav"])
        assert project.jobs.wait(project.jobs.start("segment", {}).id, timeout=PATIENCE).n_failures == 0
        (folder / "recordings" / "clip_000.wav").unlink()
        job = project.jobs.wait(project.jobs.start("segment", {"scope": "all"}).id, timeout=PATIENCE)
        assert job.state == "done" and "caf" in project.jobs.failures(job.id)[0].reason


def test_a_folder_that_cannot_be_read_is_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recordings(home / "recordings", 1)
    (home / "recordings" / "locked").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    with Project.create(home / "project") as project:
        context = InProcess(project, {"paths": [str(home / "recordings")]})
        assert importing.run(context)["bags"] == 1
    assert [(Path(item).name, "Permission denied" in reason) for item, reason, _ in context.failures] == [
        ("locked", True)
    ]
