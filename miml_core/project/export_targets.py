"""Where an export may write: below a folder the user chose, and over nothing but an unchanged export of this project.

The parameters of a job come from a database that somebody else may have made, so a target is checked where it is
written, against what this installation recorded (`installation`). Only a direct request of the user adds a folder to
that record.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS, Format
from miml_core.exchange.names import is_safe_name
from miml_core.project.store import DATABASE

EXPORTS = "exports"
"""The folder of a project where exports go unless the user chooses another one."""

_OF_A_PROJECT = ("cache", "runs", "logs", "backups", "segmenters")
_ARCHIVE = ".zip"


def choose_target(folder: Path, params: dict[str, Any]) -> dict[str, Any]:
    """Record the target of an export that the user asks for now as chosen; returns the parameters with its full path.

    Call this for a direct request only (a pressed button, a command, a call of `Project.start_job`), never for
    parameters that were read from a project's database.

    Parameters
    ----------
    folder : Path
        The project's folder.
    params : dict
        Of the export job, already checked (`job_params`).

    Raises
    ------
    BagtagError
        Nothing may be written there; then nothing is recorded.
    """
    chosen = FORMATS[params["format"]]
    target = Path(params["path"]).absolute()
    place = resolve_target(target)
    check = TargetCheck(folder, chosen)
    if chosen.is_one_file(place):
        check.check_file(place)
        installation.allow_folder(folder, place.parent, "export")
    else:
        check.check_folder(place)
        installation.allow_folder(folder, place, "export")
    return {**params, "path": str(target)}


def check_export_target(folder: Path, target: Path) -> None:
    """Raise `BagtagError` unless an export of the project in `folder` may write to `target`, a file or a folder."""
    check = TargetCheck(folder)
    place = resolve_target(target)
    if place.is_dir():
        check.check_folder(place)
        check.check_chosen(place)
    else:
        check(place)


def resolve_target(target: Path) -> Path:
    """Return the target with links in its folders resolved; where the target itself is a link to a file, it stays."""
    try:
        return target.resolve() if target.is_dir() else target.parent.resolve() / target.name
    except (OSError, RuntimeError, ValueError) as error:
        raise BagtagError(f"An export cannot be written to {str(target)!r}: {error}. Choose another place.") from error


class TargetCheck:
    """What may be written by one export; called with the (resolved) path of each file.

    Parameters
    ----------
    folder : Path
        The project's folder.
    format : Format, optional
        Whose file name endings are allowed; those of all formats by default.
    media : iterable of Path, optional
        The places of the project's media, which are kept free also while a file is missing.
    """

    def __init__(self, folder: Path, format: Format | None = None, media: Iterable[Path] = ()) -> None:
        self._folder = folder.resolve()
        formats = FORMATS.values() if format is None else [format]
        self._endings = (*dict.fromkeys(ending for each in formats for ending in each.extensions), _ARCHIVE)
        self._media = {_spelling(path) for path in media}
        chosen = [self._folder / EXPORTS, *installation.allowed_folders(folder, "export")]
        # A folder that a link leads elsewhere by now is not the one that was chosen.
        self._chosen = [each for each in chosen if each.resolve() == each]

    def __call__(self, path: Path) -> None:
        """Raise `BagtagError` unless the file may be written."""
        self.check_file(path)
        self.check_chosen(path)

    def check_file(self, path: Path) -> None:
        """Raise `BagtagError` if the file is, or belongs to, something that an export must not touch."""
        self._check_place(path)
        if _spelling(path) in self._media:
            raise BagtagError(f"{str(path)!r} is the place of a media file of this project; choose another name.")
        facts = _facts(path)
        is_file = facts is not None and stat.S_ISREG(facts.st_mode)
        if facts is not None and not (is_file and installation.is_own_export(self._folder, path)):
            raise BagtagError(
                f"{str(path)!r} already exists and is not an unchanged export of this project; choose another name."
            )
        if path.suffix.lower() not in self._endings:
            raise BagtagError(f"{str(path)!r} must end in {' or '.join(self._endings)}; choose such a name.")

    def check_folder(self, path: Path) -> None:
        """Raise `BagtagError` if files must not be written into the folder."""
        self._check_place(path)
        if _facts(path) is not None and not path.is_dir():
            raise BagtagError(f"{str(path)!r} is a file, and this export needs a folder; choose another name.")
        if _facts(path / DATABASE) is not None:
            raise BagtagError(
                f"{str(path)!r} is the folder of a project; choose another folder, such as {str(path / EXPORTS)!r}."
            )

    def check_chosen(self, path: Path) -> None:
        """Raise `BagtagError` unless the path lies in a folder that the user chose here."""
        if any(path.is_relative_to(chosen) for chosen in self._chosen):
            return
        # Another spelling of the same folder, on a file system that takes large and small letters for the same.
        if any(_is_same(each, chosen) for chosen in self._chosen for each in (path, *path.parents)):
            return
        raise BagtagError(
            f"{str(path)!r} is not in a folder that was chosen on this computer for exports of this project; choose "
            "the folder on the Export page, or run the export command."
        )

    def _check_place(self, path: Path) -> None:
        if not path.is_absolute():
            raise BagtagError(f"{str(path)!r} is not a full path; choose the place of the export again.")
        if path.name and not is_safe_name(path.name):
            raise BagtagError(f"{path.name!r} is not a file name on every system; choose another name.")
        if os.path.normcase(path.parent.resolve()) != os.path.normcase(path.parent):
            raise BagtagError(f"{str(path)!r} is reached through a link; choose the folder it leads to.")
        for parent in path.parents:
            if (parent == self._folder or _facts(parent / DATABASE) is not None) and _is_of_project(path, parent):
                raise BagtagError(
                    f"{str(path)!r} belongs to the project in {str(parent)!r} itself; choose another folder, such "
                    f"as {str(self._folder / EXPORTS)!r}."
                )


def _is_of_project(path: Path, project: Path) -> bool:
    """Return whether the path is the project's database or lies in a folder that Bagtag keeps for the project."""
    first = path.relative_to(project).parts[0].rstrip(". ").casefold()
    return first in _OF_A_PROJECT or first.startswith(DATABASE)


def _spelling(path: Path) -> str:
    """The same text for all spellings of a name that some file system takes for the same file."""
    return unicodedata.normalize("NFC", str(path)).casefold()


def _facts(path: Path) -> os.stat_result | None:
    """What is at the path, without following a link; None for nothing."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise BagtagError(f"{str(path)!r} cannot be used for an export: {error}. Choose another place.") from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
