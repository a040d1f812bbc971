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
    assert "1 of these 1 bags" in texts(actions)
    actions.session_state["chosen"] = [second, third]
    actions.run()
    assert "of these" not in texts(actions), "the question lapsed with the selection"
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
