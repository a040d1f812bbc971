"""The sets on which the cost of labels is measured: every segment has a true class of its bag's tags, or is background.

They are in the layouts of the benchmark data: `miml/` (sets of features, their tags the union of the labels), `audio/`
(recordings with events, cut by our segmenter, hand-made features) and `images/` (pictures with label maps, cut by our
segmenter).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miml_core.bags import BACKGROUND, BagSet
from miml_core.errors import BagtagError
from miml_core.evaluation.data_sets import find_sets
from miml_core.evaluation.media_pictures import MOST_TAGS, CutSet
from miml_core.evaluation.media_sound import in_parallel
from miml_core.evaluation.picture_sets import PictureSet, cut_and_count, find_picture_sets
from miml_core.evaluation.sound_chain import UNKNOWN_LABEL, make_bags, segment_recording, segment_truth
from miml_core.evaluation.sound_sets import EventSet, find_event_sets
from miml_core.segments.visual import PictureSegmentSettings


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """Bags with their true tags, and the true class of each segment, or `BACKGROUND`."""

    name: str
    bags: BagSet
    truth: NDArray[np.int64]


def labelled_sets(data_dir: Path, wanted: list[str] | None = None, jobs: int = 1) -> Iterator[LabelledSet]:
    """Yield the sets below a folder whose name contains one of `wanted` (all of them if it is empty)."""

    def is_wanted(name: str) -> bool:
        return not wanted or any(word.lower() in name.lower() for word in wanted)

    found = False
    for one in find_sets(data_dir / "miml") if (data_dir / "miml").is_dir() else []:
        if one.truth is not None and one.variant in ("union", "whole") and is_wanted(one.name):
            found = True
            yield LabelledSet(one.name, one.bags, one.truth)
    for pictures in find_picture_sets(data_dir):
        if is_wanted(pictures.name) and (cut := _cut_pictures(pictures, jobs)) is not None:
            found = True
            yield cut
    for recordings in find_event_sets(data_dir):
        if is_wanted(recordings.name) and (cut := _cut_recordings(recordings, jobs)) is not None:
            found = True
            yield cut
    if not found:
        raise BagtagError(f"{data_dir} contains no set in a known layout whose segments have a true class.")


def _cut_pictures(pictures: PictureSet, jobs: int) -> LabelledSet | None:
    """Return the segments of pictures; None if pictures have most of the tags, which are then too uninformative."""
    read = in_parallel(_cut_picture, *zip(*pictures.files), jobs=jobs)
    cut = [one for one in read if not isinstance(one, str)]
    if not cut:
        return None
    found = CutSet(cut, pictures)
    if (found.tags > 0).mean() > MOST_TAGS:
        return None
    truth = np.where(found.truth >= 0, found.truth, BACKGROUND)
    return LabelledSet(pictures.name, found.bags("extended"), truth)


def _cut_picture(picture: Path, label_map: Path) -> object:
    return cut_and_count(picture, label_map, PictureSegmentSettings(), ("extended",))


def _cut_recordings(recordings: EventSet, jobs: int) -> LabelledSet | None:
    """Return the segments of recordings that have events and segments; None if there are none."""
    some = [(path, events, False) for path, events in recordings.events.items() if events]
    read = in_parallel(segment_recording, *zip(*some), jobs=jobs) if some else iter(())
    cut = [one for one in read if not isinstance(one, str) and len(one.X)]
    classes = sorted({event.label for one in cut for event in one.events} - {UNKNOWN_LABEL})
    if not classes:
        return None
    truth = np.concatenate([segment_truth(one.times, one.events, classes) for one in cut])
    return LabelledSet(recordings.name, make_bags(cut, classes, [one.X for one in cut]), truth)
