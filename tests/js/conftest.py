"""The browser's modules without a server: an empty page of a Chromium that imports them from disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT

_ORIGIN = "http://modules.invalid"
_ASSETS = ("canvas", "page", "map", "start")


@pytest.fixture(scope="session")
def modules(chromium: Any) -> Iterator[Any]:
    """A page whose scripts may import the modules of `assets` (as `/assets/x.js`) and `/tests`, and nothing else."""
    context = chromium.new_context()
    page = context.new_page()

    def serve(route: Any) -> None:
        path = urlsplit(route.request.url).path
        if path == "/":
            route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
            return
        _, folder, name = path.split("/")
        folders = ["tests/js"] if folder == "tests" else [f"assets/{one}" for one in _ASSETS]
        (found,) = (ROOT / one / name for one in folders if (ROOT / one / name).exists())
        route.fulfill(body=found.read_bytes(), content_type="text/javascript")

    context.route("**/*", serve)
    page.goto(_ORIGIN)
    yield page
    context.close()
