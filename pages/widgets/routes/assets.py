"""The browser's modules and styles: plain files of `assets/canvas` and `assets/page`, no build step.

Their address carries a hash of what is in them, so a browser may keep them for ever and never mixes versions.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from pages.widgets.routes.auth import refusal

_ASSETS = Path(__file__).resolve().parents[3] / "assets"
_FOLDERS = ("canvas", "page")
_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@cache
def files() -> dict[str, bytes]:
    """Return name -> content of everything that may be sent."""
    found = sorted(path for folder in _FOLDERS for path in (_ASSETS / folder).iterdir())
    return {path.name: path.read_bytes() for path in found if path.suffix in _TYPES}


@cache
def version() -> str:
    """Return a hash of the files."""
    digest = hashlib.sha256()
    for name, content in files().items():
        digest.update(name.encode() + content)
    return digest.hexdigest()[:12]


def send_asset(request: Request) -> Response:
    """Send one file by its name; nothing is looked up on disk. It runs in a thread, because the first call reads."""
    name = request.path_params["name"]
    if request.path_params["version"] != version() or name not in files():
        return refusal(404, "There is no such file.")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(files()[name], media_type=_TYPES[Path(name).suffix], headers=headers)
