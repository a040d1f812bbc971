"""Where the canvas is asked to go: the page's wishes against what the person has done since."""

from __future__ import annotations

import pytest

from pages.widgets import canvas as canvas_module
from pages.widgets.canvas import RESERVED_KEYS, _around, _wish


@pytest.fixture
def session(monkeypatch) -> dict:
    state: dict = {}
    monkeypatch.setattr(canvas_module.st, "session_state", state)
    return state


def told(session: dict, bag: int, segment: int | None, wish: int = 1) -> None:
    """The browser tells where the person is, and the page hears it in its next run."""
    session["c"] = {"now": {"bag": bag, "segment": segment, "stored": 0, "revision": 1, "wish": wish}}


def test_running_again_is_no_new_wish(session):
    assert _wish("c", 1, None) == ((1, None), 1)
    told(session, 1, 7)
    assert _wish("c", 1, None)[1] == 1


def test_another_bag_is_a_wish_and_so_is_another_segment(session):
    _wish("c", 1, None)
    told(session, 1, None)
    assert _wish("c", 2, None) == ((2, None), 2)
    assert _wish("c", 2, 5) == ((2, 5), 3)


def test_passing_on_what_the_canvas_said_never_brings_an_earlier_bag_back(session):
    """The person went from 1 to 2 to 3; the page, one run late, passes on 2."""
    _wish("c", 1, None)
    told(session, 2, None)
    session["c.answered"] = (2, None)
    told(session, 3, None)
    assert _wish("c", 2, None)[1] == 1
    session["c.answered"] = (3, None)
    assert _wish("c", 3, None)[1] == 1
    assert _wish("c", 1, None) == ((1, None), 2), "but asking for the first bag again is a wish"


def test_coming_back_to_the_page_shows_what_it_asks_for(session):
    _wish("c", 1, None)
    told(session, 4, None)
    session["c.answered"] = (4, None)
    del session["c"]
    assert _wish("c", 4, None)[0] == (4, None)


def test_after_a_restart_of_the_server_the_browser_stays_where_it_is(session):
    told(session, 9, 3, wish=5)
    assert _wish("c", 1, None)[1] == 5


def test_the_browser_gets_the_part_of_the_queue_around_the_person():
    queue = list(range(1000))
    part = _around(queue, [500, None])
    assert part["items"][part["index"] - part["first"]] == (500, None)
    assert (part["total"], len(part["items"])) == (1000, 41)
    pairs = [(1, 10), (1, 11), (2, 20)]
    assert _around(pairs, [1, 11])["index"] == 1
    assert _around(pairs, [2, None])["index"] == 2, "another segment of the bag is near enough"
    assert _around(pairs, [9, 9])["index"] == 0
    assert _around([], [1, None]) == {}


def test_no_class_may_take_a_key_of_the_canvas_or_of_streamlit():
    table = (canvas_module.files()["keys.js"]).decode()
    single = {key for row in table.split("keys: [")[1:] for key in row.split("]")[0].replace('"', "").split(", ")}
    assert {key for key in single if len(key) == 1} | {"r", "c"} <= RESERVED_KEYS
