"""Raven selection tables: one tab-separated file per recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, cast, get_args

from miml_core.errors import BagtagError
from miml_core.exchange.base import Format
from miml_core.exchange.cells import decode_text, from_one_line, number_text, on_one_line, parse_number
from miml_core.exchange.labels import LabelTable
from miml_core.exchange.names import name_beside, recording_of
from miml_core.exchange.rows import KNOWN_STATUSES, LabelSource, SegmentRow, Status, by_file

_ENDING = ".selections.txt"
_BEGIN, _END, _LOW, _HIGH = "Begin Time (s)", "End Time (s)", "Low Freq (Hz)", "High Freq (Hz)"
_RAVEN_COLUMNS = ("Selection", "View", "Channel", _BEGIN, _END, _LOW, _HIGH, "Begin File")
_OFFSET = "File Offset (s)"
_OUR_TEXTS = {
    "Label": "label",
    "Scientific Name": "scientific_name",
    "Status": "status",
    "Said By": "said_by",
    "Who": "who",
    "Checked By": "checked_by",
    "Run": "run",
    "Bag": "bag",
    "Recorded At": "recorded_at",
    "Other Tags": "other_tags",
}
_LABELS_OF_OTHERS = ("Label", "Annotation", "Species", "Common Name", "Tags", "Type", "ID")
_PROBABILITIES_OF_OTHERS = ("Probability", "Confidence", "Score")
_FILES_OF_OTHERS = {"Begin File", "Begin Path"}


class RavenTable(Format):
    """Raven preserves unknown columns, so that our own columns contain what it has none for."""

    name = "raven"
    title = "Raven selection tables"
    kinds = ("sound",)
    extensions = (".txt",)
    many_files: ClassVar[bool] = True
    keeps = "Everything but outlines; times to a microsecond, frequencies to a thousandth, probabilities to 1e-6."

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        for file, segments in by_file(rows):
            lines = ["\t".join((*_RAVEN_COLUMNS, "Segment", "Probability", *_OUR_TEXTS))]
            lines += ["\t".join(_cells(number, row)) for number, row in enumerate(segments, start=1)]
            text = "\n".join(lines) + "\n"
            yield name_beside(file, _ENDING), text.encode("utf-8", errors="surrogateescape")

    def recognises(self, name: str, head: str) -> bool:
        header = head.split("\n", 1)[0].rstrip("\r").split("\t")
        return _BEGIN in header and _END in header

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        _parse(name, content, table)


class RavenCombined(RavenTable):
    """One table of all recordings, as Raven makes it of a list of files: times run on from one file to the next."""

    name = "raven-combined"
    title = "Raven selection table, all recordings in one"
    many_files = False

    def make_files(self, rows: Sequence[SegmentRow]) -> Iterator[tuple[str, bytes]]:
        lines = ["\t".join((*_RAVEN_COLUMNS, "Segment", "Probability", *_OUR_TEXTS, _OFFSET))]
        number, began = 0, 0.0
        for _, segments in by_file(rows):
            for row in segments:
                number += 1
                cells = _cells(number, row)
                for place in (_RAVEN_COLUMNS.index(_BEGIN), _RAVEN_COLUMNS.index(_END)):
                    cells[place] = f"{float(cells[place]) + began:.6f}"
                lines.append("\t".join((*cells, f"{row.start_s or 0.0:.6f}")))
            # In whole microseconds, or the times of later files would be off by one.
            began = round(began + (segments[0].duration_s or max(row.end_s or 0.0 for row in segments)), 6)
        yield "combined.selections.txt", ("\n".join(lines) + "\n").encode("utf-8", errors="surrogateescape")


def _cells(number: int, row: SegmentRow) -> list[str]:
    # With decimals, as Raven writes them: readers such as crowsetta take a column of whole numbers for something else.
    times = [f"{row.start_s or 0.0:.6f}", f"{row.end_s or 0.0:.6f}"]
    # Raven needs frequencies in every row: 0 to 0 means none.
    band = [f"{row.low_hz or 0.0:.3f}", f"{row.high_hz or 0.0:.3f}"]
    own = [number_text(row.segment, 0), number_text(row.probability, 6)]
    texts = [on_one_line(str(getattr(row, field))) for field in _OUR_TEXTS.values()]
    return [str(number), "Spectrogram 1", "1", *times, *band, on_one_line(row.file), *own, *texts]


def _parse(name: str, content: bytes, table: LabelTable) -> None:
    lines = [line.rstrip("\r") for line in decode_text(content, name).split("\n")]
    header = lines[0].split("\t")
    missing = [column for column in (_BEGIN, _END) if column not in header]
    if missing:
        raise BagtagError(
            f"{name!r} is not a Raven selection table: there is no column {missing[0]!r} in its first line."
        )
    seen: dict[str, tuple[bool, str, dict[str, str]]] = {}
    for line_number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        where = f"{name!r}, line {line_number}"
        cells = dict(zip(header, line.split("\t")))
        selection = cells.get("Selection") or str(line_number)
        is_waveform = cells.get("View", "").startswith("Waveform")
        # Raven lists a selection once for each view it is seen in; the spectrogram's has the frequencies.
        if selection not in seen or seen[selection][0]:
            seen[selection] = (is_waveform, where, cells)
    for _, where, cells in seen.values():
        table.add(where, _row, cells, name, where)


def _row(cells: dict[str, str], name: str, where: str) -> SegmentRow:
    begin, end, offset, low, high = (
        parse_number(cells.get(column), where) for column in (_BEGIN, _END, _OFFSET, _LOW, _HIGH)
    )
    if begin is None or end is None:
        raise BagtagError(f"{where} has no begin or end time.")
    if offset is not None and _FILES_OF_OTHERS & set(cells):
        begin, end = offset, round(offset + end - begin, 6)
    has_band = (low or 0.0, high or 0.0) != (0.0, 0.0)
    texts: dict[str, Any] = {field: from_one_line(cells.get(column, "")) for column, field in _OUR_TEXTS.items()}
    label_column = next((column for column in _LABELS_OF_OTHERS if cells.get(column)), "Label")
    texts["label"] = from_one_line(cells.get(label_column, ""))
    probability_column = next((column for column in _PROBABILITIES_OF_OTHERS if cells.get(column)), "Probability")
    probability = parse_number(cells.get(probability_column), where)
    status, said_by = _status_and_source(texts.pop("status"), texts.pop("said_by"), texts["label"], probability, where)
    segment = parse_number(cells.get("Segment"), where)
    return SegmentRow(
        file=_file(cells) or recording_of(name, _ENDING),
        start_s=begin,
        end_s=end,
        low_hz=low if has_band else None,
        high_hz=high if has_band else None,
        segment=None if segment is None else round(segment),
        probability=probability,
        status=status,
        said_by=said_by,
        **texts,
    )


def _file(cells: dict[str, str]) -> str:
    """Return the recording of a selection; a path is better than a name, but Bagtag's own tables have no path."""
    return next((from_one_line(cells[column]) for column in ("Begin Path", "Begin File") if cells.get(column)), "")


def _status_and_source(
    status: str, said_by: str, label: str, probability: float | None, where: str
) -> tuple[Status, LabelSource]:
    """Return status and source of a label; in tables of other programs, a probability means a prediction."""
    if not status:
        status, said_by = ("unlabelled", "") if not label else ("confirmed", "person")
        if label and probability is not None:
            status, said_by = "predicted", "model"
    if status not in get_args(Status) or said_by not in get_args(LabelSource):
        raise BagtagError(f"{where}: the status {status!r} by {said_by!r} is not known; {KNOWN_STATUSES}.")
    return cast(Status, status), cast(LabelSource, said_by)
