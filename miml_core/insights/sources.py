"""Open a project or an archive as a source of detections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from miml_core.errors import BagtagError
from miml_core.insights.detections import Detections

if TYPE_CHECKING:
    from miml_core.progress import Progress
    from miml_core.project import Project


def open_source(
    project: Project | None = None,
    archive: str | Path | None = None,
    model_id: str | None = None,
    progress: Progress | None = None,
) -> Detections:
    """Read the detections of a project's current run, or those of a model in an archive.

    Parameters
    ----------
    project : Project, optional
    archive : path, optional
        A folder that `bagtag apply` wrote to. Exactly one of both is given.
    model_id : str, optional
        Of the archive, if several models were applied; the beginning of its id.
    progress : Progress, optional
        Called while the files of an archive are read.

    Returns
    -------
    Detections

    Raises
    ------
    BagtagError
        The folder is no archive, or a file in it is none of `bagtag apply`.

    Examples
    --------
    >>> from miml_core.demo.example import example_archive
    >>> with example_archive() as archive:
    ...     source = open_source(archive=archive)
    >>> source.classes, source.sites, source.n_files, len(source.table)
    (('Wren', 'Robin'), ('hill', 'marsh'), 3, 3)
    """
    from miml_core.insights.archive_source import read_archive
    from miml_core.insights.project_source import read_project

    if (project is None) == (archive is None):
        raise BagtagError("Give either a project or an archive.")
    if project is not None:
        return read_project(project)
    return read_archive(Path(str(archive)), model_id, progress)
