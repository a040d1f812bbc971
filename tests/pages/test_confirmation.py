"""A confirmation acts on exactly what it was asked for."""

import pytest
from streamlit.testing.v1 import AppTest

from miml_core.project import Project
from tests.pages.conftest import press, texts


def actions_script() -> None:
    from pathlib import Path

    import streamlit as st

    from miml_core.project import Project
    from pages.widgets.library.bag_actions import bag_actions

    with Project.open(Path(st.session_state["folder"]), annotator="Ann") as project:
        chosen = [bag for bag in project.bags.list().bags if bag.id in st.session_state["chosen"]]
        bag_actions(project, chosen, lambda: st.session_state["chosen"])


@pytest.fixture
def actions(project: Project) -> AppTest:
    app = AppTest.from_function(actions_script, default_timeout=30)
    app.session_state["folder"] = str(project.folder)
    return app


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
    app = AppTest.from_function(classes_script, default_timeout=30)
    folder = str(project.folder)
    app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
    for elsewhere in ({"chosen": [other.id]}, {"folder": str(tmp_path / "another")}, {"chosen": []}):
        app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
        press(app.run(), "Remove")
        sure = f"Remove {used.name} and what carries it"
        assert sure in [button.label for button in app.button], "it asks first"
        for name, value in elsewhere.items():
            app.session_state[name] = value
        app.run()
        assert not [button.label for button in app.button if "what carries it" in button.label], elsewhere
        app.session_state["folder"], app.session_state["chosen"] = folder, [used.id]
        app.run()
        assert sure not in [button.label for button in app.button], "the question lapsed"
    press(app, "Remove")
    press(app, sure)
    assert used.id not in [one.id for one in project.classes.list()]
    project.edits.undo()
    assert used.id in [one.id for one in project.classes.list()]
