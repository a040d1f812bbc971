"""`Project`: one door to everything a project keeps."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from sqlalchemy import Connection

from miml_core.project import repredict
from miml_core.project import settings as settings_
from miml_core.project.desk_annotate import AnnotateDesk
from miml_core.project.desk_learn import LearnDesk
from miml_core.project.desk_library import LibraryDesk
from miml_core.project.store import Store

Kind = Literal["sound", "picture"]


class Project(LibraryDesk, AnnotateDesk, LearnDesk):
    """A project folder, open.

    Safe to share between threads; several processes may have the same project open. The methods are grouped by what a
    person does: keep a library (`LibraryDesk`: media, bags, classes, settings), annotate (`AnnotateDesk`: tags,
    segments, corrections, undo) and learn (`LearnDesk`: jobs, runs, predictions, review).

    Parameters
    ----------
    store : Store
        Made by `create` or `open`.
    annotator : str
        Who acts, unless a method is told otherwise.
    """

    def __init__(self, store: Store, annotator: str = "") -> None:
        self.store = store
        self.annotator = annotator

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        kind: Kind = "sound",
        name: str | None = None,
        annotator: str = "",
        settings: dict[str, Any] | None = None,
    ) -> Project:
        """Make a new project in `folder`, which may exist but must not hold a project already.

        `settings` is `InstanceSettings.to_dict()`; the defaults for the kind when not given.
        """
        title = name or Path(folder).absolute().name

        def fill(connection: Connection) -> None:
            settings_.initialise(connection, kind=kind, name=title, settings=settings)

        return cls(Store.create(Path(folder), fill), annotator)

    @classmethod
    def open(cls, folder: str | Path, *, annotator: str = "") -> Project:
        """Open the project in `folder`; an older one is brought up to date after a backup copy.

        Raises
        ------
        BagtagError
            There is no project, it is damaged, it is not Bagtag's, or a newer Bagtag made it (`ProjectTooNew`).
        """
        return cls(Store.open(Path(folder)), annotator)

    @staticmethod
    def is_project(folder: str | Path) -> bool:
        """Does the folder hold something that looks like a project? (Without opening it.)"""
        try:
            return (Path(folder) / "project.db").is_file()
        except (OSError, ValueError):  # it may not be looked at, or is no path
            return False

    def close(self) -> None:
        """Predict again what edits have moved, and let go of the files. Nothing needs saving: everything already is."""
        repredict.predict_noted(self.store)
        self.store.close()

    def __enter__(self) -> Project:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, Exception):
            self.store.explain(error)

    def __repr__(self) -> str:
        return f"Project({str(self.folder)!r})"

    @property
    def folder(self) -> Path:
        """Where the project lives."""
        return self.store.folder

    @property
    def cache_folder(self) -> Path:
        """A folder for what can be made again; it may be deleted at any time, so it is made on every use."""
        return self.store.cache_folder
