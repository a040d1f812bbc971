"""Check where jobs on archives may read and write: only in folders that the user chose for this project.

As for exports (`export_targets.py`), only a direct request of the user records a folder, and the worker compares the
parameters of its job, which somebody else may have written, with what this installation recorded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miml_core import installation
from miml_core.errors import BagtagError
from miml_core.project.db.store import DATABASE
from miml_core.project.jobs.export_targets import TargetCheck, resolve_target
from miml_core.project.media import access as media_access

_MODELS = "models"
"""The folder that every archive has."""


def choose_archive(folder: Path, params: dict[str, Any]) -> dict[str, Any]:
    """Record the folders of a job "apply" as chosen by the user; return the parameters with their full paths.

    Call this for a direct request only, never for parameters that were read from a project's database.

    Raises
    ------
    BagtagError
        Nothing may be written there, or a folder of recordings does not exist; then nothing is recorded.
    """
    archive = resolve_target(Path(params["archive"]).absolute())
    TargetCheck(folder).check_folder(archive)
    if archive.is_dir() and not is_archive(archive) and any(archive.iterdir()):
        raise BagtagError(f"{str(archive)!r} has files of something else; choose a new folder for the results.")
    recordings = [Path(one).absolute() for one in params["folders"]]
    for one in recordings:
        if not one.is_dir():
            raise BagtagError(f"There is no folder {str(one)!r}; choose the folders of the recordings.")
    for one in recordings:
        media_access.allow_folder(folder, one)
    installation.allow_folder(folder, archive, "archive")
    return {**params, "archive": str(archive), "folders": [str(one) for one in recordings]}


def choose_sample(folder: Path, params: dict[str, Any]) -> dict[str, Any]:
    """Record the archive and the project of a job "sample" as chosen by the user; see `choose_archive`."""
    archive = resolve_target(Path(params["archive"]).absolute())
    if not is_archive(archive):
        raise BagtagError(f"{str(archive)!r} has no results of a model; choose a folder that a model was applied into.")
    into = params.get("project")
    if into is not None:
        target = resolve_target(Path(into).absolute())
        if not (target / DATABASE).exists():
            TargetCheck(folder).check_folder(target)
            if target.is_dir() and any(target.iterdir()):
                raise BagtagError(f"{str(target)!r} has files of something else; choose a new folder for the project.")
        installation.allow_folder(folder, target, "archive")
        params = {**params, "project": str(target)}
    installation.allow_folder(folder, archive, "archive")
    return {**params, "archive": str(archive)}


def check_target(folder: Path, target: str) -> Path:
    """Return the path of an archive, or of a project for a sample, if the user chose it on this computer."""
    path = Path(target)
    if path not in installation.allowed_folders(folder, "archive") or path.resolve() != path:
        raise BagtagError(
            f"{target!r} was not chosen on this computer for archives of this project; choose it on the Survey page."
        )
    return path


def check_recordings(folder: Path, recordings: list[str]) -> list[Path]:
    """Return the folders of recordings, if the user chose them on this computer."""
    found = [Path(one) for one in recordings]
    for one in found:
        if not one.is_absolute() or not media_access.is_usable(folder, one / "file"):
            raise BagtagError(
                f"{str(one)!r} was not chosen on this computer for this project; choose it on the Survey page."
            )
    return found


def is_archive(folder: Path) -> bool:
    """Return whether a folder has results of a model."""
    return (folder / _MODELS).is_dir()


def known_archives(folder: Path) -> list[Path]:
    """Return the archives that the user chose for the project in `folder` and that exist."""
    return [one for one in installation.allowed_folders(folder, "archive") if is_archive(one)]
