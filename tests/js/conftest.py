"""The browser's modules without a server: an empty page of a Chromium that imports them from disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT

_ORIGIN = "http://modules.invalid"
_FOLDERS = {name: ROOT / "assets" / name for name in ("canvas", "map", "start")} | {"tests": ROOT / "tests" / "js"}


@pytest.fixture(scope="session")
def modules(chromium: Any) -> Iterator[Any]:
    """A page whose scripts may import modules of `/canvas`, `/map`, `/start` and `/tests`, and nothing else."""
    context = chromium.new_context()
    page = context.new_page()

    def serve(route: Any) -> None:
        path = urlsplit(route.request.url).path
        if path == "/":
            route.fulfill(body="<!doctype html><title>modules</title>", content_type="text/html")
            return
        _, folder, name = path.split("/")
        route.fulfill(body=(_FOLDERS[folder] / name).read_bytes(), content_type="text/javascript")

    context.route("**/*", serve)
    page.goto(_ORIGIN)
    yield page
    context.close()
