"""One format a file, in and out, behind one interface.

`FORMATS` maps a format's name to it. Rows are `SegmentRow`s; whoever keeps segments turns them into rows.
"""

from miml_core.exchange.base import Format
from miml_core.exchange.rows import SegmentRow, by_file

FORMATS: dict[str, Format] = {}

__all__ = ["FORMATS", "Format", "SegmentRow", "by_file"]
