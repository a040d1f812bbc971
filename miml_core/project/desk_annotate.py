"""Annotating: tags, segments, corrections and the history of a project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from miml_core.project import acts, history, segment_ranges, segments
from miml_core.project.rows import EditResult, HistoryEntry, Ring, Segment, SegmentRange, SegmentSummary
from miml_core.project.store import Store

if TYPE_CHECKING:
    from miml_core.media.grid import Grid
    from miml_core.segments.regions import Region


class AnnotateDesk:
    """Tags, segments, corrections and undo; a part of `Project`.

    Every method that changes something is one transaction and one history entry, and answers an `EditResult`.
    `seen` is the project's revision the person was looking at: if somebody else changed the same thing since, this
    act still wins, and `EditResult.overtook` tells what it replaced.
    """

    store: Store
    annotator: str

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
        """Say that a class is present (+1), absent (-1) or not known (0).

        Raises
        ------
        NeedsConfirmation
            Segments of the bag carry this label and the tag would go: with `confirm` their labels are cleared too.
        """
        act = {"bag": bag_id, "class": class_id, "value": value, "confirm": confirm}
        return self._do("tag", act, annotator, seen)

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
        """Replace all tags of a bag in one act; classes not in `tags` become not known, or absent with `finish`."""
        said = [[int(class_id), int(value)] for class_id, value in tags.items()]
        act = {"bag": bag_id, "tags": said, "confirm": confirm, "finish": finish}
        return self._do("set_tags", act, annotator, seen)

    def finish(
        self,
        bag_id: int,
        *,
        rest: Literal["absent", "unknown"] = "absent",
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Tagging is done: what is not tagged is absent, or stays unknown ("not sure about the rest")."""
        return self._do("finish", {"bag": bag_id, "rest": rest}, annotator, seen)

    def unfinish(self, bag_id: int, *, annotator: str | None = None, seen: int | None = None) -> EditResult:
        return self._do("unfinish", {"bag": bag_id}, annotator, seen)

    def nothing_here(
        self, bag_id: int, *, confirm: bool = False, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Finish with no tag at all; `confirm` is needed when segments carry labels of classes."""
        return self._do("nothing_here", {"bag": bag_id, "confirm": confirm}, annotator, seen)

    # segments

    def segments(self, bag_id: int, *, predictions: bool = True, outlines: bool = True) -> list[Segment]:
        """All segments of a bag with outlines in real units, labels and the current run's predictions."""
        tolerance = segments.SCREEN_TOLERANCE if outlines else None
        with self.store.read() as connection:
            return segments.of_bag(connection, bag_id, predictions=predictions, tolerance=tolerance)

    def segments_between(self, bag_id: int, first: float, last: float, *, also: Sequence[int] = ()) -> SegmentRange:
        """Segments that touch a range of time, and those of `also`; outlines only where they are not too many."""
        with self.store.read() as connection:
            return segment_ranges.between(connection, bag_id, first, last, also=also)

    def segment_summary(self, bag_id: int, first: float, last: float, bins: int) -> SegmentSummary:
        """How many segments a bag has: in all, checked, by label, and in each of `bins` parts of a range of time."""
        with self.store.read() as connection:
            return segment_ranges.summary(connection, bag_id, first, last, bins)

    def segment_edges(self, bag_id: int, segment_id: int) -> tuple[float, float] | None:
        """(left, right) of a segment of a bag; None when the bag has no such segment."""
        with self.store.read() as connection:
            return segment_ranges.edges(connection, bag_id, segment_id)

    def next_segment(
        self,
        bag_id: int,
        *,
        after: int | None = None,
        at: float | None = None,
        step: Literal[1, -1] = 1,
        unchecked: bool = False,
        wrap: bool = True,
    ) -> int | None:
        """The id of the next or previous segment by time, counted from a segment (`after`) or a time (`at`)."""
        with self.store.read() as connection:
            return segment_ranges.next_one(
                connection, bag_id, after=after, at=at, step=step, unchecked=unchecked, wrap=wrap
            )

    def segment(self, segment_id: int) -> Segment:
        """One segment; raises `Gone` when it does not exist."""
        with self.store.read() as connection:
            return segments.one(connection, segment_id)

    def regions(self, bag_id: int) -> list[tuple[int, Region, Grid]]:
        """(segment id, mask, the grid it lies on) of every segment of a bag."""
        with self.store.read() as connection:
            return segments.regions(connection, bag_id)

    def correct(
        self,
        segment_ids: int | Sequence[int],
        label: int | None,
        *,
        sampled: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Say what segments are: a class id, `BACKGROUND`, or None to take the label back.

        A class that the bag is not tagged with is added to its tags in the same act. `sampled` says that the segment
        was offered as part of the random sample, so that it counts for honest accuracy.
        """
        act = {"segments": _ids(segment_ids), "label": label, "sampled": sampled}
        return self._do("correct", act, annotator, seen)

    def accept(
        self,
        segment_ids: int | Sequence[int],
        *,
        sampled: bool = False,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """Confirm the current run's prediction of segments."""
        return self._do("accept", {"segments": _ids(segment_ids), "sampled": sampled}, annotator, seen)

    def accept_bag(self, bag_id: int, *, annotator: str | None = None, seen: int | None = None) -> EditResult:
        """Confirm the predictions of all segments of the bag that nobody has labelled, in one act."""
        return self._do("accept_bag", {"bag": bag_id}, annotator, seen)

    def draw(
        self,
        bag_id: int,
        rings: Sequence[Ring],
        *,
        label: int | None = None,
        annotator: str | None = None,
        seen: int | None = None,
    ) -> EditResult:
        """A new segment from an outline in real units; its id is `created[0]`."""
        return self._do("draw", {"bag": bag_id, "rings": rings, "label": label}, annotator, seen)

    def redraw(
        self, segment_id: int, rings: Sequence[Ring], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Give a segment another outline; it keeps its id and its label."""
        return self._do("redraw", {"segment": segment_id, "rings": rings}, annotator, seen)

    def merge(
        self, segment_ids: Sequence[int], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """One segment (`created[0]`) from several of a bag; it keeps a label on which the labelled ones agree."""
        return self._do("merge", {"segments": _ids(segment_ids)}, annotator, seen)

    def split(
        self, segment_id: int, line: Ring, *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Cut a segment along a line in real units; the parts (`created`) keep its label."""
        return self._do("split", {"segment": segment_id, "line": line}, annotator, seen)

    def delete(
        self, segment_ids: int | Sequence[int], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Remove segments; their labels come back with undo."""
        return self._do("delete", {"segments": _ids(segment_ids)}, annotator, seen)

    # from the canvas

    def apply_edit(
        self, nonce: str, number: int, act: dict[str, Any], *, annotator: str | None = None, seen: int | None = None
    ) -> EditResult:
        """Do one act of a screen's outbox exactly once.

        The act and its number are stored in one transaction; the same (nonce, number) again does nothing and answers
        the first result with `repeated=True`.

        Parameters
        ----------
        nonce : str
            Names one screen (one canvas instance).
        number : int
            Counts that screen's edits.
        act : dict
            ``{"act": NAME, ...}`` with the arguments of the method of that name: ``bag``, ``segment`` or
            ``segments``, ``class``, ``value``, ``label`` (a class id, -2 or null), ``rings``, ``line``, ``rest``,
            ``confirm``, ``sampled``. Names: tag, set_tags, finish, unfinish, nothing_here, correct, accept,
            accept_bag, draw, redraw, merge, split, delete, note, add_class, change_class, merge_classes, undo, redo.
            A segment may be named ``"@7"`` (or ``"@7.1"``): the first (second) one that edit number 7 of the same
            nonce created, so that a screen need not wait for an answer before going on.
        """
        return acts.apply_edit(self.store, nonce, number, act, self._who(annotator), seen)

    def last_edit(self, nonce: str) -> int:
        """The highest number stored for a screen; -1 when there is none."""
        with self.store.read() as connection:
            return acts.last_edit(connection, nonce)

    # history

    def undo(self, *, annotator: str | None = None, bag_id: int | None = None) -> EditResult:
        """Take back the person's latest act that is not undone (in one bag, if asked), also after a restart.

        Raises
        ------
        CannotUndo
            There is nothing to undo, or somebody's later act stands on it; the sentence says which.
        """
        return self._do("undo", {"bag": bag_id}, annotator, None)

    def redo(self, *, annotator: str | None = None, bag_id: int | None = None) -> EditResult:
        """Do again what the person last undid; a new act of theirs in between clears this."""
        return self._do("redo", {"bag": bag_id}, annotator, None)

    def undo_entry(self, history_id: int, *, annotator: str | None = None) -> EditResult:
        """Take back one chosen act, whoever's it was, if nothing later stands on it."""
        return acts.undo_entry(self.store, history_id, self._who(annotator))

    def history(
        self,
        *,
        bag_id: int | None = None,
        annotator: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[HistoryEntry]:
        """The latest acts first; `before` is an entry's id, for paging back."""
        with self.store.read() as connection:
            return history.entries(connection, bag_id=bag_id, annotator=annotator, before=before, limit=limit)

    def _do(self, name: str, act: dict[str, Any], annotator: str | None, seen: int | None) -> EditResult:
        return acts.perform(self.store, name, act, self._who(annotator), seen)

    def _who(self, annotator: str | None) -> str:
        return self.annotator if annotator is None else annotator


def _ids(segment_ids: int | Sequence[int]) -> list[int]:
    return [segment_ids] if isinstance(segment_ids, int) else [int(i) for i in segment_ids]
