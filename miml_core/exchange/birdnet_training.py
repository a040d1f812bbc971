"""Training folders of BirdNET-Analyzer: `CLASS/CLIP.wav` of three seconds or more at 48 kHz.

BirdNET-Analyzer (`birdnet_analyzer/train`) takes the name of a folder for its label. A comma separates several labels,
a minus at the beginning makes a negative example, and "Noise", "Other", "Background" and "Silence" are no label. It
recommends SCIENTIFIC NAME_COMMON NAME, and uses the middle 3 s of a clip unless another part is chosen.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter

from miml_core.exchange.cutouts import CutOuts
from miml_core.exchange.names import safe_part
from miml_core.exchange.rows import SegmentRow

_NOISE = "Noise"
_SECONDS, _RATE = 3.0, 48_000


class BirdnetTraining(CutOuts):
    """Clips around the segments, and those of background segments in `Noise`.

    A background segment with a labelled one less than 3 s away is left out, because its clip is no noise.
    """

    name = "birdnet-training"
    title = "Training folders for BirdNET-Analyzer"
    kinds = ("sound",)
    keeps = (
        "A folder per class with clips of 3 s or more at 48 kHz; background goes to Noise, segments without a label "
        "are left out. The table with them has everything but outlines."
    )
    least_seconds = _SECONDS
    default_padding = 0.0
    default_rate = _RATE

    def _folder(self, row: SegmentRow) -> str | None:
        if row.status == "background":
            return _NOISE
        if not row.label:
            return None
        if row.label.casefold() == _NOISE.casefold():
            return _NOISE
        is_same = row.scientific_name.casefold() in ("", row.label.casefold())
        return row.label if is_same else f"{row.scientific_name}_{row.label}"

    def _safe(self, folder: str) -> str:
        safe = safe_part(folder).replace(",", "%2C")
        return "%2D" + safe[1:] if safe.startswith("-") else safe

    def _chosen(self, rows: list[SegmentRow]) -> list[SegmentRow]:
        calls = sorted((row.start_s or 0.0, row.end_s or 0.0) for row in rows if row.label)
        longest = max((end - start for start, end in calls), default=0.0)
        starts = [start for start, _ in calls]
        reach = max(_SECONDS, self.padding)

        def is_clean(row: SegmentRow) -> bool:
            first, last = (row.start_s or 0.0) - reach, (row.end_s or 0.0) + reach
            near = calls[bisect_left(starts, first - longest) : bisect_left(starts, last)]
            return not any(end > first for _, end in near)

        labelled = [row for row in rows if self._folder(row) is not None]
        chosen = [row for row in labelled if row.label or is_clean(row)]
        without_label, near_call = len(rows) - len(labelled), len(labelled) - len(chosen)
        self.left_out += Counter({"without a label": without_label, "of background near a call": near_call})
        return chosen
