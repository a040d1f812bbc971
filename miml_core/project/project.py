"""`Project`: an open project folder, with its services."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from sqlalchemy import Connection

from miml_core.media.recording_place import Place
from miml_core.project import check as check_
from miml_core.project import subscriptions as subscriptions
from miml_core.project.db import revisions
from miml_core.project.db import settings as settings_
from miml_core.project.db.store import Store
from miml_core.project.jobs import repredict
from miml_core.project.queries.bags import progress
from miml_core.project.records import News, Problem, ProjectCounts
from miml_core.project.services.bags import Bags
from miml_core.project.services.classes import Classes
from miml_core.project.services.edits import Edits
from miml_core.project.services.exports import Exports
from miml_core.project.services.jobs import Jobs
from miml_core.project.services.media import Media
from miml_core.project.services.review import Review
from miml_core.project.services.runs import Runs
from miml_core.project.services.segments import Segments
from miml_core.project.services.similarity import Similarity
from miml_core.project.services.suggestions import Suggestions

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

Kind = Literal["sound", "picture"]


class Project:
    """An open project folder.

    It can be shared by threads, and several processes may have the same project open. Its content is reached through
    its services: `media`, `bags`, `classes`, `segments`, `edits`, `jobs`, `runs`, `review`, `similarity`,
    `suggestions` and `exports`.

    Parameters
    ----------
    store : Store
        Made by `create` or `open`.
    annotator : str
        Who edits, unless a method is given another name.

    Examples
    --------
    >>> import tempfile
    >>> with Project.create(tempfile.mkdtemp() + "/wrens", annotator="Ann") as project:
    ...     wren = project.edits.add_class("Wren")
    ...     [each.name for each in project.classes.list()]
    ['Wren']
    """

    def __init__(self, store: Store, annotator: str = "") -> None:
        self.store = store
        self.annotator = annotator
        self.media = Media(store, annotator)
        self.bags = Bags(store, annotator)
        self.classes = Classes(store, annotator)
        self.segments = Segments(store, annotator)
        self.edits = Edits(store, annotator)
        self.jobs = Jobs(store, annotator)
        self.runs = Runs(store, annotator)
        self.review = Review(store, annotator)
        self.similarity = Similarity(store, annotator)
        self.suggestions = Suggestions(store, annotator)
        self.exports = Exports(store, annotator)

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
        """Create a project in `folder`, which may exist but must not hold a project already.

        `settings` is `InstanceSettings.to_dict()`; by default those of the kind.
        """
        title = name or Path(folder).absolute().name

        def fill(connection: Connection) -> None:
            settings_.initialise(connection, kind=kind, name=title, settings=settings)

        return cls(Store.create(Path(folder), fill), annotator)

    @classmethod
    def open(cls, folder: str | Path, *, annotator: str = "") -> Project:
        """Open the project in `folder`; an older one is migrated after a backup.

        Raises
        ------
        BagtagError
            There is no project, it is damaged, it is not Bagtag's, or a newer Bagtag made it (`ProjectTooNew`).
        """
        return cls(Store.open(Path(folder)), annotator)

    @staticmethod
    def is_project(folder: str | Path) -> bool:
        """Return whether the folder contains a file named like a project's database, without opening it."""
        try:
            return (Path(folder) / "project.db").is_file()
        except (OSError, ValueError):  # no permission, or not a path
            return False

    def close(self) -> None:
        """Predict again the bags that edits changed, and close the files; everything is saved already."""
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
        """The project's folder."""
        return self.store.folder

    @property
    def cache_folder(self) -> Path:
        """A folder for what can be computed again; it may be deleted at any time, so it is made on every use."""
        return self.store.cache_folder

    @property
    def name(self) -> str:
        """The name that the screen shows."""
        with self.store.read() as connection:
            return str(settings_.get(connection, "name"))

    @property
    def kind(self) -> Kind:
        """The kind of the project's media."""
        with self.store.read() as connection:
            return settings_.kind(connection)

    @property
    def settings(self) -> InstanceSettings:
        """How segments are detected and described."""
        with self.store.read() as connection:
            return settings_.instance_settings(connection)

    def set_settings(self, new: InstanceSettings, *, annotator: str | None = None) -> int:
        """Store new settings; return how many bags have to be segmented or described again.

        Nothing is removed: segments and features made with other settings stay until a job replaces them, and
        count as not up to date as soon as their own key differs.
        """
        with self.store.write() as connection:
            who = self.annotator if annotator is None else annotator
            return settings_.set_instance_settings(connection, new, annotator=who)

    @property
    def place(self) -> Place | None:
        """Where the recordings were made, if somebody entered it; `media.location` returns that of a bag."""
        with self.store.read() as connection:
            return settings_.place(connection)

    def set_place(self, place: Place | None, *, annotator: str | None = None) -> None:
        """Store where the recordings were made, for those whose file does not have it; None removes it."""
        with self.store.write() as connection:
            who = self.annotator if annotator is None else annotator
            settings_.set_place(connection, place, annotator=who)

    @property
    def view_band(self) -> tuple[float, float | None] | None:
        """The frequency range, in hertz, that sounds are shown with; None shows all that is analysed."""
        with self.store.read() as connection:
            return settings_.view_band(connection)

    def set_view_band(self, band: tuple[float, float | None] | None) -> None:
        """Store which frequencies sounds are shown with; (2000.0, None) is from 2 kHz on. Analysis is untouched."""
        with self.store.write() as connection:
            settings_.set_view_band(connection, band)

    def get_preference(self, name: str, default: Any = None) -> Any:
        """Return a value that the app stores with the project (view settings, hints that were read); any JSON."""
        with self.store.read() as connection:
            return settings_.get(connection, f"preference.{name}", default)

    def set_preference(self, name: str, value: Any) -> None:
        """Store a value for `get_preference`."""
        with self.store.write() as connection:
            settings_.put(connection, f"preference.{name}", value)

    def progress(self) -> ProjectCounts:
        """Return counts of files, bags, tags, segments and checks."""
        with self.store.read() as connection:
            return progress(connection)

    @property
    def revision(self) -> int:
        """A number that grows with every change by anybody; cheap to poll."""
        with self.store.read() as connection:
            return revisions.current(connection)

    def news(self, since: int) -> News:
        """Return which bags and which topics changed after revision `since`."""
        with self.store.read() as connection:
            return revisions.news(connection, since)

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Check the database, the files and leftovers; `repair` fixes what can be fixed, after a backup."""
        return check_.check(self.store, repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Write a checked copy of the database to a new file, also while others write."""
        return self.store.backup(Path(path))
