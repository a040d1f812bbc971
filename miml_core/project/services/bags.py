"""The bags of a project: lists, single bags, and the BagSet that models learn from."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from miml_core.project.queries import bags, bagset
from miml_core.project.records import Bag, BagPage
from miml_core.project.services.service import Service

if TYPE_CHECKING:
    from miml_core.bags import BagSet
    from miml_core.project.queries.bagset import BagSetIndex

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
    "conflicts",
    "tag conflicts",
]
BagSort = Literal["added", "name", "time", "duration", "progress", "changed", "doubt"]


class Bags(Service):
    """`project.bags`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     wren = project.classes.find("Wren")
    ...     tagged = [bag.name for bag in project.bags.list(class_id=wren.id).bags]
    ...     bags, index = project.bags.bagset()
    >>> tagged
    ['dawn-1.wav', 'dawn-2.wav']
    >>> bags
    BagSet(3 bags, 4 segments, 61 features, 2 classes)
    >>> index.segment_ids.tolist()
    [1, 2, 3, 4]
    """

    def list(
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
        """Return one page of bags.

        Parameters
        ----------
        search : str
            Part of the file's name, of the note or of the name of a class the bag is tagged with.
        show : BagFilter
            "untagged": no tag and not finished; "unreviewed": tagging is finished but there are unchecked segments;
            "error": a job failed on it; "empty": segments were detected, but there are none; "conflicts":
            somebody whose copy was merged answered differently, and "tag conflicts": about its tags.
        class_id : int, optional
            Only bags tagged as having this class.
        """
        with self._store.read() as connection:
            return bags.list_bags(
                connection,
                self._store.folder,
                search=search,
                show=show,
                class_id=class_id,
                sort=sort,
                descending=descending,
                offset=offset,
                limit=limit,
            )

    def ids(
        self,
        *,
        search: str = "",
        show: BagFilter = "all",
        class_id: int | None = None,
        sort: BagSort = "added",
        descending: bool = False,
    ) -> builtins.list[int]:
        """Return the ids of all bags that `list` would page through, in its order."""
        with self._store.read() as connection:
            return bags.list_ids(
                connection, search=search, show=show, class_id=class_id, sort=sort, descending=descending
            )

    def get(self, bag_id: int) -> Bag:
        """Return one bag; raises `Gone` when there is none."""
        with self._store.read() as connection:
            return bags.get_bag(connection, self._store.folder, bag_id)

    def bagset(self, bag_ids: Sequence[int] | None = None, *, only_tagged: bool = False) -> tuple[BagSet, BagSetIndex]:
        """Return what models learn from, and which rows are which bags, segments and classes.

        Bags without described segments are left out (a BagSet has no empty bags). `only_tagged` also leaves out bags
        with neither tags nor labels.
        """
        with self._store.read() as connection:
            return bagset.load(connection, bag_ids, only_tagged=only_tagged)
