"""Edits that decide what two annotators answered differently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from miml_core.bags import BACKGROUND
from miml_core.plurals import counted
from miml_core.project.db.rows import bag_row, segment_rows
from miml_core.project.db.schema import conflicts
from miml_core.project.edits.edit import Edit, Outcome
from miml_core.project.edits.fields import BagIds, Flag
from miml_core.project.edits.labels import set_label
from miml_core.project.edits.row_changes import RowChanges
from miml_core.project.edits.tags import set_tags
from miml_core.project.errors import Gone
from miml_core.project.queries.conflicts import open_conflicts
from miml_core.project.queries.labels import check_label


@dataclass(frozen=True)
class ResolveConflicts(Edit):
    """Keep our answers, or take those of the other annotator, to some conflicts; `confirm` as for tags.

    What somebody has decided meanwhile stays as it is.
    """

    name: ClassVar[str] = "resolve_conflicts"
    from_screen: ClassVar[bool] = False
    conflicts: BagIds
    take_theirs: Flag = False
    confirm: Flag = False

    def apply(self, changes: RowChanges, annotator: str) -> Outcome:
        found = open_conflicts(changes.connection, ids=self.conflicts)
        if not found:
            raise Gone("These conflicts have already been decided; list the open ones again.")
        for row in found:
            if self.take_theirs and row.segment_id is not None:
                (segment,) = segment_rows(changes.connection, [row.segment_id])
                if row.theirs != BACKGROUND:
                    check_label(changes.connection, row.theirs)
                set_label(changes, segment, row.theirs, annotator)
            elif self.take_theirs and row.class_id is not None:
                bag = bag_row(changes.connection, row.bag_id)
                set_tags(changes, bag, {row.class_id: row.theirs}, confirm=self.confirm)
            changes.update(conflicts, row.id, resolved=True)
        many = counted(len(found), "conflict")
        return Outcome(f"{many}: {'took the other answer' if self.take_theirs else 'kept our answer'}", None)
