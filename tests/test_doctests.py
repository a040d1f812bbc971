"""The examples in the documentation of the public API, and in CONTRIBUTING.md, run and print what they say."""

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

MODULES = [
    "miml_core.bags",
    "miml_core.evaluation.metrics",
    "miml_core.models",
    "miml_core.models.base",
    "miml_core.models.baselines",
    "miml_core.models.fit_progress",
    "miml_core.models.gp_probit",
    "miml_core.models.mimlfast",
    "miml_core.models.mimm",
    "miml_core.models.ored_lr",
    "miml_core.models.sim",
    "miml_core.posterior",
    "miml_core.review.accuracy",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0 and result.failed == 0


def test_the_worked_example_of_a_model() -> None:
    text = (Path(__file__).parent.parent / "CONTRIBUTING.md").read_text()
    section = text.partition("## How to add a model")[2].partition("\n## ")[0]
    source, session = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    scope: dict[str, Any] = {"__name__": "nearest_mean"}
    exec(source, scope)
    result = doctest.DocTestRunner().run(doctest.DocTestParser().get_doctest(session, scope, "session", None, 0))
    assert result.attempted > 0 and result.failed == 0
