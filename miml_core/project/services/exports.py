"""The exports of a project: rows for the formats, and the exports that were made."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from miml_core.project.queries import export_rows, exports_made
from miml_core.project.queries.export_rows import RowFilter
from miml_core.project.queries.exports_made import ExportMade
from miml_core.project.services.service import Service

if TYPE_CHECKING:
    from miml_core.exchange.rows import SegmentRow


class Exports(Service):
    """`project.exports`; an export is written by the job of that name.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     done = project.edits.accept([1])
    ...     confirmed = project.exports.rows("confirmed")
    >>> [(row.file, row.label, row.status) for row in confirmed]
    [('media/dawn-1.wav', 'Wren', 'confirmed')]
    """

    def rows(
        self,
        what: Literal["confirmed", "accepted", "predicted", "all"] = "all",
        *,
        min_probability: float = 0.0,
        bag_ids: Sequence[int] | None = None,
        limit: int | None = None,
        outlines: bool = True,
        only: RowFilter | None = None,
    ) -> builtins.list[SegmentRow]:
        """Return segments as the formats of `miml_core.exchange` take them.

        "confirmed": labels of people (background included); "predicted": these, and predictions of at least
        `min_probability`; "all": every segment, the others without a label. `outlines` are exact; formats that do
        not need them (`Format.needs_outlines`) are written faster without.
        """
        with self._store.read() as connection:
            return export_rows.read_rows(
                connection,
                what,
                min_probability=min_probability,
                bag_ids=bag_ids,
                limit=limit,
                outlines=outlines,
                only=only,
            )

    def list(self, *, limit: int = 5) -> builtins.list[ExportMade]:
        """Return the latest exports first, each with those of its files that this installation wrote."""
        return exports_made.latest(self._store, limit)
