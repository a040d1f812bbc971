"""The cache of a project that somebody else made: no link is followed, nothing else is deleted."""

from miml_core.project.db import cache


def test_what_is_kept_comes_back(project):
    assert cache.read(project.folder, "one.jpg", "thumbnails") is None
    assert cache.write(project.folder, "one.jpg", b"picture", "thumbnails")
    assert cache.read(project.folder, "one.jpg", "thumbnails") == b"picture"
    assert [path.name for path in (project.folder / "cache" / "thumbnails").iterdir()] == ["one.jpg"]


def test_links_lead_nowhere(project, tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    for n in range(3):
        (victim / f"{n}.txt").write_text("mine")
    (project.folder / "cache").mkdir(exist_ok=True)
    (project.folder / "cache" / "images").symlink_to(victim)
    assert not cache.write(project.folder, "0.txt", b"theirs", "images")
    assert cache.read(project.folder, "0.txt", "images") is None
    cache.drop_oldest(project.folder, 1, "images")
    assert [path.read_text() for path in sorted(victim.iterdir())] == ["mine"] * 3
    (project.folder / "cache" / "secret.json").symlink_to(victim / "1.txt")
    assert cache.read(project.folder, "secret.json") is None
    assert cache.write(project.folder, "secret.json", b"new")
    assert (victim / "1.txt").read_text() == "mine" and cache.read(project.folder, "secret.json") == b"new"


def test_the_oldest_files_go_first(project):
    import os

    for n in range(5):
        cache.write(project.folder, f"{n}.image", b"x", "images")
        os.utime(project.folder / "cache" / "images" / f"{n}.image", (n, n))
    cache.drop_oldest(project.folder, 2, "images")
    assert sorted(path.name for path in (project.folder / "cache" / "images").iterdir()) == ["3.image", "4.image"]


def test_the_oldest_files_go_until_the_rest_is_small_enough(project, tmp_path):
    import os

    folder = project.folder / "cache" / "timelines"
    cache.drop_oldest_bytes(project.folder, 0, "timelines")
    for n in range(5):
        cache.write(project.folder, f"{n}.f16", b"x" * 100, "timelines")
        os.utime(folder / f"{n}.f16", (n, n))
    cache.drop_oldest_bytes(project.folder, 500, "timelines")
    assert len(list(folder.iterdir())) == 5
    cache.drop_oldest_bytes(project.folder, 299, "timelines")
    assert sorted(path.name for path in folder.iterdir()) == ["3.f16", "4.f16"]
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "mine.txt").write_text("mine")
    (project.folder / "cache" / "elsewhere").symlink_to(tmp_path / "victim")
    cache.drop_oldest_bytes(project.folder, 0, "elsewhere")
    assert (tmp_path / "victim" / "mine.txt").exists()
