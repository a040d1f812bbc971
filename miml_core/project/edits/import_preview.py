"""Import labels of other programs: make the plan of a table, show it, and do it in one edit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from miml_core.errors import BagtagError
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.problems import LineProblem
from miml_core.plurals import counted
from miml_core.project.db.store import Store
from miml_core.project.edits.apply import perform
from miml_core.project.edits.import_labels import ImportLabels
from miml_core.project.edits.label_plan import ImportOptions, LabelPlan, make_plan
from miml_core.project.edits.label_shapes import SegmentPlan, plan_segments
from miml_core.project.records import EditResult

_NAMES_SHOWN = 3


@dataclass(frozen=True, eq=False)
class ImportPreview:
    """What an import will do."""

    plan: LabelPlan
    shapes: SegmentPlan
    unreadable: list[LineProblem]
    """Lines that cannot be read; nothing is imported as long as there are any, unless they are left out on purpose."""

    @property
    def left_out(self) -> list[LineProblem]:
        """Labels that can be read, but not imported."""
        return [*self.plan.left_out, *self.shapes.left_out]

    @property
    def n_bags(self) -> int:
        """Number of bags that get labels."""
        return len({piece.bag_id for piece in self.plan.pieces})

    @property
    def n_imported(self) -> int:
        """Number of segments, or of tags of bags, that the import adds or confirms."""
        if self.plan.options.way == "tags":
            return len({(piece.bag_id, piece.class_name) for piece in self.plan.pieces if piece.class_name})
        return len(self.shapes.new)


def preview(store: Store, table: LabelTable, options: ImportOptions, beside: Path | None = None) -> ImportPreview:
    """Return what importing a table would do; changes nothing."""
    with store.read() as connection:
        plan = make_plan(connection, store.folder, table, options, beside)
        shapes = SegmentPlan() if options.way == "tags" else plan_segments(connection, plan)
    return ImportPreview(plan, shapes, list(table.problems))


def import_previewed(
    store: Store, shown: ImportPreview, annotator: str, *, leave_out_errors: bool = False
) -> EditResult:
    """Do what a preview shows, as one edit.

    Raises
    ------
    BagtagError
        Lines of the table cannot be read and `leave_out_errors` is false, or there is nothing to import.
    """
    if shown.unreadable and not leave_out_errors:
        lines, them = counted(len(shown.unreadable), "line"), "it" if len(shown.unreadable) == 1 else "them"
        raise BagtagError(
            f"{lines} cannot be read, so nothing was imported; correct {them}, or choose to leave {them} out."
        )
    if not shown.plan.pieces:
        names = [repr(use.name) for use in shown.plan.files if use.path is None]
        more = "" if len(names) <= _NAMES_SHOWN else f" and {len(names) - _NAMES_SHOWN} more"
        of = f" ({', '.join(names[:_NAMES_SHOWN])}{more})" if names else ""
        raise BagtagError(f"There is nothing to import: none of the labels is of a file of this project{of}.")
    return perform(store, ImportLabels(shown.plan, shown.shapes), annotator)
