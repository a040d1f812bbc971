"""Results of BirdNET-Analyzer as CSV, one file per recording or one for all; its Raven tables are read as such."""

from __future__ import annotations

from miml_core.exchange.column_tables import ColumnTable, header_of

_NEEDED = {"start (s)", "end (s)", "scientific name", "common name", "confidence"}


class BirdnetResults(ColumnTable):
    """Columns Start (s), End (s), Scientific name, Common name, Confidence and, in newer versions, File."""

    name = "birdnet"
    title = "BirdNET-Analyzer results (CSV)"
    kinds = ("sound",)
    extensions = (".csv",)

    def recognises(self, name: str, head: str) -> bool:
        return {heading.casefold() for heading in header_of(head)} >= _NEEDED
