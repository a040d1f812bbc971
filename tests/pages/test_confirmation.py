"""A confirmation acts on exactly what it was asked for."""

import pytest
from streamlit.testing.v1 import AppTest

from miml_core import BagtagError
from miml_core.project import Project
from pages.widgets.library import bag_actions, class_editor, missing_files
from tests.conftest import PATIENCE
from tests.pages.conftest import press, texts


def actions_script() -> None:
    from pathlib import Path

    import streamlit as st

    from miml_core.project import Project
    from pages.widgets.library.bag_actions import bag_actions

    with Project.open(Path(st.session_state["folder"]), annotator="Ann") as project:
        bags = {bag.id: bag for bag in project.bags.list().bags}
        chosen = [bags[bag_id] for bag_id in st.session_state["chosen"] if bag_id in bags]
        listed = [bag_id for bag_id in project.bags.ids() if bag_id not in st.session_state["left"]]
        bag_actions(project, chosen, lambda: st.session_state["chosen"], listed=listed)


@pytest.fixture
def actions(project: Project) -> AppTest:
    app = AppTest.from_function(actions_script, default_timeout=PATIENCE)
    app.session_state["folder"] = str(project.folder)
    app.session_state["left"] = []
    return app


def leave(actions: AppTest, *bag_ids: int) -> None:
    """Let bags leave the list, and so the selection, as when another annotator finishes them."""
    actions.session_state["left"] = list(bag_ids)
    actions.session_state["chosen"] = [one for one in actions.session_state["chosen"] if one not in bag_ids]
    assert not actions.run().exception


def test_a_question_about_one_bag_is_not_answered_for_others(project, actions):
    first, second, third, _ = project.bags.ids()
    actions.session_state["chosen"] = [first]
    press(actions.run(), "Remove")
    question = "has tags or labels, which are removed too"
    assert f"{project.bags.get(first).name} {question}" in texts(actions).replace("\\", "")
    actions.session_state["chosen"] = [second, third]
    actions.run()
    assert question not in texts(actions), "the question lapsed with the selection"
    press(actions, "Remove")
    assert len(project.bags.ids()) == 4, "the first click only asks"
    actions.session_state["chosen"] = [first]
    actions.run()
    press(actions, "Remove")
    actions.session_state["chosen"] = []
    press(actions, "Remove anyway")
    assert len(project.bags.ids()) == 4, "nothing is selected any more: nothing is removed"


def test_segments_are_detected_in_the_bags_that_stand_beside_the_button_or_not_at_all(project, actions):
    first, second, *_ = project.bags.ids()
    actions.session_state["chosen"] = [first]
    actions.run()
    actions.session_state["chosen"] = [second]  # by a click that arrives together with that on the button
    press(actions, "Detect segments again")
    assert project.jobs.list() == [] and "selection has changed" in actions.toast[0].value
    press(actions, "Detect segments again")
    assert [job.params["bags"] for job in project.jobs.list()] == [[second]]


@pytest.mark.parametrize("open_key", ["library.note.open", "library.remove.open"])
def test_a_note_or_removal_that_is_open_stays_when_its_bag_leaves_the_list(project, actions, open_key):
    first, *_ = project.bags.ids()
    actions.session_state["chosen"] = [first]
    actions.run()
    actions.session_state[open_key] = True
    leave(actions, first)
    assert [area.label for area in actions.text_area] == ["Note"]
    leave(actions)
    assert [area.label for area in actions.text_area] == ["Note"], "it came back, without being selected"
    actions.session_state[open_key] = False
    assert not actions.run().text_area


@pytest.mark.parametrize("leaving", [1, 2])
def test_a_removal_of_bags_that_left_the_list_is_carried_out_for_just_them(project, actions, leaving):
    first, second, *rest = project.bags.ids()
    actions.session_state["chosen"] = [first, second]
    actions.session_state["library.remove.open"] = True
    actions.run()
    leave(actions, *(first, second)[:leaving])
    assert "Remove 2 bags from the project?" in texts(actions)
    press(actions, "Remove")
    assert not actions.toast and "2 bags have tags or labels" in texts(actions)
    leave(actions, first, second)
    press(actions, "Remove anyway")
    assert project.bags.ids() == rest
    press(actions, "Undo")
    assert project.bags.ids() == [first, second, *rest]


@pytest.mark.parametrize("selected", ["another", "none", "another project"])
def test_a_removal_of_bags_that_left_the_list_lapses_when_something_else_is_selected(
    project, actions, tmp_path, selected
):
    Project.create(tmp_path / "another").close()
    first, second, *_ = project.bags.ids()
    actions.session_state["chosen"] = [first, second]
    actions.session_state["library.remove.open"] = True
    actions.run()
    leave(actions, first)
    press(actions, "Remove")
    before = project.bags.ids()
    if selected == "another project":
        actions.session_state["folder"] = str(tmp_path / "another")
        actions.run()
        assert not actions.button
        actions.session_state["folder"] = str(project.folder)
    else:
        actions.session_state["chosen"] = [project.bags.ids()[-1]] if selected == "another" else []
        press(actions, "Remove anyway")  # a click that arrives together with the selection
        assert "selection has changed" in actions.toast[0].value
    assert project.bags.ids() == before
    actions.run()
    assert "Remove anyway" not in [button.label for button in actions.button]
    assert "2 bags" not in texts(actions), "what is selected now counts"


def test_a_question_about_bags_stays_when_their_rows_change_places(project, actions):
    first, second, *rest = project.bags.ids()
    actions.session_state["chosen"] = [first, second]
    press(actions.run(), "Remove")
    actions.session_state["chosen"] = [second, first]
    press(actions.run(), "Remove anyway")
    assert project.bags.ids() == rest


def test_classes_that_are_not_selected_any_more_are_not_merged(project, monkeypatch):
    first, second, *_ = [one.id for one in project.classes.list()]
    monkeypatch.setattr(class_editor, "selected_ids", lambda key: [first])
    with pytest.raises(BagtagError, match="selection has changed"):
        class_editor._merge_into(project, [first, second])


def test_files_that_changed_after_the_page_was_drawn_are_not_accepted(project):
    one, other = (project.media.path(bag) for bag in project.bags.ids()[:2])
    with one.open("ab") as file:
        file.write(bytes(2000))
    project.media.refresh_missing()
    drawn = project.media.changed_ids()
    with other.open("ab") as file:
        file.write(bytes(2000))
    missing_files._accept(project, drawn)
    project.media.refresh_missing()
    assert len(drawn) == 1 and len(project.media.changed_ids()) == 1 and project.media.changed_ids() != drawn


def test_removed_bags_are_named_and_come_back(project, actions):
    first, *rest = project.bags.ids()
    name = project.bags.get(first).name
    actions.session_state["chosen"] = [first]
    press(actions.run(), "Remove")
    press(actions, "Remove anyway")
    assert project.bags.ids() == rest
    assert f"removed {name} from the project" in texts(actions).replace("\\", "")
    press(actions, "Undo")
    assert project.bags.ids() == [first, *rest]


def test_a_removal_is_offered_for_undo_only_in_its_project(project, actions, tmp_path):
    Project.create(tmp_path / "another").close()
    actions.session_state["chosen"] = [project.bags.ids()[0]]
    press(actions.run(), "Remove")
    press(actions, "Remove anyway")
    actions.session_state["chosen"] = []
    for folder, offered in ((tmp_path / "another", False), (project.folder, True)):
        actions.session_state["folder"] = str(folder)
        assert ("Undo" in [button.label for button in actions.run().button]) == offered


def test_an_undo_of_a_removal_whose_click_arrives_twice_is_undone_once(project, monkeypatch):
    monkeypatch.setattr("streamlit.session_state", {})
    clicks = []
    monkeypatch.setattr("streamlit.button", lambda label, on_click, args, **_: clicks.append((on_click, args)))
    first = project.bags.ids()[0]
    bag_actions._remove_bags(project, (first,), lambda: None, True)
    bag_actions.bag_actions(project, [], list, listed=project.bags.ids())
    ((undo, arguments),) = clicks
    undo(*arguments)
    undo(*arguments)
    assert [one.kind for one in project.edits.history(limit=2)] == ["undo", "act"]


def classes_script() -> None:
    from pathlib import Path

    import streamlit as st

    from miml_core.project import Project
    from pages.widgets.library.class_editor import _editor

    with Project.open(Path(st.session_state["folder"]), annotator="Ann") as project:
        classes = project.classes.list()
        _editor(project, classes, [one for one in classes if one.id in st.session_state["chosen"]])


def test_a_question_about_a_class_lapses_with_the_selection_and_with_the_project(project, tmp_path):
    used = next(one for one in project.classes.list() if one.n_bags)
    other = next(one for one in project.classes.list() if one.id != used.id)
    with Project.create(tmp_path / "another") as another:
        for one in project.classes.list():
            another.edits.add_class(f"{one.name} of another")
    app = AppTest.from_function(classes_script, default_timeout=PATIENCE)
    folder = str(project.folder)
    app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
    for elsewhere in ({"chosen": [other.id]}, {"folder": str(tmp_path / "another")}, {"chosen": []}):
        app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
        press(app.run(), "Remove")
        sure = f"Remove {used.name} and its tags and labels"
        assert sure in [button.label for button in app.button], "it asks first"
        for name, value in elsewhere.items():
            app.session_state[name] = value
        app.run()
        assert not [button.label for button in app.button if "its tags and labels" in button.label], elsewhere
        app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
        app.run()
        assert sure not in [button.label for button in app.button], "the question lapsed"
    press(app, "Remove")
    press(app, sure)
    assert used.id not in [one.id for one in project.classes.list()]
    project.edits.undo()
    assert used.id in [one.id for one in project.classes.list()]
