"""How Streamlit is set up for Bagtag: what stands around its routes, and the options that depend on the environment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from anyio import to_thread
from starlette.middleware import Middleware
from streamlit import config

from miml_core import kernels
from pages.widgets.app.complete_runs import complete_runs
from pages.widgets.app.kept_downloads import keep_downloads
from pages.widgets.app.origin_check import OriginCheck, allowed_hosts


def middleware() -> list[Middleware]:
    """Return the middleware of the app."""
    return [Middleware(OriginCheck)]


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    """Set options and start the compilation of the kernels when the server starts.

    Streamlit's own Host check, which concerns websockets only, has to accept the names of `BAGTAG_HOSTS` as well. They
    are set here because both `streamlit run` and `App.run` read the options again before. The numba kernels are
    compiled by a process of their own, so that the first page does not wait for them.
    """
    config.set_option("server.allowedHosts", sorted(allowed_hosts()))
    complete_runs()
    keep_downloads()
    await to_thread.run_sync(kernels.compile_in_background)
    yield
