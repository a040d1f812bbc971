"""The examples in the documentation of the public API, and in CONTRIBUTING.md, run and print what they show."""

import doctest
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from miml_core.errors import BagtagError
from miml_core.project import Project

CORE = Path(__file__).parent.parent / "miml_core"
MODULES = [
    ".".join(["miml_core", *path.relative_to(CORE).with_suffix("").parts]).removesuffix(".__init__")
    for path in sorted(CORE.rglob("*.py"))
    if "\n    >>> " in path.read_text() or "\n>>> " in path.read_text()
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


def public_api() -> list[str]:
    """Return the modules of the API reference, as the Makefile lists them."""
    text = (CORE.parent / "Makefile").read_text().replace("\\\n", " ")
    lists = {name: value.split() for name, value in re.findall(r"^([A-Z]+) := (.*)$", text, re.MULTILINE)}
    found = []
    for word in lists["API"]:
        each = re.fullmatch(r"\$\((\w+):%=(.*)%\)", word)
        found += [word] if each is None else [each[2] + name for name in lists[each[1]]]
    return found


@pytest.mark.parametrize("name", public_api())
def test_every_public_class_and_function_has_an_example(name: str) -> None:
    found = [
        (each, what)
        for each, what in vars(importlib.import_module(name)).items()
        if not each.startswith("_") and getattr(what, "__module__", None) == name and each != "warm"
    ]
    public = {each: what.__doc__ or "" for each, what in found if inspect.isclass(what) or inspect.isfunction(what)}
    assert [each for each, text in public.items() if ">>>" not in text] == []


def worked_example(title: str) -> list[str]:
    """The Python of one section of CONTRIBUTING.md."""
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()
    section = text.partition(f"## {title}")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_the_worked_example_of_a_format(tmp_path: Path) -> None:
    (source,) = worked_example("How to add a format")
    scope: dict[str, Any] = {"__name__": "plain"}
    exec(source, scope)
    rows = [scope["SegmentRow"]("a.wav", start_s=1.0, end_s=2.5, label="Wren", status="confirmed")]
    scope["PlainList"]().write(rows, tmp_path / "list.txt")
    assert scope["PlainList"]().read(tmp_path / "list.txt") == rows
    (tmp_path / "list.txt").write_text("no table")
    with pytest.raises(BagtagError, match="separated by tabs"):
        scope["PlainList"]().read(tmp_path / "list.txt")


def test_the_worked_example_of_a_page(tmp_path: Path) -> None:
    (source,) = worked_example("How to add a page")
    with Project.create(tmp_path / "project") as project:
        project.edits.add_class("Wren")
    app = AppTest.from_string(source, default_timeout=30)
    app.session_state["session.folder"] = str(tmp_path / "project")
    app.run()
    assert not app.exception and list(app.dataframe[0].value["Class"]) == ["Wren"]


def test_the_worked_example_of_a_model() -> None:
    source, session = worked_example("How to add a model")
    scope: dict[str, Any] = {"__name__": "nearest_mean"}
    exec(source, scope)
    result = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(session, scope, "session", None, 0))
    assert result.attempted > 0 and result.failed == 0
