"""What merging another annotator's copy will do: tags and labels to take, segments to add, and where both differ.

A plan is made on read connections of both projects and changes nothing. It is shown before the merge, and the edit
(`merge_copy.py`) does what it lists.

Media are the same by size and fingerprint, bags by medium, start and end, classes by name or scientific name, segments
by region (`merge_segments.py`). What only one annotator answered is taken, what both answered alike is agreement, and
of what both answered differently ours is kept and listed as a conflict.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, select, text

from miml_core.bags import BACKGROUND
from miml_core.errors import BagtagError
from miml_core.evaluation.agreement import cohen_kappa, kappa_of_classes
from miml_core.project.db import settings
from miml_core.project.db.database_file import DATABASE
from miml_core.project.db.rows import LIVE_CLASS
from miml_core.project.db.schema import BY_EYE, bags, classes, media, segments, verdicts
from miml_core.project.db.store import Store
from miml_core.project.edits.label_plan import storable
from miml_core.project.edits.label_shapes import DETECTED
from miml_core.project.edits.merge_records import (
    Agreement,
    ClassRef,
    MergePlan,
    NewConflict,
    TakenLabel,
    TakenSegment,
)
from miml_core.project.edits.merge_rows import (
    grids_of,
    is_of_a_person,
    known_conflicts,
    label_of,
    live_segments,
    place_of_bag,
    removed_shapes,
    stored_time,
    tags_by_bag,
)
from miml_core.project.edits.merge_segments import covered_by, fits_grid, match_segments
from miml_core.project.packing.opening import open_copy
from miml_core.project.queries.classes import ids_by_name
from miml_core.project.queries.last_edits import LastEdits, Signature, merged_bags, signatures

if TYPE_CHECKING:
    from miml_core.media.grid import Grid

_IN_BAGS = text("bag_id IN (SELECT value FROM json_each(:bags))")


def preview_merge(store: Store, other: Path) -> MergePlan:
    """Return what merging a project folder or a packed file would do; changes neither project.

    Raises
    ------
    BagtagError
        It is not a project, is damaged, or is the project itself.
    """
    if not other.exists():
        raise BagtagError(f"There is no {str(other)!r}; give the folder of a project, or a packed project.")
    if other.is_dir() and (other / DATABASE).exists() and (other / DATABASE).samefile(store.path):
        raise BagtagError(f"{str(other)!r} is the project itself; give the copy of another annotator.")
    with open_copy(other) as copy, copy.read() as theirs, store.read() as ours:
        return make_merge_plan(ours, theirs)


def make_merge_plan(ours: Connection, theirs: Connection) -> MergePlan:
    """Return what merging a copy will do.

    Raises
    ------
    BagtagError
        The projects hold different kinds of media, or have none in common.
    """
    if settings.kind(ours) != settings.kind(theirs):
        raise BagtagError(
            f"The other project holds {settings.kind(theirs)}s, and this one {settings.kind(ours)}s: they cannot be "
            "merged. Choose a copy of this project."
        )
    return _Planner(ours, theirs).plan


class _Planner:
    """The plan while it is made."""

    def __init__(self, ours: Connection, theirs: Connection) -> None:
        self.ours, self.theirs = ours, theirs
        our_edits, their_edits = signatures(ours), signatures(theirs)
        self.shared = our_edits & their_edits
        people = sorted({name for name, _ in their_edits - our_edits} - {""})
        self.plan = MergePlan(str(settings.get(theirs, "name") or ""), people)
        self.our_edits, self.their_edits = LastEdits(ours), LastEdits(theirs)
        self.pairs = self._pair_bags()
        self.our_tags, self.their_tags = tags_by_bag(ours), tags_by_bag(theirs)
        self.refs, self.names = self._match_classes()
        self.used = self._used_classes()
        self.known = known_conflicts(ours)
        self.tagged: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        self.rated: tuple[list[Hashable], list[Hashable]] = ([], [])
        self.merged = merged_bags(ours)
        for our_bag, their_bag in self.pairs:
            self._merge_tags(our_bag, their_bag)
            self._merge_segments(our_bag, their_bag)
        used = self.plan.used_classes()
        self.plan.new_classes = {name: sci for name, sci in self.plan.new_classes.items() if name in used}
        self._measure_agreement()

    def _pair_bags(self) -> list[tuple[Row[Any], Row[Any]]]:
        """Return (our bag, their bag) of the bags that both have."""
        known = {(row.fingerprint, row.size): row.id for row in self.ours.execute(select(media))}
        same: dict[int, int] = {}
        for row in self.theirs.execute(select(media).order_by(media.c.id)):
            if (row.fingerprint, row.size) in known:
                same[row.id] = known[row.fingerprint, row.size]
            else:
                self.plan.unknown_media.append(row.path)
        our_bags = {place_of_bag(row.media_id, row): row for row in self.ours.execute(select(bags))}
        pairs = []
        for row in self.theirs.execute(select(bags).order_by(bags.c.id)):
            mine = our_bags.get(place_of_bag(same.get(row.media_id), row))
            if mine is not None:
                pairs.append((mine, row))
        self.plan.n_media, self.plan.n_bags = len(same), len(pairs)
        n_theirs = len(self.theirs.execute(select(bags.c.id)).all())
        self.plan.n_unknown_bags = n_theirs - len(pairs)
        return pairs

    def _match_classes(self) -> tuple[dict[int, ClassRef], dict[ClassRef, str]]:
        """Return {their class id: class of the project}, and the names of all classes."""
        names: dict[ClassRef, str] = {BACKGROUND: "background"}
        for row in self.ours.execute(select(classes).where(LIVE_CLASS).order_by(classes.c.id)):
            names[row.id] = row.name
        self.our_classes = [ref for ref in names if isinstance(ref, int) and ref > 0]
        refs: dict[int, ClassRef] = {}
        rows = self.theirs.execute(select(classes).where(LIVE_CLASS).order_by(classes.c.id)).all()
        found = ids_by_name(self.ours, [name for row in rows for name in (row.name, row.scientific_name)])
        for row in rows:
            ref = found.get(row.name, found.get(row.scientific_name))
            name = storable(row.name)
            if ref is None:
                self.plan.new_classes[name] = storable(row.scientific_name)
                names[name] = name
            refs[row.id] = name if ref is None else ref
        return refs, names

    def _used_classes(self) -> set[ClassRef]:
        """Return the classes that the other annotator used in bags that both have."""
        their_bags = [bag.id for _, bag in self.pairs]
        used = {class_id for bag_id in their_bags for class_id in self.their_tags[bag_id]}
        labelled = select(verdicts.c.class_id).join(segments, segments.c.id == verdicts.c.segment_id)
        query = labelled.where(_IN_BAGS, segments.c.alive, verdicts.c.checked_by == BY_EYE).distinct()
        used |= set(self.theirs.execute(query, {"bags": json.dumps(their_bags)}).scalars())
        return {ref for class_id, ref in self.refs.items() if class_id in used}

    # tags

    def _merge_tags(self, our_bag: Row[Any], their_bag: Row[Any]) -> None:
        mine, other = self.our_tags[our_bag.id], self._their_answers(their_bag)
        absent = bool(our_bag.finished and not our_bag.rest_unknown)
        for ref in dict.fromkeys([*mine, *(ref for ref, value in other.items() if value)]):
            our_value = self._our_value(mine, ref, absent)
            their_value = other.get(ref, 0)
            is_explicit = ref in self.explicit
            if our_value == 0 and their_value and is_explicit:
                if not self._is_shared(self._their_tag_edit(their_bag, ref)):
                    self.plan.new_tags[our_bag.id, ref] = their_value
            elif our_value * their_value < 0:
                self._tag_conflict(our_bag, their_bag, ref, our_value)
            self.plan.n_agreed_tags += our_value * their_value > 0
        self._finish(our_bag, their_bag, mine, other)
        if their_bag.note and not our_bag.note:
            self.plan.notes[our_bag.id] = storable(their_bag.note)
        if self._is_independent(our_bag, their_bag):
            for ref in self.our_classes:
                values = self._our_value(mine, ref, absent), other.get(ref, 0)
                edits = self._our_tag_edit(our_bag, ref), self._their_tag_edit(their_bag, ref)
                if all(values) and not any(self._is_shared(edit) for edit in edits):
                    for ratings, value in zip(self.tagged[self.names[ref]], values):
                        ratings.append(value)

    def _their_answers(self, bag: Row[Any]) -> dict[ClassRef, int]:
        """Return {class: 1, -1 or 0} for all classes that the other annotator had; several may be one class of ours."""
        given = self.their_tags[bag.id]
        absent = -1 if bag.finished and not bag.rest_unknown else 0
        values: dict[ClassRef, list[int]] = defaultdict(list)
        self.explicit: set[ClassRef] = set()
        for class_id, ref in self.refs.items():
            values[ref].append(given.get(class_id, absent))
            if class_id in given:
                self.explicit.add(ref)
        return {ref: 1 if 1 in some else -1 if set(some) == {-1} else 0 for ref, some in values.items()}

    def _our_value(self, mine: Mapping[int, int], ref: ClassRef, absent: bool) -> int:
        """Return our answer; a class that the project does not have yet was never answered."""
        if isinstance(ref, str):
            return 0
        return mine.get(ref, -1 if absent else 0)

    def _finish(
        self, our_bag: Row[Any], their_bag: Row[Any], mine: Mapping[int, int], other: Mapping[ClassRef, int]
    ) -> None:
        """Take over that tagging is finished: what is not tagged is absent, as far as the other knew the classes."""
        if not their_bag.finished or (our_bag.finished and not our_bag.rest_unknown):
            return
        if self._is_shared(self.their_edits.of_finish(their_bag.id)):
            return
        if their_bag.rest_unknown:
            if not our_bag.finished:
                self.plan.finished[our_bag.id] = True
            return
        if all(ref in other for ref in self.our_classes):
            self.plan.finished[our_bag.id] = False
            return
        for ref, value in other.items():
            is_needed = isinstance(ref, int) or ref in self.used
            if value < 0 and is_needed and self._our_value(mine, ref, absent=False) == 0:
                self.plan.new_tags[our_bag.id, ref] = -1
        if not our_bag.finished:
            self.plan.finished[our_bag.id] = True

    def _tag_conflict(self, our_bag: Row[Any], their_bag: Row[Any], ref: ClassRef, ours: int) -> None:
        theirs_edit = self._their_tag_edit(their_bag, ref)
        if self._is_shared(theirs_edit):
            return
        ours_edit = self._our_tag_edit(our_bag, ref)
        ours_by, ours_at = self.our_edits.name_of(ours_edit), 0.0 if ours_edit is None else ours_edit[1]
        theirs_by = storable(self.their_edits.name_of(theirs_edit))
        theirs_at = stored_time(their_bag.tags_at)
        self._add_conflict(NewConflict(our_bag.id, None, ref, ours, ours_by, ours_at, -ours, theirs_by, theirs_at))

    def _their_tag_edit(self, their_bag: Row[Any], ref: ClassRef) -> Signature | None:
        """Return the edit of their answer to a class: its tag, or the end of the bag's tagging."""
        if ref not in self.explicit:
            return self.their_edits.of_finish(their_bag.id)
        given = self.their_tags[their_bag.id]
        their_class = next(class_id for class_id, each in self.refs.items() if each == ref and class_id in given)
        return self.their_edits.of_tag(their_bag.id, their_class)

    def _our_tag_edit(self, our_bag: Row[Any], ref: ClassRef) -> Signature | None:
        if ref in self.our_tags[our_bag.id]:
            return self.our_edits.of_tag(our_bag.id, int(ref))
        return self.our_edits.of_finish(our_bag.id)

    def _is_shared(self, edit: Signature | None) -> bool:
        """Return whether both copies have an edit: where they differ now, ours was changed since, and counts."""
        return edit is not None and edit in self.shared

    def _add_conflict(self, found: NewConflict) -> None:
        key = (found.bag_id, found.segment_id, found.class_ref, found.theirs, found.theirs_at)
        if key in self.known:
            self.plan.n_known_conflicts += 1
        else:
            self.plan.conflicts.append(found)

    def _is_independent(self, our_bag: Row[Any], their_bag: Row[Any]) -> bool:
        """Return whether the tags are not the same decision: made before the copy was, or taken by an earlier merge."""
        return bool(our_bag.tags_at != their_bag.tags_at and our_bag.id not in self.merged)

    # segments

    def _merge_segments(self, our_bag: Row[Any], their_bag: Row[Any]) -> None:
        theirs = [row for row in live_segments(self.theirs, their_bag.id) if is_of_a_person(row)]
        their_grids = grids_of(self.theirs, theirs)
        theirs = [row for row in theirs if fits_grid(row, their_grids[row.grid_id])]
        gone = self._removed_by_them(their_bag)
        if not theirs and not gone:
            return
        mine = live_segments(self.ours, our_bag.id)
        our_grids = grids_of(self.ours, mine)
        matched = match_segments(mine, theirs, our_grids, their_grids)
        ours_by_id = {row.id: row for row in mine}
        removed = removed_shapes(self.ours, our_bag.id)
        new = []
        for row in theirs:
            if row.id in matched:
                self._merge_labels(our_bag, ours_by_id[matched[row.id]], row)
            elif (row.region, their_grids[row.grid_id]) in removed and self._is_stale(row):
                continue
            else:
                new.append(row)
                self._take_segment(our_bag, row, their_grids[row.grid_id])
        rest = [row for row in mine if row.id not in matched.values()]
        rest = [row for row in rest if not self._take_removal(row, our_grids[row.grid_id], gone)]
        free = [row for row in rest if row.origin in DETECTED and row.at is None]
        self.plan.replaced += covered_by(new, free)

    def _removed_by_them(self, their_bag: Row[Any]) -> set[tuple[bytes, Grid]]:
        """Return the shapes that only the other deleted, merged or split, and did not draw again."""
        removed = removed_shapes(self.theirs, their_bag.id)
        since = {
            shape
            for shape, ids in removed.items()
            if any((edit := self.their_edits.of_removal(one)) is not None and not self._is_shared(edit) for one in ids)
        }
        if not since:
            return since
        there = live_segments(self.theirs, their_bag.id)
        grids = grids_of(self.theirs, there)
        return since - {(row.region, grids[row.grid_id]) for row in there}

    def _take_removal(self, mine: Row[Any], grid: Grid, gone: set[tuple[bytes, Grid]]) -> bool:
        """Plan to remove a segment that the other removed; one that somebody labelled here since stays."""
        if (mine.region, grid) not in gone:
            return False
        is_checked = mine.at is not None and mine.checked_by == BY_EYE
        if is_checked and not self._is_shared(self.our_edits.of_label(mine.id)):
            self.plan.n_kept += 1
            return False
        self.plan.deleted[mine.id] = mine.at
        return True

    def _merge_labels(self, our_bag: Row[Any], mine: Row[Any], other: Row[Any]) -> None:
        label = self._label(other)
        if label is None:
            return
        ours = label_of(mine)
        checked = ours is not None and mine.checked_by == BY_EYE
        is_same = (mine.annotator, mine.at) == (other.annotator, other.at)
        is_independent = not self._is_stale(other) and not self._is_shared(self.our_edits.of_label(mine.id))
        if checked and not is_same and is_independent:
            self.rated[0].append(ours)
            self.rated[1].append(label)
        if checked and ours == label:
            self.plan.n_agreed_labels += 1
        elif self._is_stale(other):
            return
        elif checked or self._is_absent(our_bag, label):
            by = (mine.annotator or "", mine.at or 0.0)
            their = (storable(other.annotator), stored_time(other.at))
            self._add_conflict(NewConflict(our_bag.id, mine.id, None, ours, *by, label, *their))
        else:
            self._tag(our_bag, label)
            who = (storable(other.annotator), stored_time(other.at), bool(other.accepted))
            self.plan.labels.append(TakenLabel(mine.id, our_bag.id, label, *who))

    def _is_stale(self, row: Row[Any]) -> bool:
        """Return whether the answer to their segment is from before the copies were separated."""
        return row.at is None or self._is_shared(self.their_edits.of_label(row.id))

    def _take_segment(self, our_bag: Row[Any], row: Row[Any], grid: Grid) -> None:
        label = self._label(row)
        conflicting = label is not None and self._is_absent(our_bag, label)
        if label is not None and not conflicting:
            self._tag(our_bag, label)
        columns = {name: getattr(row, name) for name in ("left", "right", "low", "high")}
        columns["other_tags"] = storable(row.other_tags or "") or None
        who = (storable(row.annotator or ""), stored_time(row.at or 0.0), bool(row.accepted))
        self.plan.segments.append(TakenSegment(our_bag.id, grid, row.region, columns, label, *who, conflicting))

    def _label(self, row: Row[Any]) -> ClassRef | None:
        """Return the label that the other annotator gave by eye, as a class of ours."""
        if row.at is None or row.checked_by != BY_EYE:
            return None
        return BACKGROUND if row.class_id is None else self.refs.get(row.class_id)

    def _is_absent(self, our_bag: Row[Any], label: ClassRef) -> bool:
        absent = bool(our_bag.finished and not our_bag.rest_unknown)
        return label != BACKGROUND and self._our_value(self.our_tags[our_bag.id], label, absent) < 0

    def _tag(self, our_bag: Row[Any], label: ClassRef) -> None:
        """Tag the bag with the class of a label that is taken, as it is in the other project."""
        if label != BACKGROUND and self._our_value(self.our_tags[our_bag.id], label, absent=False) == 0:
            self.plan.new_tags[our_bag.id, label] = 1

    def _measure_agreement(self) -> None:
        by_class = {name: cohen_kappa(*ratings) for name, ratings in sorted(self.tagged.items())}
        pooled: list[list[int]] = [[], []]
        for ratings in self.tagged.values():
            for all_of, some in zip(pooled, ratings):
                all_of += some
        self.plan.tag_agreement = Agreement(cohen_kappa(*pooled), by_class)
        names: Mapping[Hashable, str] = dict(sorted(self.names.items(), key=lambda item: item[1]))
        self.plan.label_agreement = Agreement(cohen_kappa(*self.rated), kappa_of_classes(*self.rated, names))
