"""Train a segmenter on people's edits, and set it in the project's settings.

Stored segments stay as they are until a person has them detected again.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Row

from miml_core.errors import BagtagError
from miml_core.media.spectrogram import read_spectrogram
from miml_core.project.db import settings
from miml_core.project.db.own_folders import own_folder
from miml_core.project.db.rows import bag_row
from miml_core.project.jobs.context import JobContext
from miml_core.project.media import files as media_files
from miml_core.project.queries import segmenter_examples, segments
from miml_core.segments.learned import Example, LearnedSegmenter

if TYPE_CHECKING:
    from miml_core.instances import InstanceSettings
    from miml_core.segments.learned import Example

FOLDER = "segmenters"
_MOST_BAGS = 300
"""Those with the most kept and deleted segments; more would only take longer."""


def run(context: JobContext) -> dict[str, Any]:
    """Train the segmenter and store it as a new file."""
    with context.store.read() as connection:
        used = settings.instance_settings(connection)
        if settings.kind(connection) != "sound":
            raise BagtagError("A segmenter can be trained in projects of sounds only; this project holds pictures.")
        counts = segmenter_examples.count(connection)
        found = segmenter_examples.by_bag(connection)
    if not counts.enough:
        raise BagtagError(f"There are too few edits to learn from. {counts.sentence}")
    chosen = sorted(found, key=lambda bag_id: -len(found[bag_id][0]) - len(found[bag_id][1]))[:_MOST_BAGS]
    examples = []
    for number, bag_id in enumerate(chosen):
        context.report(number, len(chosen), "reading your edits")
        example = _example(context, bag_id, *found[bag_id], used)
        if example is not None:
            examples.append(example)
    trained = LearnedSegmenter.train(
        examples,
        used.segments,
        progress=lambda step, of, info: context.report(step, of, "learning to detect segments"),
    )
    name = _next_name(context.store.folder)
    trained.save(context.store.folder / name)
    with context.store.write() as connection:
        now = settings.instance_settings(connection)
        settings.set_instance_settings(connection, replace(now, learned_segmenter=name), annotator=context.annotator)
    message = f"learnt from {counts.n_kept} kept and {counts.n_deleted} deleted segments"
    return {"message": message, "segmenter": name, "bags": len(examples)}


def _example(
    context: JobContext, bag_id: int, kept: list[Row[Any]], deleted: list[Row[Any]], whole: bool, used: InstanceSettings
) -> Example | None:
    """Return a bag as a training example; a file that cannot be read is listed and left out."""

    with context.store.read() as connection:
        bag = bag_row(connection, bag_id)
        try:
            path = media_files.path_of_bag(connection, context.store.folder, bag_id)
            spectrogram = read_spectrogram(path, bag.start, bag.end, used.spectrogram, used.channel)
        except BagtagError as error:
            context.fail(bag.name, str(error), bag_id)
            return None
        yes, no = ([segments.on_grid(connection, row, spectrogram.grid) for row in rows] for rows in (kept, deleted))
    return Example(spectrogram, yes, no, whole)


def _next_name(folder: Path) -> str:
    """Return the next free name, relative to the project's folder; older settings keep the file they name."""
    used = [int(path.stem) for path in own_folder(folder, FOLDER).glob("*.npz") if path.stem.isdigit()]
    return f"{FOLDER}/{max(used, default=0) + 1}.npz"
