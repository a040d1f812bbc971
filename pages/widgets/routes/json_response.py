"""JSON responses that browsers can parse, whatever numbers and names a project holds."""

from __future__ import annotations

from typing import Any

from starlette import responses

from miml_core.json_text import to_json


class JSONResponse(responses.JSONResponse):
    """Not-a-number becomes null, and file names that are not valid text are escaped; Starlette fails on both."""

    def render(self, content: Any) -> bytes:
        try:
            return to_json(content, compact=True).encode()
        except UnicodeEncodeError:
            return to_json(content, compact=True, ascii_only=True).encode()
