"""What a component of a page needs to load its modules in the browser, which `routes.assets` sends."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from pages.widgets.routes.assets import files, version
from pages.widgets.routes.auth import TOKEN


@cache
def browser_component(name: str) -> Any:
    """Return the Streamlit component of that name; its data (`module_access`) says which module shows it."""
    return st.components.v2.component(name, js=files()["loader.js"].decode())


def module_access(entry: str, styles: list[str]) -> dict[str, Any]:
    """Return the data with which a component loads its module and uses the routes.

    Parameters
    ----------
    entry, styles
        The module in `assets` that shows the component, and its style sheets.
    """
    return {"entry": entry, "styles": styles, "base": _base_path(), "assets": version(), "token": TOKEN}


def ignore_report() -> None:
    """Do nothing: Streamlit only needs a callback to learn the names of a component's state."""


def _base_path() -> str:
    """Return the path below which the app is served; empty, or with a slash in front."""
    path = str(st.get_option("server.baseUrlPath") or "").strip("/")
    return f"/{path}" if path else ""
