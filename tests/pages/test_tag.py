"""The choices of the tag page."""

from tests.pages.conftest import texts


def test_unfinished_bags_as_they_were_added(project, show, canvases):
    show(project, "tag")
    assert canvases["tag.canvas"].mode == "tag"
    assert canvases["tag.canvas"].queue == {"show": "unfinished", "sort": "added"}


def test_the_choices_make_another_queue(project, show, canvases):
    app = show(project, "tag")
    app.segmented_control(key="tag.show").set_value("all").run()
    app.selectbox(key="tag.sort").set_value("name").run()
    assert canvases["tag.canvas"].queue == {"show": "all", "sort": "name"}


def test_autoplay_is_passed_on(project, show, canvases):
    app = show(project, "tag")
    assert not canvases["tag.canvas"].autoplay
    app.toggle(key="tag.play").set_value(True).run()
    assert canvases["tag.canvas"].autoplay


def test_pictures_are_not_played(pictures, show):
    assert not [one for one in show(pictures, "tag").toggle if one.label == "Autoplay"]


def test_an_empty_project_points_to_the_library(home, no_workers, show):
    from miml_core.project import Project

    with Project.create(home / "empty") as project:
        assert "nothing to tag yet" in texts(show(project, "tag"))
