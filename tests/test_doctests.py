"""The examples in the documentation of the public API, and in CONTRIBUTING.md, run and print what they show."""

import doctest
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from miml_core.errors import BagtagError
from miml_core.exchange import SegmentRow
from miml_core.exchange.reading import READABLE, READERS, read_labels
from miml_core.project import Project
from tests.conftest import PATIENCE, ROOT
from tests.exchange.examples import NASTY_NAMES

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


WORKED_EXAMPLES = {
    "How to add a model": "miml_core/models/nearest_mean.py",
    "How to add a format": "miml_core/exchange/plain.py",
    "How to add a page": "pages/species.py",
    "How to add an embedding": "my_features.py",
}
"""Sections of CONTRIBUTING.md, and the file that their example is saved as."""


def worked_example(title: str) -> list[str]:
    """The Python of one section of CONTRIBUTING.md, without what belongs to a single step."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition(f"## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("title", WORKED_EXAMPLES)
@pytest.mark.parametrize("check", ["check --quiet --no-cache", "format --check --quiet --no-cache"])
def test_the_worked_examples_pass_ruff(title: str, check: str) -> None:
    command = [sys.executable, "-m", "ruff", *check.split(), "--stdin-filename", WORKED_EXAMPLES[title], "-"]
    done = subprocess.run(command, cwd=ROOT, input=worked_example(title)[0], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_worked_example_is_tested() -> None:
    titles = re.findall(r"^## (How to .*)$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    assert set(titles) == WORKED_EXAMPLES.keys()


def test_the_worked_example_of_a_format(tmp_path: Path) -> None:
    (source,) = worked_example("How to add a format")
    scope: dict[str, Any] = {"__name__": "plain"}
    exec(source, scope)
    format, path = scope["PlainList"](), tmp_path / "list.txt"
    calls = [SegmentRow(name, start_s=1.0, end_s=2.5, label=name, status="confirmed") for name in NASTY_NAMES]
    for rows in (calls, calls[::-1], [SegmentRow("a.wav", start_s=0.123456, end_s=1e5)]):
        format.write(rows, path)
        assert format.read(path) == rows
        assert format.recognises(path.name, path.read_text())
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert format.read(path) == rows, "saved by an editor on Windows"


def test_errors_of_the_worked_example_of_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = worked_example("How to add a format")
    scope: dict[str, Any] = {"__name__": "plain"}
    exec(source, scope)
    format, path = scope["PlainList"](), tmp_path / "list.txt"
    for content in (b"", b"no table", b"\xff{[\0", np.random.default_rng(0).bytes(5000), b"\xe9t\xe9\t1"):
        path.write_bytes(content)
        with pytest.raises(BagtagError, match=r"'list\.txt'"):
            format.read(path)
    path.write_text("file\tstart\tend\tlabel\na.wav\t1\t2\tWren\nbroken\na.wav\tx\t2\tWren\n")
    with pytest.raises(BagtagError, match=r"^'list\.txt', line 3 must have .* separated by tabs\.$"):
        format.read(path)
    monkeypatch.setitem(READERS, "plain", format)
    monkeypatch.setitem(READABLE, "plain", format.title)
    table = read_labels([path], format="plain")
    assert [row.label for row in table.rows] == ["Wren"]
    assert [(problem.where, problem.reason) for problem in table.problems] == [
        ("'list.txt', line 3", "Must have file, start, end and label, separated by tabs"),
        ("'list.txt', line 4", "'x' is not a number"),
    ]


def test_the_worked_example_of_a_page(tmp_path: Path) -> None:
    (source,) = worked_example("How to add a page")
    with Project.create(tmp_path / "project") as project:
        project.edits.add_class("Wren")
    app = AppTest.from_string(source, default_timeout=PATIENCE)
    app.session_state["session.folder"] = str(tmp_path / "project")
    app.run()
    assert not app.exception and list(app.dataframe[0].value["Class"]) == ["Wren"]


def test_the_worked_example_of_a_model() -> None:
    source, session = worked_example("How to add a model")
    scope: dict[str, Any] = {"__name__": "nearest_mean"}
    exec(source, scope)
    result = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(session, scope, "session", None, 0))
    assert result.attempted > 0 and result.failed == 0
