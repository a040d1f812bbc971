"""Unit tests of the canvas's modules, written in JavaScript beside this file and run in Chromium."""

from pathlib import Path

import pytest

_FILES = sorted(path.name for path in Path(__file__).parent.glob("*.test.js"))


@pytest.mark.browser
@pytest.mark.parametrize("name", _FILES)
def test_module(modules, name):
    modules.goto("http://modules.invalid/")
    results = modules.evaluate(
        "async (address) => (await import('/tests/check.js')).runTests(address)", f"/tests/{name}"
    )
    assert results, "the file registers tests"
    failed = [f"{title}: {problem}" for title, problem in results if problem]
    assert not failed, "\n".join(failed)
