"""The library's table, filters, classes and files."""

import shutil
from types import SimpleNamespace

import pytest

from pages.widgets.library.bag_list import state_of
from pages.widgets.library.class_editor import free_keys
from pages.widgets.library.thumbnails import thumbnails
from pages.widgets.text import plain
from tests.pages.conftest import press, texts


def table(app):
    return app.dataframe[0].value


def test_bags_are_listed_with_tags_and_progress(project, show, monkeypatch):
    monkeypatch.setattr("pages.widgets.library.thumbnails._SECONDS_A_LOOK", 60.0)
    project.edits.set_label(project.segments.list(project.bags.ids()[0])[0].id, project.classes.list()[0].id)
    shown = table(show(project))
    assert list(shown["name"]) == [f"garden_{n}.wav" for n in (1, 2, 3, 4)]
    assert list(shown["segments"]) == [5, 4, 3, 4]
    assert shown["reviewed"][0] == pytest.approx(20)
    assert set(shown["tags"][0]) == {"Wren", "Robin", "Blackbird"}
    assert shown["picture"].str.startswith("data:image/jpeg;base64,").all()


def test_search_filter_and_species_narrow_the_list(project, show):
    app = show(project)
    app.text_input(key="library.search").set_value("garden_3").run()
    assert list(table(app)["name"]) == ["garden_3.wav"]
    app.text_input(key="library.search").set_value("").run()
    app.selectbox(key="library.show").set_value("unfinished").run()
    assert "No bag matches this search" in texts(app)


def test_an_empty_project_explains_what_to_do_next(home, no_workers, show):
    from miml_core.project import Project

    app = show(Project.create(home / "new", kind="picture"))
    assert "This project has no pictures yet" in texts(app)
    press(app, "Add pictures")
    assert any(button.label == "Add" for button in app.button)


def test_a_half_typed_note_stays_when_the_filtered_list_becomes_empty(project, show):
    bag_id = project.bags.ids()[1]
    project.edits.unfinish(bag_id)
    selected = ([bag_id], 0, {"selection": {"rows": [0]}})
    app = show(project, library__show="unfinished", library__table__drawn=selected, library__note__open=True)
    app.text_area(key=f"library.note.{bag_id}").set_value("half a sen").run()
    project.edits.finish(bag_id)
    app.run()
    assert "No bag matches this search" in texts(app)
    assert app.text_area(key=f"library.note.{bag_id}").value == "half a sen"
    press(app, "Save")
    assert project.bags.get(bag_id).note == "half a sen" and not app.text_area
    project.edits.unfinish(project.bags.ids()[2])
    app.run()
    assert len(table(app)) == 1 and "Click a row" in texts(app), "another bag in the first row is not selected"


def test_a_removal_of_all_bags_can_be_undone(project, show):
    for bag_id in project.bags.ids()[1:]:
        project.edits.remove_bags([bag_id], confirm=True)
    (bag_id,) = project.bags.ids()
    app = show(project, library__table__drawn=([bag_id], 0, {"selection": {"rows": [0]}}))
    press(app, "Remove")
    press(app, "Remove anyway")
    assert "has no recordings yet" in texts(app) and "Click a row" not in texts(app)
    press(app, "Undo")
    assert project.bags.ids() == [bag_id]


def test_long_lists_come_in_pages(project, show, monkeypatch):
    monkeypatch.setattr("pages.widgets.library.bag_list.PER_PAGE", 3)
    app = show(project)
    assert len(table(app)) == 3
    app.pagination[0].set_value(2).run()
    assert list(table(app)["name"]) == ["garden_4.wav"]
    app.text_input(key="library.search").set_value("garden").run()
    assert list(table(app)["name"]) == ["garden_1.wav", "garden_2.wav", "garden_3.wav"]


def test_missing_files_are_listed_with_a_way_to_find_them(project, show):
    path = project.media.path(project.bags.ids()[1])
    path.rename(path.with_name("elsewhere.tmp"))
    project.media.refresh_missing()
    app = show(project)
    assert "1 file is missing" in texts(app)
    assert table(app)["state"][1] == "File is missing"
    path.with_name("elsewhere.tmp").rename(path)
    press(app, "Check again")
    assert "is missing" not in texts(app)


def test_a_class_is_added_and_keys_in_use_are_not_offered(project, show):
    app = press(show(project), "Classes")
    field = next(one for one in app.text_input if one.label == "New class")
    field.set_value("Zilpzalp")
    next(button for button in app.button if button.label == "Add").click()
    app.run()
    added = project.classes.find("zilpzalp")
    assert added is not None
    project.edits.change_class(added.id, shortcut="w")
    classes = project.classes.list()
    assert "w" not in free_keys(classes, classes[0])
    assert "w" in free_keys(classes, classes[-1])
    assert not {"c", "r", "n", "0"} & set(free_keys(classes, classes[0]))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"missing": True, "error": "x"}, "File is missing"),
        ({"changed": True, "error": "x"}, "File has changed"),
        ({"not_allowed": True}, "Folder not allowed yet"),
        ({"error": "it is damaged"}, "Error: it is damaged"),
        ({"segmented": False, "n_segments": 0}, "Not segmented"),
        ({"segmented": False}, "Segments out of date"),
        ({}, "Untagged"),
        ({"tags": {1: 1}}, "Tagging started"),
        ({"finished": True}, "Tagged"),
        ({"finished": True, "n_segments": 0}, "Tagged, no segments"),
        ({"finished": True, "n_reviewed": 3}, "Reviewed"),
    ],
)
def test_the_most_pressing_state_of_a_bag_is_shown(facts, expected):
    usual = {"missing": False, "changed": False, "not_allowed": False, "error": None, "tags": {}}
    usual |= {"segmented": True, "finished": False, "n_segments": 3, "n_reviewed": 0}
    assert state_of(SimpleNamespace(**usual | facts)) == expected


def test_thumbnails_that_take_too_long_wait_for_the_next_look(project, show, followed, monkeypatch):
    bags = project.bags.list().bags
    monkeypatch.setattr("pages.widgets.library.thumbnails._SECONDS_A_LOOK", -1.0)
    assert thumbnails(project, bags) == ({}, False)
    app = show(project)
    monkeypatch.setattr("pages.widgets.library.thumbnails._SECONDS_A_LOOK", 60.0)
    pictures, complete = thumbnails(project, bags)
    assert (set(pictures), complete) == ({bag.id for bag in bags}, True)
    assert followed.pop("thumbnails")["atLeastEvery"] == 1.0, "the page asks for the rest soon"
    app.run()
    assert "library-bags" in followed and "thumbnails" not in followed


def test_a_file_that_cannot_be_read_has_no_thumbnail_and_does_not_stop_the_page(project):
    bags = project.bags.list().bags
    project.media.path(bags[0].id).write_bytes(b"no sound at all")
    assert set(thumbnails(project, bags)[0]) == {bag.id for bag in bags[1:]}


def test_a_changed_file_is_shown_and_can_be_accepted(project, show):
    path = project.media.path(project.bags.ids()[1])
    path.write_bytes(path.read_bytes()[:-20_000])
    app = show(project)
    assert "1 file changed after being added" in texts(app) and "is missing" not in texts(app)
    assert table(app)["state"][1] == "File has changed"
    press(app, "Accept as it is now")
    assert "changed after being added" not in texts(app)
    assert table(app)["state"][1] == "Segments out of date"


def test_a_folder_not_chosen_here_is_shown_and_can_be_allowed(project, show, tmp_path, monkeypatch):
    distant_folder = tmp_path / "disk" / "2024"
    distant_folder.mkdir(parents=True)
    for path in {project.media.path(bag_id) for bag_id in project.bags.ids()}:
        shutil.move(path, distant_folder / path.name)
    project.media.relink(distant_folder)
    monkeypatch.setenv("BAGTAG_STATE", str(tmp_path / "another installation"))
    app = show(project)
    assert "4 files of this project lie in" in texts(app) and plain(str(distant_folder)) in texts(app)
    assert set(table(app)["state"]) == {"Folder not allowed yet"}
    press(app, f"Allow {plain(str(distant_folder))}")
    assert "not chosen on this computer" not in texts(app)
    assert "Folder not allowed yet" not in set(table(app)["state"])


def test_the_picture_of_a_file_comes_back_with_it(project):
    bags = project.bags.list().bags
    path = project.media.path(bags[0].id)
    path.rename(path.with_suffix(".away"))
    assert set(thumbnails(project, project.bags.list().bags)[0]) == {bag.id for bag in bags[1:]}
    path.with_suffix(".away").rename(path)
    assert set(thumbnails(project, project.bags.list().bags)[0]) == {bag.id for bag in bags}
