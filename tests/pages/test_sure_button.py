"""A click is done, also when the run it started never reached its button."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import press


def script() -> None:
    import streamlit as st

    from pages.widgets.sure_button import do_what_was_pressed, sure_button

    do_what_was_pressed(st.session_state.get("page", "here"))
    if st.session_state.get("overtaken"):
        st.session_state["overtaken"] = False
        st.stop()
    if st.session_state.get("page", "here") == "here":
        value = st.session_state.get("value", 1)
        sure_button("Do it", lambda: st.session_state["done"].append(value), key="do", disabled=value < 0)


@pytest.fixture
def app() -> AppTest:
    app = AppTest.from_function(script)
    app.session_state["done"] = []
    return app.run()


def test_a_click_is_done_once(app):
    press(app, "Do it").run()
    assert app.session_state["done"] == [1]


def test_a_click_whose_run_is_overtaken_is_done_by_the_next_with_its_values(app):
    app.session_state["overtaken"] = True
    app.button[0].click()
    app.run()
    assert app.session_state["done"] == []
    app.session_state["value"] = 2
    app.run()
    assert app.session_state["done"] == [2]


def test_a_click_on_a_page_that_is_left_at_once_is_done_with_the_values_last_seen(app):
    app.session_state["page"] = "elsewhere"
    app.button[0].click()
    app.run()
    app.run()
    assert app.session_state["done"] == [1]


def test_a_button_that_may_not_be_pressed_any_more_does_nothing(app):
    app.session_state["value"] = -1
    press(app, "Do it").run()
    assert app.session_state["done"] == []


def test_pages_use_no_button_whose_click_can_be_lost_and_no_rerun_that_overtakes_one():
    pages = Path(__file__).resolve().parents[2] / "pages"
    wrong = re.compile(
        r"^\s*(if|elif|and|or|return|not)\b[^\n#]*\bst\.(button|form_submit_button)\(|\bst\.rerun\(", re.MULTILINE
    )
    allowed = {"run_again.py", "class_editor.py", "apply_settings.py"}
    found = {path.name for path in pages.rglob("*.py") if wrong.search(_code(path))}
    assert found <= allowed, found - allowed


def _code(path: Path) -> str:
    """A file without its documentation, which may speak of what is not done."""
    return re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
