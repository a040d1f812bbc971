"""Rows selected in a table, by their box or by a click anywhere in them; they stay selected when rows move."""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

ROWS_OR_A_CELL: tuple[Literal["multi-row"], Literal["single-cell"]] = ("multi-row", "single-cell")
"""The selection mode of tables whose rows can be selected."""


def picked_rows(state: Any, n_rows: int) -> list[int]:
    """Return the places of the selected rows; boxes count before a clicked cell."""
    chosen = state["selection"]
    rows = chosen.get("rows") or [row for row, _ in chosen.get("cells", [])]
    return sorted({int(row) for row in rows if int(row) < n_rows})


def selected_ids(key: str) -> list[int]:
    """Return the ids of the rows that are selected now, also in a callback."""
    drawn, number, _ = st.session_state.get(f"{key}.drawn", ([], 0, None))
    state = st.session_state.get(f"{key}.{number}")
    return [drawn[place] for place in picked_rows(state, len(drawn))] if state else []


def selection_arguments(key: str, ids: list[int]) -> dict[str, Any]:
    """Return arguments of `st.dataframe` that keep the selected bags or runs selected, wherever their rows are now.

    Streamlit keeps a selection by row number. When other ids are in the selected rows, the table gets a new key and
    begins with the rows to which the selected ids have moved; ids that are gone are no longer selected.
    """
    drawn, number, default = st.session_state.get(f"{key}.drawn", (ids, 0, None))
    state = st.session_state.get(f"{key}.{number}")
    selected = picked_rows(state, len(drawn)) if state else []
    if any(place >= len(ids) or ids[place] != drawn[place] for place in selected):
        number += 1
        default = {"selection": {"rows": [ids.index(drawn[place]) for place in selected if drawn[place] in ids]}}
    st.session_state[f"{key}.drawn"] = (ids, number, default)
    return {"key": f"{key}.{number}", "selection_default": default}
