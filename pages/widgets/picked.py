"""Rows chosen in a table: by their box, or by a click anywhere in them."""

from __future__ import annotations

from typing import Any, Literal

ROWS_OR_A_CELL: tuple[Literal["multi-row"], Literal["single-cell"]] = ("multi-row", "single-cell")
"""The selection mode of tables whose rows can be chosen."""


def picked_rows(state: Any, n_rows: int) -> list[int]:
    """Places of the chosen rows; boxes count before a clicked cell."""
    chosen = state["selection"]
    rows = chosen.get("rows") or [row for row, _ in chosen.get("cells", [])]
    return sorted({int(row) for row in rows if int(row) < n_rows})
