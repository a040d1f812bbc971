"""What is imported is declared in pyproject.toml, and what is declared is pinned."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
OURS = {"miml_core", "pages", "tests", "benchmarks", "app"}


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in requirements}


def imported(path: Path) -> Iterator[str]:
    """Yield the packages that a file imports, those of the standard library and our own left out."""
    for node in ast.walk(ast.parse(path.read_text())):
        modules = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            modules = [node.module]
        for module in modules:
            package = module.partition(".")[0]
            if package not in sys.stdlib_module_names and package not in OURS:
                yield package


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (("miml_core", "pages"), ("birdnet", "formats", "cluster")),
        (("tests", "benchmarks"), ("birdnet", "formats", "cluster", "dev")),
    ],
)
def test_every_imported_package_is_declared(folders: tuple[str, ...], extras: tuple[str, ...]) -> None:
    declared = names([*PROJECT["dependencies"], *(one for extra in extras for one in EXTRAS[extra])])
    known = packages_distributions()
    undeclared = {
        f"{path.relative_to(ROOT)}: {package}"
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for package in imported(path)
        if package in known and not declared & {canonicalize_name(one) for one in known[package]}
    }
    assert undeclared == set()


@pytest.mark.parametrize(
    ("file", "requirements"),
    [
        ("requirements.txt", [*PROJECT["dependencies"], *EXTRAS["formats"]]),
        ("requirements-birdnet.txt", EXTRAS["birdnet"]),
        ("requirements-cluster.txt", EXTRAS["cluster"]),
        ("requirements-dev.txt", EXTRAS["dev"]),
    ],
)
def test_what_is_declared_is_pinned(file: str, requirements: list[str]) -> None:
    pinned = {canonicalize_name(name): version for name, version in pins(file)}
    for one in map(Requirement, requirements):
        assert pinned.get(canonicalize_name(one.name), "no version") in one.specifier, one
    constraints = {canonicalize_name(name): version for name, version in pins("constraints.txt")}
    assert {name: constraints.get(name, version) for name, version in pinned.items()} == pinned


def pins(file: str) -> Iterator[list[str]]:
    for line in (ROOT / file).read_text().splitlines():
        if "==" in line:
            yield line.split("==")
