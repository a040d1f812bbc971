"""Sequences that crowsetta reads: its generic CSV, simple CSV, Praat's TextGrid and TIMIT's phones."""

from __future__ import annotations

import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from miml_core.errors import BagtagError
from miml_core.exchange.column_tables import header_of
from miml_core.exchange.labels import LabelReader, LabelTable
from miml_core.exchange.names import recording_of
from miml_core.exchange.optional_packages import import_optional
from miml_core.exchange.rows import SegmentRow

_GENERIC = {"label", "onset_s", "offset_s", "notated_path", "annot_path"}
_SIMPLE = ["onset_s", "offset_s", "label"]


class CrowsettaFiles(LabelReader):
    """Files whose format crowsetta knows; the format is recognised by the heading or the extension."""

    name = "crowsetta"
    title = "crowsetta sequences (generic CSV, simple CSV, TextGrid, TIMIT)"
    kinds = ("sound",)
    extensions = (".csv", ".txt", ".TextGrid", ".textgrid", ".phn", ".PHN")

    def recognises(self, name: str, head: str) -> bool:
        return _format_of(name, head) is not None

    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        crowsetta = import_optional("crowsetta", "Files of crowsetta")
        known = _format_of(name, content[:4096].decode("utf-8", errors="replace"))
        if known is None:
            raise BagtagError(
                f"{name!r} is not in a format that Bagtag reads with crowsetta; choose a generic or simple CSV, "
                "TextGrid or TIMIT file."
            )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"labels{PurePosixPath(name).suffix}"
            path.write_bytes(content)
            try:
                annotations = crowsetta.Transcriber(format=known).from_file(path).to_annot()
            except Exception as error:  # whatever crowsetta, pandera and pandas raise for a file of another structure
                first = next(iter(str(error).strip().splitlines()), type(error).__name__)
                raise BagtagError(f"{name!r} cannot be read by crowsetta as {known}: {first[:200]}.") from error
        for annotation in annotations if isinstance(annotations, list) else [annotations]:
            self._add(annotation, name, known, table)

    def _add(self, annotation: Any, name: str, known: str, table: LabelTable) -> None:
        notated = str(annotation.notated_path or "") if known == "generic-seq" else ""
        file = notated or recording_of(name, PurePosixPath(name).suffix)
        sequences = annotation.seq if isinstance(annotation.seq, list) else [annotation.seq]
        for sequence in sequences:
            for number, segment in enumerate(sequence.segments, start=1):
                if segment.onset_s is None or segment.offset_s is None:
                    table.fail(f"{name!r}, segment {number}", "only the number of its samples is known, not the time")
                    continue
                label = str(segment.label).strip()
                table.add(
                    f"{name!r}, segment {number}",
                    SegmentRow,
                    file=file,
                    start_s=float(segment.onset_s),
                    end_s=float(segment.offset_s),
                    label=label,
                    status="confirmed" if label else "unlabelled",
                    said_by="person" if label else "",
                )


def _format_of(name: str, head: str) -> str | None:
    extension = PurePosixPath(name).suffix.lower()
    header = header_of(head)
    if set(header) >= _GENERIC:
        return "generic-seq"
    if header == _SIMPLE:
        return "simple-seq"
    if extension == ".textgrid":
        return "textgrid"
    return "timit" if extension == ".phn" else None
