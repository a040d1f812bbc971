"""Versions of installed packages, for exports and reports."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version


def package_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed.

    >>> sorted(package_versions(["numpy", "no-such-package"]))
    ['numpy']
    """
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
