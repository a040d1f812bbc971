"""Grids of segments: each stored once, and made from the media file for a bag that has none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, insert, select, update

from miml_core.media.image import open_image
from miml_core.media.sound_blocks import SoundWindow
from miml_core.project.db import settings
from miml_core.project.db.schema import bags as bags_table
from miml_core.project.db.schema import grids
from miml_core.project.db.store import folder_of
from miml_core.project.media import files as media_files
from miml_core.project.queries.segments import grid

if TYPE_CHECKING:
    from miml_core.media.grid import Grid


def store_grid(connection: Connection, new: Grid) -> int:
    """Store a grid if it is new; return its id."""
    text = json.dumps(new.to_dict(), sort_keys=True)
    there = connection.execute(select(grids.c.id).where(grids.c.grid == text)).scalar()
    if there is not None:
        return int(there)
    done = connection.execute(insert(grids).values(grid=text))
    assert done.inserted_primary_key is not None
    return int(done.inserted_primary_key[0])


def grid_of_bag(connection: Connection, bag: Row[Any]) -> tuple[int, Grid]:
    """Return the id and grid for drawn segments of a bag; made from the file if the bag has none yet."""
    if bag.grid_id is not None:
        return bag.grid_id, grid(connection, bag.grid_id)
    made = grid_from_file(connection, bag)
    grid_id = store_grid(connection, made)
    connection.execute(update(bags_table).where(bags_table.c.id == bag.id).values(grid_id=grid_id))
    return grid_id, made


def grid_from_file(connection: Connection, bag: Row[Any]) -> Grid:
    """Return the grid that the present settings give a bag, from the header of its file."""
    path = media_files.path_of_bag(connection, folder_of(connection), bag.id)
    used = settings.instance_settings(connection)
    if settings.kind(connection) == "picture":
        return open_image(path, max_side=used.picture_segments.working_side).grid
    return SoundWindow.of(path, bag.start, bag.end, used.spectrogram, used.channel).grid
