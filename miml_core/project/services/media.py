"""The media files of a project."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from miml_core.project.media import access, changes, files, state
from miml_core.project.media.access import BlockedFolder
from miml_core.project.media.changes import Accepted
from miml_core.project.records import Medium, RecordingLocation
from miml_core.project.services.service import Service


class Media(Service):
    """`project.media`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     paths = [medium.path for medium in project.media.list()]
    ...     name = project.media.path(2).name
    ...     n_missing = project.media.refresh_missing()
    >>> paths, name, n_missing
    (['media/dawn-1.wav', 'media/dawn-2.wav', 'media/dawn-3.wav'], 'dawn-2.wav', 0)
    """

    def add(
        self,
        paths: Sequence[str | Path],
        *,
        bag_length: float | None = None,
        overlap: float = 0.0,
        remainder: Literal["keep", "drop", "merge"] = "keep",
    ) -> builtins.list[int]:
        """Add files (not folders) now and cut them into bags; return the ids of the new bags.

        A file already in the project (same size and fingerprint) is not added twice. A file that cannot be read
        raises `BagtagError`. For folders of many files start an "import" job.
        """
        with self._store.write() as connection:
            return files.add_files(
                connection, self._store.folder, paths, bag_length=bag_length, overlap=overlap, remainder=remainder
            )

    def list(self) -> builtins.list[Medium]:
        """Return all files, as last checked."""
        with self._store.read() as connection:
            return files.all_media(connection)

    def path(self, bag_id: int) -> Path:
        """Return where the bag's file is; raises `BagtagError` if it is missing, has changed or may not be used."""
        with self._store.read() as connection:
            return files.path_of_bag(connection, self._store.folder, bag_id)

    def location(self, bag_id: int) -> RecordingLocation:
        """Return where and when a bag was recorded: by its file if its recorder had GPS, else by the project."""
        with self._store.read() as connection:
            return files.location_of_bag(connection, self._store.folder, bag_id)

    def refresh_missing(self) -> int:
        """Check every file; return how many are missing."""
        return state.refresh(self._store)["missing"]

    def refresh(self, media_ids: Sequence[int], *, seconds: float) -> None:
        """Check some files, for at most `seconds`, so that lists and counts show which are missing or changed."""
        state.refresh(self._store, builtins.list(media_ids), seconds=seconds)

    def changed_ids(self) -> builtins.list[int]:
        """Return the ids of the files that have changed, as last checked."""
        with self._store.read() as connection:
            return changes.changed_ids(connection)

    def accept_changed(self, media_ids: Sequence[int] | None = None, *, annotator: str | None = None) -> Accepted:
        """Accept files that have changed as they are now: the next segment job detects their segments again."""
        return changes.accept_changed(self._store, self._name_or_own(annotator), media_ids)

    def blocked_folders(self) -> builtins.list[BlockedFolder]:
        """Return the folders of media that were not chosen on this computer: their files are not opened."""
        return access.blocked_folders(self._store)

    def allow_folder(self, folder: str | Path) -> None:
        """Record, outside the project, that its media below `folder` may be used on this computer."""
        access.allow_folder(self._store.folder, Path(folder))

    def relink(self, folder: str | Path) -> builtins.list[str]:
        """Find missing files again below `folder`, by name, size and fingerprint; return the paths found."""
        return files.relink(self._store, Path(folder))
