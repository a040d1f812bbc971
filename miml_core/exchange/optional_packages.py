"""Packages that only some formats need; they are imported when such a file is read or written."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from miml_core.errors import BagtagError


def import_optional(package: str, for_what: str) -> Any:
    """Return a package, or raise a `BagtagError` with the command that installs it."""
    try:
        return import_module(package)
    except ImportError as error:
        raise BagtagError(
            f"{for_what} need the package {package.split('.')[0]!r}; install it with `pip install 'bagtag[formats]'`."
        ) from error
