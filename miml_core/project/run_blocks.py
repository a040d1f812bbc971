"""The current run, which class each of its columns is now, and the block it stored of a bag."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, select

from miml_core.bags import BACKGROUND
from miml_core.project import classes, settings
from miml_core.project.schema import bag_predictions as blocks
from miml_core.project.schema import runs as runs_table

STORED = "<f2"
"""Half precision: three digits are plenty on screen, and a run of 800 000 segments stays small."""

_RUN = select(runs_table).where(runs_table.c.id == bindparam("run"))
_BLOCK = select(blocks).where(blocks.c.run_id == bindparam("run"), blocks.c.bag_id == bindparam("bag"))


@dataclass(frozen=True)
class Columns:
    """Which class each column of a run's probabilities is now, after merges and removals."""

    ids: NDArray[np.int64]
    """(K,) the classes that are left, background last."""
    place: NDArray[np.int64]
    """(columns,) -> place in `ids`."""

    def fold(self, probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """(n, columns) -> (n, K), merged columns added up, rows summing to 1."""
        folded = np.asarray(probabilities, dtype=float) @ np.eye(len(self.ids))[self.place]
        total = folded.sum(axis=1, keepdims=True)
        return folded / np.where(total > 0, total, 1.0)


def columns_of(connection: Connection, run: Row[Any]) -> Columns:
    alias = classes.aliases(connection)
    now = [alias.get(class_id, BACKGROUND) for class_id in json.loads(run.classes)]
    now += [BACKGROUND] if run.background else []
    ids = [*sorted({class_id for class_id in now if class_id != BACKGROUND}), BACKGROUND]
    return Columns(np.array(ids), np.array([ids.index(class_id) for class_id in now], dtype=np.int64))


def current_run(connection: Connection) -> Row[Any] | None:
    run_id = settings.get(connection, "current_run")
    if run_id is None:
        return None
    return connection.execute(_RUN, {"run": run_id}).first()


def block_of(connection: Connection, run_id: int, bag_id: int) -> Row[Any] | None:
    return connection.execute(_BLOCK, {"run": run_id, "bag": bag_id}).first()


def posterior_of(block: Row[Any], n_columns: int) -> NDArray[np.float64]:
    return np.frombuffer(block.posterior, dtype=STORED).reshape(-1, n_columns).astype(float)
