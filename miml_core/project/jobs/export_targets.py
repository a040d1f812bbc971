"""Check where an export may write: below a folder the user chose, replacing only unchanged exports of this project.

The parameters of a job come from a database that somebody else may have made, so a target is checked where it is
written, against what this installation recorded (`installation`). Only a direct request of the user adds a folder to
that record.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.exchange import FORMATS, Format
from miml_core.exchange.names import is_safe_name, normalised_name
from miml_core.exchange.provenance import side_file_of
from miml_core.project.db.store import DATABASE

EXPORTS = "exports"
"""The folder of a project for exports, unless the user chooses another one."""

_OF_A_PROJECT = ("cache", "runs", "logs", "backups", "segmenters")
_ARCHIVE = ".zip"


def choose_target(folder: Path, params: dict[str, Any]) -> dict[str, Any]:
    """Record the target of an export as chosen by the user; return the parameters with its full path.

    Call this for a direct request only (a pressed button, a command, a call of `project.jobs.start`), never for
    parameters that were read from a project's database.

    Parameters
    ----------
    folder : Path
        The project's folder.
    params : dict
        Parameters of the export job, or of the job that packs the project, already checked (`check_params`).

    Raises
    ------
    BagtagError
        Nothing may be written there; then nothing is recorded.
    """
    chosen = FORMATS[params["format"]] if "format" in params else None
    target = Path(params["path"]).absolute()
    resolved = resolve_target(target)
    check = TargetCheck(folder, chosen) if chosen is not None else PackCheck(folder)
    is_file = chosen is None or chosen.is_one_file(resolved)
    if chosen is not None:
        check.check_side_file(side_file_of(resolved, is_file=is_file))
    if is_file:
        check.check_file(resolved)
        installation.allow_folder(folder, resolved.parent, "export")
    else:
        check.check_folder(resolved)
        installation.allow_folder(folder, resolved, "export")
    return {**params, "path": str(target)}


def resolve_target(target: Path) -> Path:
    """Return the target with links in its folders resolved; a target that is itself a link to a file stays one."""
    try:
        return target.resolve() if target.is_dir() else target.parent.resolve() / target.name
    except (OSError, RuntimeError, ValueError) as error:
        raise BagtagError(f"An export cannot be written to {str(target)!r}: {error}. Choose another folder.") from error


class TargetCheck:
    """Check what one export may write; called with the (resolved) path of each file.

    Parameters
    ----------
    folder : Path
        The project's folder.
    format : Format, optional
        The format whose file name extensions are allowed; by default those of all formats.
    media : iterable of Path, optional
        The paths of the project's media, which are never written, even while a file is missing.
    side_file : Path, optional
        The file about the export that is written with it.
    """

    def __init__(
        self, folder: Path, format: Format | None = None, media: Iterable[Path] = (), side_file: Path | None = None
    ) -> None:
        self._folder = folder.resolve()
        formats = FORMATS.values() if format is None else [format]
        endings = dict.fromkeys(ending for each in formats for ending in (*each.extensions, *each.also_writes))
        self._extensions: tuple[str, ...] = (*endings, _ARCHIVE)
        self._media = {normalised_name(str(path)) for path in media}
        self._side_file = side_file
        chosen = [self._folder / EXPORTS, *installation.allowed_folders(folder, "export")]
        # A folder that has become a link is not the one that was chosen.
        self._chosen = [each for each in chosen if each.resolve() == each]

    def __call__(self, path: Path) -> None:
        """Raise `BagtagError` unless the file may be written."""
        if path == self._side_file:
            self.check_side_file(path)
        else:
            self.check_file(path)
        self.check_chosen(path)

    def check_file(self, path: Path) -> None:
        """Raise `BagtagError` if the file is, or belongs to, something that an export must not touch."""
        self.check_side_file(path)
        if path.suffix.lower() not in self._extensions:
            raise BagtagError(f"{str(path)!r} must end in {' or '.join(self._extensions)}; choose such a name.")

    def check_side_file(self, path: Path) -> None:
        """Raise `BagtagError` unless the side file may be written; its extension is always the same."""
        self._check_path(path)
        if normalised_name(str(path)) in self._media:
            raise BagtagError(f"{str(path)!r} is the path of a media file of this project; choose another name.")
        status = _status(path)
        is_file = status is not None and stat.S_ISREG(status.st_mode)
        if status is not None and not (is_file and installation.is_own_export(self._folder, path)):
            raise BagtagError(
                f"{str(path)!r} already exists and is not an unchanged export of this project; choose another name."
            )

    def check_folder(self, path: Path) -> None:
        """Raise `BagtagError` if files must not be written into the folder."""
        self._check_path(path)
        if _status(path) is not None and not path.is_dir():
            raise BagtagError(f"{str(path)!r} is a file, and this export needs a folder; choose another name.")
        if _status(path / DATABASE) is not None:
            raise BagtagError(
                f"{str(path)!r} is the folder of a project; choose another folder, such as {str(path / EXPORTS)!r}."
            )

    def check_chosen(self, path: Path) -> None:
        """Raise `BagtagError` unless the path is in a folder that the user chose on this computer."""
        if any(path.is_relative_to(chosen) for chosen in self._chosen):
            return
        # Another spelling of the same folder, on a file system that ignores case.
        if any(_is_same(each, chosen) for chosen in self._chosen for each in (path, *path.parents)):
            return
        raise BagtagError(
            f"{str(path)!r} is not in a folder that was chosen on this computer for exports of this project; choose "
            "the folder on the Export page, or run the export command."
        )

    def _check_path(self, path: Path) -> None:
        if not path.is_absolute():
            raise BagtagError(f"{str(path)!r} is not a full path; choose the target of the export again.")
        if path.name and not is_safe_name(path.name):
            raise BagtagError(f"{path.name!r} is not a valid file name on every system; choose another name.")
        if os.path.normcase(path.parent.resolve()) != os.path.normcase(path.parent):
            raise BagtagError(f"{str(path)!r} is reached through a link; choose the folder it points to.")
        for parent in path.parents:
            if (parent == self._folder or _status(parent / DATABASE) is not None) and _is_of_project(path, parent):
                raise BagtagError(
                    f"{str(path)!r} belongs to the project in {str(parent)!r} itself; choose another folder, such "
                    f"as {str(self._folder / EXPORTS)!r}."
                )


class PackCheck(TargetCheck):
    """Check where a packed project may be written: as an export, and always as a zip file."""

    def __init__(self, folder: Path, media: Iterable[Path] = ()) -> None:
        super().__init__(folder, None, media)
        self._extensions = (_ARCHIVE,)


def _is_of_project(path: Path, project: Path) -> bool:
    """Return whether the path is the project's database or in one of Bagtag's own folders of the project."""
    first = path.relative_to(project).parts[0].rstrip(". ").casefold()
    return first in _OF_A_PROJECT or first.startswith(DATABASE)


def _status(path: Path) -> os.stat_result | None:
    """Return the status of the path, without following a link; None if nothing exists there."""
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise BagtagError(f"{str(path)!r} cannot be used for an export: {error}. Choose another folder.") from error


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
