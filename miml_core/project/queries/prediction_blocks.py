"""The current run, the present class of each of its columns, and its block of a bag."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, bindparam, select

from miml_core.bags import BACKGROUND
from miml_core.project.db import settings
from miml_core.project.db.schema import bag_predictions as blocks
from miml_core.project.db.schema import runs as runs_table
from miml_core.project.queries import classes

STORED = "<f2"
"""Half precision: three digits are enough on screen, and a run of 800 000 segments stays small."""

IMPORTED = "imported"
"""The model of a run whose predictions were imported: it has no model file and predicts nothing by itself."""

_RUN = select(runs_table).where(runs_table.c.id == bindparam("run"))
_BLOCK = select(blocks).where(blocks.c.run_id == bindparam("run"), blocks.c.bag_id == bindparam("bag"))


@dataclass(frozen=True)
class Columns:
    """The present class of each column of a run's probabilities, after merges and removals."""

    ids: NDArray[np.int64]
    """(K,) the classes that are left, background last."""
    place: NDArray[np.int64]
    """(columns,) -> place in `ids`."""

    def fold(self, probabilities: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        """Return (n, K) from (n, columns): merged columns are added, rows sum to 1."""
        folded = np.asarray(probabilities, dtype=float) @ np.eye(len(self.ids))[self.place]
        total = folded.sum(axis=1, keepdims=True)
        return folded / np.where(total > 0, total, 1.0)


def columns_of(connection: Connection, run: Row[Any]) -> Columns:
    """Return the present classes of a run's columns."""
    alias = classes.aliases(connection)
    now = [alias.get(class_id, BACKGROUND) for class_id in json.loads(run.classes)]
    now += [BACKGROUND] if run.background else []
    ids = [*sorted({class_id for class_id in now if class_id != BACKGROUND}), BACKGROUND]
    return Columns(np.array(ids), np.array([ids.index(class_id) for class_id in now], dtype=np.int64))


def current_run(connection: Connection) -> Row[Any] | None:
    """Return the row of the current run."""
    run_id = settings.get(connection, "current_run")
    if run_id is None:
        return None
    return connection.execute(_RUN, {"run": run_id}).first()


def block_of(connection: Connection, run_id: int, bag_id: int) -> Row[Any] | None:
    """Return the row of a run's predictions for a bag."""
    return connection.execute(_BLOCK, {"run": run_id, "bag": bag_id}).first()


def posterior_of(block: Row[Any], n_columns: int) -> NDArray[np.float64]:
    """Return (n, columns) probabilities of a block."""
    return np.frombuffer(block.posterior, dtype=STORED).reshape(-1, n_columns).astype(float)
