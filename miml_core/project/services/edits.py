"""The edits of people: tags, labels, segments, bags and classes; undo and history.

Every method that changes something is one transaction and one history entry, and returns an `EditResult`. `seen` is
the project's revision that the person was looking at: if somebody else changed the same thing since, the edit is
still made, and `EditResult.overtook` lists what it replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from miml_core.errors import BagtagError
from miml_core.exchange.species_csv import read_species
from miml_core.project.edits import apply, import_preview, tag_table
from miml_core.project.edits.bags import RemoveBags, SetNote
from miml_core.project.edits.classes import AddClass, AddClasses, ChangeClass, MergeClasses, RemoveClass, TagByName
from miml_core.project.edits.conflicts import ResolveConflicts
from miml_core.project.edits.edit import Edit
from miml_core.project.edits.import_preview import ImportPreview
from miml_core.project.edits.label_many import AcceptAbove, LabelMany
from miml_core.project.edits.label_plan import ImportOptions
from miml_core.project.edits.labels import Accept, AcceptBag, SetLabel
from miml_core.project.edits.merge_copy import MergeCopy
from miml_core.project.edits.merge_plan import preview_merge
from miml_core.project.edits.merge_records import MergePlan
from miml_core.project.edits.shapes import DeleteSegments, DrawSegment, MergeSegments, RedrawSegment, SplitSegment
from miml_core.project.edits.tags import Finish, NothingHere, SetTags, Tag, Unfinish
from miml_core.project.queries import classes, history
from miml_core.project.records import Class, EditResult, HistoryEntry, Ring, TagImport
from miml_core.project.services.service import Service

if TYPE_CHECKING:
    from miml_core.exchange.labels import LabelTable


class Edits(Service):
    """`project.edits`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     owl = project.edits.add_class("Owl")
    ...     done = project.edits.set_label([1], owl.id)
    ...     tags = project.bags.get(1).tags
    ...     undone = project.edits.undo()
    ...     after = project.bags.get(1).tags
    >>> done.sentence, tags  # a label is a tag of its bag, too
    ('segment 1: Wren -> Owl', {1: 1, 2: 1, 3: 1})
    >>> undone.sentence, after
    ('undid: segment 1: Wren -> Owl', {1: 1, 2: 1})
    """

    def apply(self, edit: Edit, *, annotator: str | None = None, seen: int | None = None) -> EditResult:
        """Apply one edit."""
        return apply.perform(self._store, edit, self._name_or_own(annotator), seen)

    def apply_once(
        self,
        nonce: str,
        number: int,
        edit: Edit | dict[str, Any],
        *,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Apply one edit of a screen's outbox exactly once.

        The edit and its number are stored in one transaction; the same (nonce, number) again does nothing and returns
        the first result with `repeated=True`.

        Parameters
        ----------
        nonce : str
            Names one screen.
        number : int
            Counts that screen's edits.
        edit : Edit or dict
            As a value, or as the JSON that `edits.apply.screen_schema` describes. Where it names a segment or a
            class, ``"@7"`` (or ``"@7.1"``) is the first (second) one that edit number 7 of the same screen created,
            so that a screen need not wait for a response before it continues.
        """
        edit = edit if isinstance(edit, Edit) else apply.parse_edit(edit)
        return apply.perform_once(self._store, nonce, number, edit, self._name_or_own(annotator), seen)

    # tags

    def tag(
        self,
        bag_id: int,
        class_id: int,
        value: Literal[1, 0, -1] = 1,
        *,
        confirm: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Set a tag of a bag: present (1), absent (-1) or not known (0).

        Raises
        ------
        NeedsConfirmation
            Segments of the bag have this label and the tag would be removed; `confirm` also clears their labels.
        """
        return self.apply(Tag(bag_id, class_id, value, confirm), annotator=annotator, seen=seen)

    def tag_by_name(
        self,
        bag_id: int,
        name: str,
        scientific_name: str = "",
        *,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Tag a bag with the class of this name or scientific name (`created[0]`), added if there is none."""
        return self.apply(TagByName(bag_id, name, scientific_name), annotator=annotator, seen=seen)

    def set_tags(
        self,
        bag_id: int,
        tags: dict[int, int],
        *,
        finish: bool = False,
        confirm: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Replace all tags of a bag; classes not in `tags` become not known, or absent with `finish`."""
        return self.apply(SetTags(bag_id, list(tags.items()), confirm, finish), annotator=annotator, seen=seen)

    def finish(
        self,
        bag_id: int,
        *,
        rest: Literal["absent", "unknown"] = "absent",
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """End the tagging of a bag: what is not tagged is absent, or stays not known."""
        return self.apply(Finish(bag_id, rest), annotator=annotator, seen=seen)

    def unfinish(self, bag_id: int, *, annotator: str | None = None, seen: int | None = None) -> EditResult:
        """Open the tagging of a bag again."""
        return self.apply(Unfinish(bag_id), annotator=annotator, seen=seen)

    def nothing_here(
        self, bag_id: int, *, confirm: bool = False, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Finish a bag with no tag; `confirm` is needed when segments have labels of classes."""
        return self.apply(NothingHere(bag_id, confirm), annotator=annotator, seen=seen)

    # segments

    def set_label(
        self,
        segment_ids: int | Sequence[int],
        label: int | None,
        *,
        sampled: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Label segments with a class id or `BACKGROUND`; None clears the label.

        A class that the bag is not tagged with is added to its tags. `sampled`: the segment was shown as part of the
        random sample and counts for the sample accuracy.
        """
        return self.apply(SetLabel(_ids(segment_ids), label, sampled), annotator=annotator, seen=seen)

    def accept(
        self,
        segment_ids: int | Sequence[int],
        *,
        sampled: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Confirm the current run's prediction of segments."""
        return self.apply(Accept(_ids(segment_ids), sampled), annotator=annotator, seen=seen)

    def accept_bag(
        self, bag_id: int, *, sure_from: float = 0.0, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Confirm the predictions of at least this probability of the bag's segments that nobody has checked by eye."""
        return self.apply(AcceptBag(bag_id, sure_from), annotator=annotator, seen=seen)

    def label_many(
        self,
        accept: Mapping[int, int],
        correct: Mapping[int, int],
        *,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Accept segments as they were shown ({id: label}) and label others, in one edit: a screen of the wall."""
        edit = LabelMany(list(accept.items()), list(correct.items()))
        return self.apply(edit, annotator=annotator, seen=seen)

    def accept_above(
        self,
        threshold: float,
        class_id: int | None = None,
        *,
        run_id: int | None = None,
        annotator: str | None = None,
    ) -> EditResult:
        """Accept all predictions of at least this probability (of one class) that nobody has labelled, in one edit.

        They are marked as accepted by threshold and never count as checked; `review.count_above` counts them before.
        With `run_id`, nothing is accepted if another run is the current one by now.
        """
        return self.apply(AcceptAbove(threshold, class_id, run_id), annotator=annotator)

    def draw(
        self,
        bag_id: int,
        rings: Sequence[Ring],
        *,
        label: int | None = None,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Add a segment from an outline in real units; its id is `created[0]`."""
        return self.apply(DrawSegment(bag_id, list(rings), label), annotator=annotator, seen=seen)

    def redraw(
        self, segment_id: int, rings: Sequence[Ring], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Give a segment another outline; it keeps its id and its label."""
        return self.apply(RedrawSegment(segment_id, list(rings)), annotator=annotator, seen=seen)

    def merge(self, segment_ids: Sequence[int], *, annotator: str | None = None, seen: int | None = None) -> EditResult:
        """Make one segment (`created[0]`) of several of a bag; it gets a label on which the labelled ones agree."""
        return self.apply(MergeSegments(_ids(segment_ids)), annotator=annotator, seen=seen)

    def split(
        self, segment_id: int, line: Ring, *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Cut a segment along a line in real units; the parts (`created`) keep its label."""
        return self.apply(SplitSegment(segment_id, list(line)), annotator=annotator, seen=seen)

    def delete(
        self, segment_ids: int | Sequence[int], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Delete segments; undo restores them with their labels."""
        return self.apply(DeleteSegments(_ids(segment_ids)), annotator=annotator, seen=seen)

    # bags

    def set_note(self, bag_id: int, note: str, *, annotator: str | None = None) -> EditResult:
        """Write the note of a bag."""
        return self.apply(SetNote(bag_id, note), annotator=annotator)

    def remove_bags(self, bag_ids: Iterable[int], *, confirm: bool = False, annotator: str | None = None) -> EditResult:
        """Remove bags from the project (never the files); with tags or labels on them, `confirm` is needed."""
        return self.apply(RemoveBags(list(bag_ids), confirm), annotator=annotator)

    # classes

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
        """Add a class; without a colour it gets one that colour-blind people can distinguish from the others."""
        edit = AddClass(name, colour, shortcut, scientific_name, note)
        result = self.apply(edit, annotator=annotator)
        with self._store.read() as connection:
            return classes.get_class(connection, result.created[0])

    def change_class(
        self,
        class_id: int,
        *,
        name: str | None = None,
        colour: str | None = None,
        shortcut: str | None = None,
        scientific_name: str | None = None,
        note: str | None = None,
        annotator: str | None = None,
    ) -> EditResult:
        """Change fields of a class; None leaves a field as it is."""
        edit = ChangeClass(class_id, name, colour, shortcut, scientific_name, note)
        return self.apply(edit, annotator=annotator)

    def merge_classes(self, class_ids: Sequence[int], into: int, *, annotator: str | None = None) -> EditResult:
        """Turn everything tagged or labelled with `class_ids` into `into`; the merged classes are removed."""
        return self.apply(MergeClasses(list(class_ids), into), annotator=annotator)

    def remove_class(self, class_id: int, *, confirm: bool = False, annotator: str | None = None) -> EditResult:
        """Remove a class; if it is used anywhere, `confirm` is needed and its tags and labels are removed too."""
        return self.apply(RemoveClass(class_id, confirm), annotator=annotator)

    # from tables

    def import_classes(self, path: str | Path, *, annotator: str | None = None) -> EditResult:
        """Add classes from a CSV with a column name, and optionally scientific_name, colour, shortcut, note."""
        return self.apply(AddClasses([asdict(row) for row in read_species(path)]), annotator=annotator)

    def import_tags(self, path: str | Path, *, annotator: str | None = None) -> TagImport:
        """Tag bags from a table of files and tags (see `exchange.tags_csv`); new classes are added.

        Each bag is one edit; lines that name no bag of the project, or several, are listed and left out.
        """
        return tag_table.import_tags(self._store, Path(path), self._name_or_own(annotator))

    def preview_labels(
        self, table: LabelTable, options: ImportOptions | None = None, *, beside: Path | None = None
    ) -> ImportPreview:
        """Return what importing labels of other programs would do (see `exchange.reading.read_labels`).

        `beside` is the folder that relative paths in the table start from.
        """
        return import_preview.preview(self._store, table, options or ImportOptions(), beside)

    def import_labels(
        self, shown: ImportPreview, *, leave_out_errors: bool = False, annotator: str | None = None
    ) -> EditResult:
        """Import labels as a preview shows them: one edit, which is undone as a whole.

        Raises
        ------
        BagtagError
            Lines of the files cannot be read and `leave_out_errors` is false, or there is nothing to import.
        """
        return import_preview.import_previewed(
            self._store, shown, self._name_or_own(annotator), leave_out_errors=leave_out_errors
        )

    # other annotators

    def preview_merge(self, other: str | Path) -> MergePlan:
        """Return what merging another annotator's copy, a project folder or a packed file, would do.

        The copy is only read. The plan has Cohen's kappa of tags and labels that both gave independently.
        """
        return preview_merge(self._store, Path(other))

    def merge_copy(self, plan: MergePlan, *, annotator: str | None = None) -> EditResult:
        """Merge a copy as a plan shows it: one edit, which is undone as a whole.

        What only the other annotator answered is taken, labels with that person's name and date; what both answered
        differently stays ours and is listed (`review.conflicts`).
        """
        return self.apply(MergeCopy(plan), annotator=annotator)

    def resolve_conflicts(
        self, ids: Sequence[int], *, take_theirs: bool = False, confirm: bool = False, annotator: str | None = None
    ) -> EditResult:
        """Keep our answers to some conflicts, or take those of the other annotator."""
        return self.apply(ResolveConflicts(list(ids), take_theirs, confirm), annotator=annotator)

    # history

    def undo(self, *, annotator: str | None = None, bag_id: int | None = None) -> EditResult:
        """Undo the person's latest edit (of one bag, if given).

        Raises
        ------
        CannotUndo
            There is nothing to undo, or a later edit depends on it; the message names it.
        """
        return self.apply(apply.Undo(bag_id), annotator=annotator)

    def redo(self, *, annotator: str | None = None, bag_id: int | None = None) -> EditResult:
        """Redo what the person last undid; not possible after another edit of theirs."""
        return self.apply(apply.Redo(bag_id), annotator=annotator)

    def undo_entry(self, history_id: int, *, annotator: str | None = None) -> EditResult:
        """Undo one chosen edit of anybody, if no later edit depends on it."""
        return apply.undo_entry(self._store, history_id, self._name_or_own(annotator))

    def history(
        self,
        *,
        bag_id: int | None = None,
        annotator: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[HistoryEntry]:
        """Return the latest edits first; `before` is an entry's id, for paging."""
        with self._store.read() as connection:
            return history.list_entries(connection, bag_id=bag_id, annotator=annotator, before=before, limit=limit)


def _ids(segment_ids: int | Sequence[int]) -> list[int]:
    ids = [segment_ids] if isinstance(segment_ids, int) else [int(each) for each in segment_ids]
    if not ids:
        raise BagtagError("Choose at least one segment.")
    return ids
