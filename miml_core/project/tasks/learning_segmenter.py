"""Learn from people's edits how to find segments; from then on the project's settings name what was learnt.

Segments that are stored stay as they are until a person has them found anew.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row

from miml_core.errors import BagtagError
from miml_core.project import bags, media, segmenter_lessons, segments, settings
from miml_core.project.job_context import JobContext
from miml_core.project.own_folders import own_folder

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.segments.learned import Example

FOLDER = "segmenters"
_MOST_BAGS = 300
_LEARNING = "learning the segmenter"
"""Those with the most judged segments: more would only take longer."""


def run(context: JobContext) -> dict[str, Any]:
    from miml_core.segments.learned import LearnedSegmenter

    with context.store.read() as connection:
        used = settings.instance_settings(connection)
        if settings.kind(connection) != "sound":
            raise BagtagError("Only segments of sound can be learnt from edits; pictures are cut whole.")
        lessons = segmenter_lessons.count(connection)
        found = segmenter_lessons.by_bag(connection)
    if not lessons.enough:
        raise BagtagError(f"There is too little to learn from. {lessons.sentence}")
    chosen = sorted(found, key=lambda bag_id: -len(found[bag_id][0]) - len(found[bag_id][1]))[:_MOST_BAGS]
    examples = []
    for number, bag_id in enumerate(chosen):
        context.report(number, len(chosen), "reading your edits")
        example = _example(context, bag_id, *found[bag_id], used)
        if example is not None:
            examples.append(example)
    trained = LearnedSegmenter.train(
        examples, used.segments, progress=lambda step, of, info: context.report(step, of, _LEARNING)
    )
    name = _save_as(context.store.folder)
    trained.save(context.store.folder / name)
    with context.store.write() as connection:
        now = settings.instance_settings(connection)
        settings.set_instance_settings(connection, replace(now, learned_segmenter=name), annotator=context.annotator)
    said = f"learnt from {lessons.n_kept} kept and {lessons.n_deleted} deleted segments"
    return {"message": said, "segmenter": name, "bags": len(examples)}


def _example(
    context: JobContext, bag_id: int, kept: list[Row[Any]], deleted: list[Row[Any]], whole: bool, used: InstanceSettings
) -> Example | None:
    """A bag's lesson; a file that cannot be read is listed and left out."""
    from miml_core.media.spectrogram import read_spectrogram
    from miml_core.segments.learned import Example

    with context.store.read() as connection:
        bag = bags.row(connection, bag_id)
        try:
            path = media.path_of_bag(connection, context.store.folder, bag_id)
            spectrogram = read_spectrogram(path, bag.start, bag.end, used.spectrogram, used.channel)
        except BagtagError as error:
            context.fail(bag.name, str(error), bag_id)
            return None
        yes, no = ([segments.on_grid(connection, row, spectrogram.grid) for row in rows] for rows in (kept, deleted))
    return Example(spectrogram, yes, no, whole)


def _save_as(folder: Path) -> str:
    """The next free name, from the project's folder: settings that name an older one keep their meaning."""
    used = [int(path.stem) for path in own_folder(folder, FOLDER).glob("*.npz") if path.stem.isdigit()]
    return f"{FOLDER}/{max(used, default=0) + 1}.npz"
