"""What an import of labels will do: which file is which recording, which label which class, which box which bag.

A plan is made outside any transaction and changes nothing. It is shown before the import, and the edit
(`import_labels.py`) does exactly what it lists.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Row, select

from miml_core.bags import BACKGROUND
from miml_core.exchange.labels import LabelNote, LabelTable
from miml_core.exchange.problems import LineProblem
from miml_core.exchange.rows import SegmentRow
from miml_core.project.db import settings
from miml_core.project.db.schema import bags, media
from miml_core.project.queries.classes import all_classes, name_key
from miml_core.project.queries.file_names import FileFinder

Way = Literal["segments", "tags", "suggestions"]
Overlaps = Literal["keep", "replace", "skip"]
Rest = Literal["unknown", "absent"]
MAPPING = "label_mapping"
"""Where the project remembers which label became which class."""
_OUTSIDE = "The time is outside the recording"
_NO_BAG = "No bag of the recording contains this time"
_SAME_SECONDS = 1e-9


@dataclass(frozen=True)
class ImportOptions:
    """How labels come into a project."""

    way: Way = "segments"
    """As confirmed segments, as tags of the bags only, or as suggestions with a score, to be reviewed."""
    classes: Mapping[str, str] = field(default_factory=dict)
    """Label -> name of its class; an empty name means that the label is left out. Others keep their names."""
    overlaps: Overlaps = "replace"
    """Where a label overlaps segments: keep both, replace detected ones that nobody labelled, or skip the label."""
    rest: Rest = "unknown"
    """Whether the bags of the named files are complete, so that classes without a label are absent from them."""
    pattern: str = ""
    """With one ``*``: which part of a name in the table is the name of the recording."""
    least_score: float = 0.0
    """Labels with a lower score are left out."""


@dataclass(frozen=True)
class FileUse:
    """One name of a file in the table, and the medium that it is."""

    name: str
    n_labels: int
    path: str | None
    """The stored path of the medium; None if there is none."""
    how: str
    """How it was found, or why not."""


@dataclass(frozen=True)
class LabelUse:
    """One label of the files that are in the project, and the class that it becomes."""

    label: str
    scientific_name: str
    n: int
    class_name: str
    """Empty if the label is left out."""
    is_new: bool


@dataclass(frozen=True)
class Piece:
    """The part of a label in one bag."""

    bag_id: int
    row: SegmentRow
    where: str
    class_name: str | None
    """None for a segment without a label, `""` for the background."""
    span: tuple[float, float] | None
    """Seconds, cut to the bag; None for pictures."""
    has_place: bool
    """False for a label of the whole file, which is only a tag."""


@dataclass(frozen=True)
class LabelPlan:
    """What an import will do, in the order in which a preview shows it."""

    options: ImportOptions
    n_labels: int
    files: list[FileUse]
    labels: list[LabelUse]
    pieces: list[Piece]
    left_out: list[LineProblem]
    """Labels that cannot be imported: outside the recording, in no bag, of a file that is not there."""
    n_across: int
    """Labels that go to several bags."""
    n_cut: int
    """Labels that are cut because they begin before or end after the bags of the recording."""
    named_bags: list[int]
    """Bags of the files that the table names."""
    notes: dict[int, list[str]] = field(default_factory=dict)
    """{bag: lines to add to its note}."""


def remembered_classes(connection: Connection) -> dict[str, str]:
    """Return {label: class name} of earlier imports; an empty name means that the label was left out."""
    stored = settings.get(connection, MAPPING, {})
    return {str(a): str(b) for a, b in stored.items()} if isinstance(stored, dict) else {}


def make_plan(
    connection: Connection, folder: Path, table: LabelTable, options: ImportOptions, beside: Path | None = None
) -> LabelPlan:
    """Return what importing a table of labels will do."""
    kind = settings.kind(connection)
    finder = FileFinder(connection, folder, beside=beside, pattern=options.pattern)
    by_medium = _bags_of_media(connection)
    in_project = [row for row in table.rows if finder.find(row.file).medium is not None]
    labels = _label_uses(connection, in_project, options.classes)
    class_names = {use.label: use.class_name for use in labels}
    left_out: list[LineProblem] = []
    pieces: list[Piece] = []
    n_across, n_cut = 0, 0
    for row, where in zip(table.rows, table.places):
        medium, reason = finder.find(row.file)
        class_name = "" if row.status == "background" else class_names.get(row.label) if row.label else None
        if medium is None:
            left_out.append(LineProblem(where, reason, repr(row.file)))
        elif row.kind != kind and _has_place(row):
            left_out.append(LineProblem(where, f"The project has {kind}s, and this is a label of a {row.kind}"))
        elif row.label and not class_name:
            continue  # a label that the person leaves out
        elif (row.probability if row.probability is not None else 1.0) < options.least_score:
            continue
        else:
            found = _pieces(row, where, class_name, by_medium[medium], kind, left_out)
            n_across += len(found) > 1
            n_cut += _is_cut(row, found)
            pieces += found
    files = _file_uses(table.rows, finder)
    used = {finder.find(use.name).medium for use in files}
    named_bags = [bag.id for medium in used if medium is not None for bag in by_medium[medium]]
    notes = _notes(table.notes, finder, by_medium)
    return LabelPlan(options, len(table.rows), files, labels, pieces, left_out, n_across, n_cut, named_bags, notes)


def _notes(
    given: Iterable[LabelNote], finder: FileFinder, by_medium: Mapping[int, list[Row[Any]]]
) -> dict[int, list[str]]:
    """Return the lines that notes add to those of the bags in which they lie; the same line is added once."""
    found: dict[int, list[str]] = defaultdict(list)
    for note in given:
        medium = finder.find(note.file).medium
        line = " ".join(storable(note.text).split())
        for bag in by_medium[medium] if medium is not None and line else []:
            start = bag.start if note.start_s is None else note.start_s
            end = bag.end if note.end_s is None else note.end_s
            is_inside = (
                bag.end <= bag.start or min(end, bag.end) > max(start, bag.start) or bag.start <= start < bag.end
            )
            if is_inside and line not in bag.note.splitlines() and line not in found[bag.id]:
                found[bag.id].append(line)
    return {bag_id: lines for bag_id, lines in found.items() if lines}


def _bags_of_media(connection: Connection) -> dict[int, list[Row[Any]]]:
    columns = (bags, media.c.duration, media.c.width, media.c.height)
    query = select(*columns).join(media, media.c.id == bags.c.media_id).order_by(bags.c.start, bags.c.id)
    found: dict[int, list[Row[Any]]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.media_id].append(row)
    return found


def _file_uses(rows: Iterable[SegmentRow], finder: FileFinder) -> list[FileUse]:
    counts = Counter(row.file for row in rows)
    found = {name: finder.find(name) for name in counts}
    return [
        FileUse(name, n, None if (medium := found[name].medium) is None else finder.path(medium), found[name].how)
        for name, n in sorted(counts.items())
    ]


def _label_uses(connection: Connection, rows: Iterable[SegmentRow], chosen: Mapping[str, str]) -> list[LabelUse]:
    counts = Counter(row.label for row in rows if row.label)
    scientific = {row.label: row.scientific_name for row in rows if row.label and row.scientific_name}
    known: dict[str, str] = {}
    for each in reversed(all_classes(connection)):
        known |= {name_key(each.scientific_name): each.name, name_key(each.name): each.name}
    known.pop("", None)
    remembered = remembered_classes(connection)
    uses = []
    for label, n in sorted(counts.items()):
        wanted = chosen.get(label, remembered.get(label))
        if wanted is None:
            keys = (name_key(label), name_key(scientific.get(label, "")))
            wanted = next((known[key] for key in keys if key in known), " ".join(storable(label).split()))
        wanted = known.get(name_key(wanted), wanted)
        is_new = bool(wanted) and name_key(wanted) not in known
        uses.append(LabelUse(label, storable(scientific.get(label, "")), n, wanted, is_new))
    return uses


def storable(text: str) -> str:
    """Return a text that the database can hold: no zero bytes, no halves of characters."""
    return "".join("\ufffd" if letter == "\0" or "\ud800" <= letter <= "\udfff" else letter for letter in text)


def _has_place(row: SegmentRow) -> bool:
    return row.start_s is not None or row.box is not None or bool(row.outline)


def _pieces(
    row: SegmentRow, where: str, class_name: str | None, of_file: list[Row[Any]], kind: str, left_out: list[LineProblem]
) -> list[Piece]:
    if not _has_place(row):
        if len(of_file) == 1 and class_name:
            return [Piece(of_file[0].id, row, where, class_name, None, has_place=False)]
        reason = "The label has no time, and the recording has several bags" if class_name else "There is no label"
        left_out.append(LineProblem(where, reason, repr(row.file)))
        return []
    if kind == "picture":
        bag = of_file[0]
        if row.width is not None and (row.width, row.height) != (bag.width, bag.height):
            reason = "The picture has another size than the labels were made for"
            sizes = f"{row.file!r} is {bag.width} x {bag.height}, not {row.width} x {row.height}"
            left_out.append(LineProblem(where, reason, sizes))
            return []
        return [Piece(bag.id, row, where, class_name, None, has_place=True)]
    start = row.start_s if row.start_s is not None else 0.0
    end = row.end_s if row.end_s is not None else start
    if end < start:
        left_out.append(LineProblem(where, "The label ends before it starts", f"{start:g} s to {end:g} s"))
        return []
    found = []
    for bag in of_file:
        span = max(start, bag.start), min(end, bag.end)
        if span[1] - span[0] > _SAME_SECONDS or (start == end and bag.start <= start < bag.end):
            found.append(Piece(bag.id, row, where, class_name, span, has_place=True))
    if not found:
        duration = of_file[0].duration or max(bag.end for bag in of_file)
        reason = _NO_BAG if 0 <= start < duration else _OUTSIDE
        left_out.append(LineProblem(where, reason, f"{row.file!r} at {start:g} s to {end:g} s, of {duration:g} s"))
    return found


def _is_cut(row: SegmentRow, pieces: list[Piece]) -> bool:
    """Return whether a part of a label is in no bag."""
    spans = [piece.span for piece in pieces if piece.span is not None]
    if not spans or row.start_s is None:
        return False
    first, last = min(start for start, _ in spans), max(end for _, end in spans)
    return first - row.start_s > _SAME_SECONDS or (row.end_s or row.start_s) - last > _SAME_SECONDS


def is_background(piece: Piece) -> bool:
    """Return whether a piece is labelled as none of the classes."""
    return piece.class_name == ""


def label_id(piece: Piece, class_ids: Mapping[str, int]) -> int | None:
    """Return the class id of a piece, `BACKGROUND` or None."""
    if piece.class_name is None:
        return None
    return BACKGROUND if is_background(piece) else class_ids[piece.class_name]
