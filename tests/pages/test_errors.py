"""Buttons: what a click does, what it uses, and how its error is shown."""

import ast
import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.conftest import PATIENCE, ROOT
from tests.pages.conftest import press


def script() -> None:
    import streamlit as st

    from miml_core import BagtagError
    from pages.widgets.errors import action_button, forget_errors

    def act() -> None:
        st.session_state["clicks"] = st.session_state.get("clicks", 0) + 1
        if st.session_state["name"] == "":
            raise BagtagError("Give it a *name*.")

    if st.session_state.get("other page"):
        forget_errors()
    st.text_input("Name", key="name")
    action_button("Do it", act, key="do")


def test_an_error_is_shown_below_its_button_until_the_next_click():
    app = press(AppTest.from_function(script, default_timeout=PATIENCE).run(), "Do it")
    assert [error.value for error in app.error] == [r"Give it a \*name\*\."]
    assert [error.value for error in app.run().error] == [r"Give it a \*name\*\."], "a run of the page keeps it"
    app.text_input(key="name").set_value("x")
    press(app, "Do it")
    assert not app.error and app.session_state["clicks"] == 2, "the click acts on what is typed at that moment"


def test_an_error_is_gone_on_another_page():
    app = press(AppTest.from_function(script, default_timeout=PATIENCE).run(), "Do it")
    app.session_state["other page"] = True
    assert not app.run().error


def test_a_training_starts_with_values_entered_just_before_the_click(project, show):
    app = show(project, "train")
    app.selectbox(key="train.model").set_value("sim")
    app.number_input(key="train.seed").set_value(5)
    press(app, "Start training")
    (job,) = project.jobs.list()
    assert (job.params["model"], job.params["seed"]) == ("sim", 5)


def test_pages_use_no_button_whose_click_can_be_lost_and_nothing_that_is_drawn_runs_the_app():
    lost = re.compile(r"^\s*(if|elif|and|or|return|not)\b[^\n#]*\bst\.(button|form_submit_button)\(", re.MULTILINE)
    sources = {path.name: _code(path) for path in (ROOT / "pages").rglob("*.py")}
    assert {name for name, code in sources.items() if lost.search(code)} == set()
    assert {name for name, code in sources.items() if "run_every" in code} == set(), "see pages/widgets/follow.py"
    assert _reruns_outside_of_callbacks() == []


def _reruns_outside_of_callbacks() -> list[str]:
    """Return the functions that run the app again and are called while a page or a part of it is drawn.

    A callback is private and only named: Streamlit calls it because a person clicked. What draws is called by another
    module, decorated as a fragment, or code of the page itself.
    """
    found = []
    for path in sorted((ROOT / "pages").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
        asking = {"st.rerun"}
        while more := {name for name, node in functions.items() if name not in asking and _called(node) & asking}:
            asking |= more
        found += [f"{path.name}: {name}" for name, node in functions.items() if name in asking and (
            node.decorator_list or not name.startswith("_"))]  # fmt: skip
        page = [node for node in module.body if not isinstance(node, ast.FunctionDef | ast.ClassDef)]
        found += [path.name for node in page if _called(node) & asking]
    return found


def _called(node: ast.AST) -> set[str]:
    return {ast.unparse(one.func) for one in ast.walk(node) if isinstance(one, ast.Call)}


def test_a_fragment_that_runs_the_app_is_found(tmp_path, monkeypatch):
    (tmp_path / "pages").mkdir()
    begin = "import streamlit as st\ndef _again():\n    st.rerun()\n"
    drawn = {
        "callback": "def draw():\n    st.button('x', on_click=_again)\n",
        "fragment": "@st.fragment\ndef _part():\n    _again()\n",
        "widget": "def draw():\n    if 1:\n        _again()\n",
        "page": "_again()\n",
    }
    for name, code in drawn.items():
        (tmp_path / "pages" / f"{name}.py").write_text(begin + code)
    monkeypatch.setattr("tests.pages.test_errors.ROOT", tmp_path)
    assert _reruns_outside_of_callbacks() == ["fragment.py: _part", "page.py", "widget.py: draw"]


def _code(path: Path) -> str:
    """Return a file without its documentation, which may name what is not done."""
    return re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
