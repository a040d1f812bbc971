"""Nothing a person does on the canvas is lost or done twice: slow pages, reloads, a killed server, two tabs."""

from __future__ import annotations

import random
from typing import Any

import pytest

from miml_core.project import Project
from tests.browser.conftest import wait_until
from tests.browser.editor import EDITOR, Editor, poll_often
from tests.browser.projects import sound_project

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outbox")
    sound_project(folder / "sound", (5, 40)).close()
    return folder


@pytest.fixture(scope="module")
def server(start_server, folder):
    return start_server("tests/browser/canvas_app.py", CANVAS_PROJECTS=str(folder))


@pytest.fixture(scope="module")
def stored(folder):
    with Project.open(folder / "sound" / "project") as project:
        yield project


def newest_sentences(project: Project, bag: int, n: int) -> list[str]:
    """The latest corrections of a bag in words, the oldest first."""
    entries = [entry for entry in project.edits.history(bag_id=bag, limit=500) if entry.act == "correct"]
    return [entry.sentence for entry in entries[:n]][::-1]


def keys(n: int, seed: int) -> list[str]:
    """Class keys, never the same twice in a row, so that every press is a change."""
    chance = random.Random(seed)
    chosen = ["1"]
    while len(chosen) < n:
        key = chance.choice("123456")
        if key != chosen[-1]:
            chosen.append(key)
    return chosen


def assert_in_order(project: Project, bag: int, pressed: list[str]) -> None:
    names = [one.name for one in project.classes.list()]
    sentences = newest_sentences(project, bag, len(pressed))
    wanted = [names[int(key) - 1] for key in pressed]
    assert len(sentences) == len(wanted)
    assert [name in sentence for name, sentence in zip(wanted, sentences, strict=True)] == [True] * len(wanted), (
        sentences
    )


def n_corrections(project: Project, bag: int) -> int:
    return sum(entry.act == "correct" for entry in project.edits.history(bag_id=bag, limit=1000))


def test_sixty_quick_edits_on_a_slow_page_are_stored_in_order(page, server, stored):
    editor = Editor.open(page, server.url, streamlit=True, bag=1, sleep=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    pressed = keys(60, 1)
    editor.press(*pressed)
    editor.wait("s.state === 'saved' && s.stored === 60")
    assert n_corrections(stored, 1) == before + 60
    assert_in_order(stored, 1, pressed)


def test_a_reload_in_the_middle_loses_and_doubles_nothing(page, server, stored):
    editor = Editor.open(page, server.url, bag=2)
    editor.press("ArrowRight", "ArrowRight")
    before = n_corrections(stored, 2)
    page.route("**/edits", lambda route: None)
    pressed = keys(20, 2)
    editor.press(*pressed)
    assert editor.state["unsent"] == 20
    page.unroute("**/edits")
    page.reload()
    editor.wait("s.state === 'saved' && s.unsent === 0")
    assert n_corrections(stored, 2) == before + 20
    assert_in_order(stored, 2, pressed)
    page.reload()
    editor.wait("s.state === 'saved'")
    assert n_corrections(stored, 2) == before + 20


def test_a_response_that_never_arrives_does_not_double_the_edit(page, server, stored):
    editor = Editor.open(page, server.url, bag=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    lost = []

    def lose_the_response(route):
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/edits", lose_the_response)
    editor.press("2", "4")
    editor.wait("s.state === 'offline' || s.unsent === 0")
    editor.wait("s.state === 'saved' && s.stored === 2")
    assert lost == [200]
    assert n_corrections(stored, 1) == before + 2


def test_a_killed_server_loses_nothing_acknowledged_and_gets_the_rest_later(page, server, stored):
    editor = Editor.open(page, server.url, streamlit=True, bag=2)
    editor.press("ArrowLeft")
    before = n_corrections(stored, 2)
    pressed = keys(30, 3)
    editor.press(*pressed[:15])
    editor.wait("s.stored >= 5")
    server.kill()
    acknowledged = editor.state["stored"]
    editor.press(*pressed[15:])
    assert n_corrections(stored, 2) >= before + acknowledged
    state = editor.wait("s.state === 'offline'")
    assert state["unsent"] >= 15
    assert "unsent" in editor.text(".saved")
    server.start()
    editor.wait("s.state === 'saved' && s.stored === 30")
    assert n_corrections(stored, 2) == before + 30
    assert_in_order(stored, 2, pressed)


def test_a_response_older_than_the_last_edit_does_not_take_it_off_the_screen(page, server, stored):
    poll_often(page)
    editor = Editor.open(page, server.url, bag=1)
    first, second = (segment.id for segment in stored.segments.list(1)[:2])
    held = []

    def hold_once(route):
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    page.route("**/bag/1", hold_once)
    stored.edits.set_label(second, stored.classes.list()[5].id)
    wait_until(page, lambda: held)
    editor.click(first)
    wanted = stored.classes.list()[1 if stored.segments.get(first).label != stored.classes.list()[1].id else 2]
    editor.press(str([one.id for one in stored.classes.list()].index(wanted.id) + 1))
    editor.saved()
    route, response = held[0]
    with page.expect_response("**/bag/1"):
        route.fulfill(response=response)
    editor.frames()
    assert editor.state["labels"][str(first)] == wanted.id
    editor.wait(f"s.labels[{second}] === {stored.classes.list()[5].id}")


def test_two_tabs_see_each_others_work(window, server, stored):
    one = window.new_page()
    poll_often(one)
    first = Editor.open(one, server.url, bag=1)
    two = window.new_page()
    poll_often(two)
    second = Editor.open(two, server.url, bag=1)
    segment = stored.segments.list(1)[-1].id
    one.bring_to_front()
    first.click(segment)
    first.press("3")
    first.saved()
    two.bring_to_front()
    wanted = stored.segments.get(segment).label
    second.wait(f"s.labels[{segment}] === {wanted}")
    second.click(segment)
    second.press("5")
    second.saved()
    one.bring_to_front()
    first.wait(f"s.labels[{segment}] === {stored.classes.list()[4].id}")
    one.close()
    two.close()


def shorten_pauses(page: Any) -> None:
    """Let what the page's scripts put off by more than half a second happen thirty times sooner."""
    page.add_init_script("""const later = setTimeout;
      window.setTimeout = (act, ms, ...rest) => later(act, ms > 500 ? ms / 30 : ms, ...rest);""")


def wait_for(editor: Editor, condition: str) -> None:
    """Wait until a condition on the editor `b` holds."""
    editor.page.wait_for_function(f"(() => {{ const b = {EDITOR}; return {condition}; }})()")


def fail_at(route, number: int, status: int | None) -> None:
    """Pass edits on, except for one: the server responds with a status, or with a result that it failed."""
    sent = route.request.post_data_json["edits"]
    before = [edit for edit in sent if edit["number"] < number]
    if number not in [edit["number"] for edit in sent]:
        route.continue_()
    elif status is not None:
        route.fulfill(status=status, json={"error": "It broke."})
    else:
        response = route.fetch(post_data={"edits": before}).json() if before else {"results": [], "revision": 1}
        failed = {"number": number, "failed": True, "error": "It broke."}
        route.fulfill(json={**response, "results": [*response["results"], failed]})


@pytest.mark.parametrize("status", [500, 400, None], ids=["fault", "unreadable", "one result"])
def test_an_edit_the_server_fails_at_is_set_aside_and_the_others_go_on(page, server, stored, status):
    shorten_pauses(page)
    editor = Editor.open(page, server.url, bag=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    page.route("**/edits", lambda route: fail_at(route, 2, status))
    pressed = keys(5, 7)
    editor.press(*pressed)
    wait_for(editor, "b.outbox.aside.length === 1 && b.outbox.unsent.length === 0")
    assert n_corrections(stored, 1) == before + 4
    assert_in_order(stored, 1, [pressed[0], *pressed[2:]])
    wanted = stored.classes.list()[int(pressed[1]) - 1].name
    text = editor.text(".outbox")
    assert f"label 1 segment as {wanted}" in text and "garden_1" in text and "It broke." in text
    assert "1 not saved" in editor.text(".saved")
    page.unroute("**/edits")
    page.reload()
    editor.wait("s")
    wait_for(editor, "b.outbox.aside.length === 1 && !b.outboxPanel.node.hidden")
    page.get_by_role("button", name="Try again").click()
    editor.saved()
    assert editor.ask("b => b.outbox.aside.length") == 0 and editor.ask("b => b.outboxPanel.node.hidden")
    assert n_corrections(stored, 1) == before + 5
    assert_in_order(stored, 1, [pressed[0], *pressed[2:], pressed[1]])


def test_an_edit_set_aside_can_be_discarded(page, server, stored):
    editor = Editor.open(page, server.url, bag=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    page.route("**/edits", lambda route: fail_at(route, 1, 413))
    editor.press("1")
    wait_for(editor, "b.outbox.aside.length === 1")
    page.get_by_role("button", name="Discard").click()
    page.reload()
    editor.wait("s.state === 'saved'")
    assert editor.ask("b => b.outbox.aside.length") == 0 and n_corrections(stored, 1) == before


def test_edits_wait_with_the_servers_sentence_while_it_cannot_write(page, server, stored):
    shorten_pauses(page)
    editor = Editor.open(page, server.url, bag=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    refused = []

    def refuse(route):
        refused.append(1)
        route.fulfill(status=503, json={"error": "The disk is full: free some space."})

    page.route("**/edits", refuse)
    editor.press("1", "2")
    wait_for(editor, "!b.outboxPanel.node.hidden")
    assert "The disk is full: free some space." in editor.text(".outbox") and "2 edits" in editor.text(".outbox")
    wait_until(page, lambda: len(refused) >= 6)  # more often than an edit that fails is tried
    assert editor.state["unsent"] == 2 and editor.ask("b => b.outbox.aside.length") == 0
    page.unroute("**/edits")
    editor.wait("s.state === 'saved' && s.stored === 2")
    assert editor.ask("b => b.outboxPanel.node.hidden")
    assert n_corrections(stored, 1) == before + 2


def test_full_storage_is_reported_and_the_edits_still_go(page, server, stored):
    page.add_init_script("Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); };")
    editor = Editor.open(page, server.url, bag=1)
    editor.press("ArrowRight")
    before = n_corrections(stored, 1)
    page.route("**/edits", lambda route: route.abort())
    editor.press("1", "2")
    wait_for(editor, "!b.outboxPanel.node.hidden")
    assert "keep this page open" in editor.text(".outbox")
    page.unroute("**/edits")
    editor.wait("s.state === 'saved' && s.stored === 2")
    assert n_corrections(stored, 1) == before + 2 and editor.ask("b => b.outboxPanel.node.hidden")


def test_what_depends_on_a_failed_edit_goes_with_it_and_its_undo_takes_back_nothing_else(page, server):
    Editor.open(page, server.url, bag=1)
    script = """async (b, acts) => {
      const { dependentEdits } = await import(new URL(`/bagtag/assets/${b.data.assets}/dependent_edits.js`, location));
      const edits = acts.map((act, place) => ({ nonce: "n", number: place + 1, bag: 1, act }));
      const { kept, gone } = dependentEdits(edits[0], edits);
      return [kept, gone].map((list) => list.map((edit) => edit.number).sort());
    }"""

    def split(*acts):
        return page.evaluate(f"acts => ({script})({EDITOR}, acts)", list(acts))

    draw, undo, redo = {"act": "draw"}, {"act": "undo"}, {"act": "redo"}
    label, other = {"act": "correct", "segments": ["@1"]}, {"act": "correct", "segments": [7]}
    merge, delete = {"act": "merge", "segments": [7, "@1"]}, {"act": "delete", "segments": ["@4"]}
    assert split(draw, label, other, merge, delete) == [[1, 2, 4, 5], []]
    assert split(draw, {"act": "split", "segment": "@10"}, other) == [[1], []]
    assert split(draw, undo) == [[], [1, 2]]
    assert split(draw, undo, undo) == [[], [1, 2]], "the second undo means an earlier edit"
    assert split(draw, other, undo) == [[1], []]
    assert split(draw, other, undo, undo) == [[], [1, 4]]
    assert split(draw, label, undo) == [[1], [2, 3]]
    assert split(draw, undo, redo, other) == [[1], [2, 3]]
    add, tag = {"act": "add_class"}, {"act": "tag", "class": "@1"}
    assert split(add, tag, undo) == [[1], [2, 3]]
