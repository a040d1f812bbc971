"""Which folders of this computer the app may read and write: home, Bagtag's own, the surroundings of the project,
and what `BAGTAG_ROOTS` adds."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from miml_core import BagtagError
from miml_core.errors import printable
from miml_core.exchange.names import is_safe_name
from pages.widgets.folders.reachable import call_all_with_timeout, call_with_timeout

MOST_FOLDERS = 500
"""How many folders of one folder are offered; beyond that a path is typed."""


def home_folder() -> Path:
    """Return where new projects and the demo go by default: `BAGTAG_HOME`, or Bagtag in home."""
    return Path(os.environ.get("BAGTAG_HOME") or Path.home() / "Bagtag")


def allowed_roots(project_folder: Path | None = None) -> list[Path]:
    """Return the folders below which everything may be chosen, links resolved, without those inside another.

    One that does not respond or cannot be read is left out.
    """
    asked = [
        Path.home(),
        home_folder(),
        *(Path(part) for part in os.environ.get("BAGTAG_ROOTS", "").split(os.pathsep) if part),
    ]
    if project_folder is not None:
        asked.append(project_folder.parent)
    results = call_all_with_timeout({path: partial(_resolve_folder, path) for path in asked})
    found = sorted({path for path in results.values() if isinstance(path, Path)}, key=lambda path: len(path.parts))
    roots: list[Path] = []
    for path in found:
        if not any(path.is_relative_to(root) for root in roots):
            roots.append(path)
    return roots


def free_folder(parent: Path, stem: str) -> Path:
    """Return a folder that does not exist yet, with a number after its name if that is taken."""
    number = 1
    while (folder := parent / (stem if number == 1 else f"{stem}-{number}")).exists():
        number += 1
    return folder


def _resolve_folder(path: Path) -> Path | None:
    return path.resolve() if path.is_dir() else None


def allowed_path(typed: str | Path, roots: list[Path]) -> Path:
    """Return the path a person typed, with links and `..` resolved; refused when it lies outside all roots."""
    text = str(typed).strip().strip("'\"")
    if not text or "\0" in text:
        raise BagtagError("Type the path of a folder.")
    if not roots:
        raise BagtagError("There is no folder that Bagtag may use; start it with BAGTAG_ROOTS set to one.")
    try:
        path = Path(text).expanduser()
        path = path if path.is_absolute() else roots[0] / path
        path = call_with_timeout(path, path.resolve)
    except (OSError, RuntimeError, ValueError) as error:
        raise BagtagError(f"{text!r} is not a usable path: {error}. Choose another folder.") from error
    if not any(path.is_relative_to(root) for root in roots):
        listed = ", ".join(str(root) for root in roots)
        raise BagtagError(
            f"{str(path)!r} is outside the folders that Bagtag may use ({listed}). "
            "Start it with BAGTAG_ROOTS set to allow another."
        )
    return path


def new_folder_below(parent: Path, name: str, roots: list[Path]) -> Path:
    """Return the path of a folder to be created in `parent`; raises `BagtagError` if a folder cannot have this name."""
    name = name.strip()
    if not is_safe_name(name):
        raise BagtagError(f"{name!r} is not a name for a folder; choose another one.")
    return allowed_path(parent / name, roots)


def existing_folder(typed: str | Path, roots: list[Path]) -> Path:
    """Return the path as `allowed_path` does, for a folder that must exist."""
    path = allowed_path(typed, roots)
    try:
        is_folder, exists = call_with_timeout(path, lambda: (path.is_dir(), path.exists()))
    except (OSError, ValueError) as error:
        raise BagtagError(
            f"{str(path)!r} cannot be read: {getattr(error, 'strerror', None) or error}. Choose another folder."
        ) from error
    if not is_folder:
        what = "is a file, not a folder" if exists else "does not exist"
        raise BagtagError(f"{str(path)!r} {what}; choose a folder.")
    return path


def subfolders(folder: Path, roots: list[Path]) -> list[str]:
    """Return the names of the folders in a folder that may be entered, without hidden ones."""
    try:
        return call_with_timeout(folder, lambda: _list_subfolders(folder, roots), below=True)
    except OSError as error:
        raise BagtagError(
            f"{str(folder)!r} cannot be read: {error.strerror or error}. Choose another folder."
        ) from error


def _list_subfolders(folder: Path, roots: list[Path]) -> list[str]:
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name.casefold())
    names = []
    for entry in entries:
        is_text = printable(entry.name) == entry.name  # a name that is not valid UTF-8 cannot be sent to the browser
        if is_text and not entry.name.startswith(".") and _is_allowed_folder(entry, roots):
            names.append(entry.name)
        if len(names) == MOST_FOLDERS:
            break
    return names


def _is_allowed_folder(entry: os.DirEntry[str], roots: list[Path]) -> bool:
    try:
        if not entry.is_dir():
            return False
        if not entry.is_symlink():
            return True
        return any(Path(entry.path).resolve().is_relative_to(root) for root in roots)
    except OSError:
        return False
