"""Keeping the library: media, bags, classes and settings of a project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from miml_core.project import (
    acts,
    check,
    classes,
    listing,
    media,
    media_access,
    media_changes,
    media_state,
    revisions,
    settings,
    tag_table,
)
from miml_core.project.media_access import BlockedFolder
from miml_core.project.media_changes import Accepted
from miml_core.project.rows import Bag, BagPage, Class, EditResult, Medium, News, Problem, Progress, TagImport
from miml_core.project.store import Store

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings

BagFilter = Literal[
    "all",
    "untagged",
    "unfinished",
    "finished",
    "unreviewed",
    "unsegmented",
    "error",
    "missing",
    "changed file",
    "empty",
]
BagSort = Literal["added", "name", "time", "duration", "progress", "changed", "doubt"]


class LibraryDesk:
    """Media, bags, classes and settings; a part of `Project`."""

    store: Store
    annotator: str

    # the project itself

    @property
    def name(self) -> str:
        with self.store.read() as connection:
            return str(settings.get(connection, "name"))

    @property
    def kind(self) -> Literal["sound", "picture"]:
        """A project holds one kind of media."""
        with self.store.read() as connection:
            return settings.kind(connection)

    @property
    def settings(self) -> InstanceSettings:
        """How segments are found and described."""
        with self.store.read() as connection:
            return settings.instance_settings(connection)

    def set_settings(self, new: InstanceSettings, *, annotator: str | None = None) -> int:
        """Keep new settings; answers how many bags have to be segmented or described anew.

        Nothing is thrown away: segments and features made with other settings stay until a job replaces them, and
        count as not up to date (`segmented` of a bag, `n_to_describe`) as soon as their own key differs.
        """
        with self.store.write() as connection:
            return settings.set_instance_settings(connection, new, annotator=self._who(annotator))

    def get_preference(self, name: str, default: Any = None) -> Any:
        """A value the app wants to keep with the project (view settings, last page); any JSON."""
        with self.store.read() as connection:
            return settings.get(connection, f"preference.{name}", default)

    def set_preference(self, name: str, value: Any) -> None:
        with self.store.write() as connection:
            settings.put(connection, f"preference.{name}", value)

    def progress(self) -> Progress:
        """How far the project is."""
        with self.store.read() as connection:
            return listing.progress(connection)

    @property
    def revision(self) -> int:
        """Grows with every change anybody makes; cheap enough to poll."""
        with self.store.read() as connection:
            return revisions.current(connection)

    def news(self, since: int) -> News:
        """Which bags and which topics changed after revision `since`."""
        with self.store.read() as connection:
            return revisions.news(connection, since)

    # media

    def add_media(
        self,
        paths: Sequence[str | Path],
        *,
        bag_length: float | None = None,
        overlap: float = 0.0,
        remainder: Literal["keep", "drop", "merge"] = "keep",
    ) -> list[int]:
        """Add files (not folders) now and cut them into bags; answers the new bags' ids.

        A file already in the project (same size and fingerprint) is not added twice. A file that cannot be read
        raises `BagtagError`. Folders of many files are better given to the "import" job.
        """
        with self.store.write() as connection:
            return media.add_files(
                connection, self.store.folder, paths, bag_length=bag_length, overlap=overlap, remainder=remainder
            )

    def media(self) -> list[Medium]:
        """All files, as last seen."""
        with self.store.read() as connection:
            return media.all_media(connection)

    def media_path(self, bag_id: int) -> Path:
        """Where the bag's file is now; raises `BagtagError` if it is missing, has changed or may not be used."""
        with self.store.read() as connection:
            return media.path_of_bag(connection, self.store.folder, bag_id)

    def refresh_missing(self) -> int:
        """Look at every file; returns how many are missing."""
        return media_state.refresh(self.store)["missing"]

    def refresh_media(self, media_ids: Sequence[int], *, seconds: float) -> None:
        """Look at some files, as far as there is time, so that lists and counts show which are missing or changed."""
        media_state.refresh(self.store, list(media_ids), seconds=seconds)

    def accept_changed(self, media_ids: Sequence[int] | None = None, *, annotator: str | None = None) -> Accepted:
        """Accept files that have changed as they are now: their segments are found again by the next segment job."""
        return media_changes.accept_changed(self.store, self._who(annotator), media_ids)

    def blocked_folders(self) -> list[BlockedFolder]:
        """Return the folders of media that were not chosen on this computer: their files are not looked at."""
        return media_access.blocked_folders(self.store)

    def allow_media_folder(self, folder: str | Path) -> None:
        """Record, outside of the project, that its media below `folder` may be used on this computer."""
        media_access.allow_folder(self.store.folder, Path(folder))

    def relink(self, folder: str | Path) -> list[str]:
        """Find missing files again below `folder`, by name, size and fingerprint; answers the paths found."""
        return media.relink(self.store, Path(folder))

    def remove_bags(
        self, bag_ids: Iterable[int], *, confirm: bool = False, annotator: str | None = None
    ) -> EditResult:
        """Take bags out of the project (never the files); with tags or labels on them, `confirm` is needed."""
        act = {"bags": list(bag_ids), "confirm": confirm}
        return acts.perform(self.store, "remove_bags", act, self._who(annotator))

    # bags

    def list_bags(
        self,
        *,
        search: str = "",
        show: BagFilter = "all",
        class_id: int | None = None,
        sort: BagSort = "added",
        descending: bool = False,
        offset: int = 0,
        limit: int = 50,
    ) -> BagPage:
        """One page of bags.

        Parameters
        ----------
        search : str
            Part of the file's name, of the note or of the name of a class the bag is tagged with.
        show : BagFilter
            "untagged": no tag and not finished; "unreviewed": finished tagging but segments nobody checked;
            "error": a job could not deal with it; "empty": segmented, but no segment was found.
        class_id : int, optional
            Only bags tagged as having this class.
        """
        with self.store.read() as connection:
            return listing.page(
                connection,
                self.store.folder,
                search=search,
                show=show,
                class_id=class_id,
                sort=sort,
                descending=descending,
                offset=offset,
                limit=limit,
            )

    def bag(self, bag_id: int) -> Bag:
        """One bag; raises `Gone` when there is no such bag."""
        with self.store.read() as connection:
            return listing.one(connection, self.store.folder, bag_id)

    def bag_ids(
        self,
        *,
        search: str = "",
        show: BagFilter = "all",
        class_id: int | None = None,
        sort: BagSort = "added",
        descending: bool = False,
    ) -> list[int]:
        """The ids of all bags that `list_bags` would page through, in its order: for next and previous."""
        with self.store.read() as connection:
            return listing.ids(
                connection, search=search, show=show, class_id=class_id, sort=sort, descending=descending
            )

    def set_bag_note(self, bag_id: int, note: str, *, annotator: str | None = None) -> EditResult:
        return acts.perform(self.store, "note", {"bag": bag_id, "note": note}, self._who(annotator))

    # classes

    def classes(self) -> list[Class]:
        """All classes in the order they were made, with how often they are used."""
        with self.store.read() as connection:
            return classes.all_classes(connection)

    def find_class(self, name: str) -> Class | None:
        """By name or scientific name, whatever the case."""
        with self.store.read() as connection:
            return classes.find(connection, name)

    def add_class(
        self,
        name: str,
        *,
        colour: str = "",
        shortcut: str = "",
        scientific_name: str = "",
        note: str = "",
        annotator: str | None = None,
    ) -> Class:
        """A new class; a colour that colour-blind people can tell apart is chosen when none is given."""
        act = {
            "name": name,
            "colour": colour,
            "shortcut": shortcut,
            "scientific_name": scientific_name,
            "note": note,
        }
        result = acts.perform(self.store, "add_class", act, self._who(annotator))
        with self.store.read() as connection:
            return classes.one(connection, result.created[0])

    def change_class(self, class_id: int, *, annotator: str | None = None, **changes: str) -> EditResult:
        """Change `name`, `colour`, `shortcut`, `scientific_name` or `note`."""
        return acts.perform(self.store, "change_class", {"class": class_id, **changes}, self._who(annotator))

    def merge_classes(self, class_ids: Sequence[int], into: int, *, annotator: str | None = None) -> EditResult:
        """Everything tagged or labelled with `class_ids` becomes `into`; the merged classes go."""
        act = {"classes": list(class_ids), "into": into}
        return acts.perform(self.store, "merge_classes", act, self._who(annotator))

    def remove_class(self, class_id: int, *, confirm: bool = False, annotator: str | None = None) -> EditResult:
        """Remove a class; if it is used anywhere, `confirm` is needed and its tags and labels go with it."""
        return acts.perform(
            self.store, "remove_class", {"class": class_id, "confirm": confirm}, self._who(annotator)
        )

    def import_classes(self, path: str | Path, *, annotator: str | None = None) -> EditResult:
        """Add classes from a species list: a CSV with a column name, maybe scientific_name, colour, shortcut, note."""
        from miml_core.exchange.species_csv import read_species

        act = {"classes": [asdict(row) for row in read_species(path)]}
        return acts.perform(self.store, "add_classes", act, self._who(annotator))

    def import_tags(self, path: str | Path, *, annotator: str | None = None) -> TagImport:
        """Tag bags from a table of files and tags (see `exchange.tags_csv`); classes that are new are added.

        Each bag is one act; lines that name no bag of the project, or several, are listed and left out.
        """
        return tag_table.import_tags(self.store, Path(path), self._who(annotator))

    # looking after it

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Integrity of the database, missing files, leftovers; `repair` puts right what can be, after a backup."""
        return check.check(self.store, repair=repair)

    def backup(self, path: str | Path) -> Path:
        """Write a checked copy of the database to a new file, also while others write."""
        return self.store.backup(Path(path))

    def _who(self, annotator: str | None) -> str:
        return self.annotator if annotator is None else annotator
