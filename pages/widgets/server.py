"""How Streamlit is set up for Bagtag: what stands around its routes, and the options that depend on the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.middleware import Middleware
from streamlit import config

from pages.widgets.late_messages import LateMessages
from pages.widgets.origin_check import OriginCheck, allowed_hosts


def middleware() -> list[Middleware]:
    """Middleware of the app, the outermost first."""
    return [Middleware(OriginCheck), Middleware(LateMessages)]


@asynccontextmanager
async def apply_hosts(app: Any) -> AsyncIterator[None]:
    """Have Streamlit's own Host check, which concerns websockets only, accept the names of `BAGTAG_HOSTS` as well.

    Set when the server starts, because both `streamlit run` and `App.run` read the options again before.
    """
    config.set_option("server.allowedHosts", sorted(allowed_hosts()))
    yield
