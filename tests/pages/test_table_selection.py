"""What is selected in a table stays selected when its rows move."""

import pytest

from pages.widgets import table_selection
from pages.widgets.table_selection import selected_ids, selection_arguments


@pytest.fixture
def session(monkeypatch) -> dict:
    state: dict = {}
    monkeypatch.setattr(table_selection.st, "session_state", state)
    return state


def select(session: dict, table: dict, *rows: int) -> None:
    session[table["key"]] = {"selection": {"rows": list(rows), "cells": []}}


def test_rows_added_behind_the_selected_ones_leave_the_table_as_it_is(session):
    table = selection_arguments("t", [7, 8])
    select(session, table, 1)
    assert selection_arguments("t", [7, 8, 9]) == table and selected_ids("t") == [8]


def test_a_selected_row_that_moves_is_selected_where_it_is_now(session):
    table = selection_arguments("t", [7, 8, 9])
    select(session, table, 0, 2)
    moved = selection_arguments("t", [9, 8, 7])
    assert moved["key"] != table["key"] and sorted(moved["selection_default"]["selection"]["rows"]) == [0, 2]


def test_a_selected_row_that_is_gone_is_selected_no_more(session):
    select(session, selection_arguments("t", [7, 8]), 0)
    assert selection_arguments("t", [8])["selection_default"] == {"selection": {"rows": []}}
    assert selected_ids("t") == []
