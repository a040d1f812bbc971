"""The routes of the canvas: who may use them, what they send."""

from __future__ import annotations

import io
import json
import threading
import wave
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from miml_core import BagtagError
from miml_core.project.edits.shapes import DeleteSegments
from miml_core.project.edits.tags import Unfinish
from miml_core.project.errors import NotSaved
from miml_core.project.jobs import repredict
from pages.widgets.app import open_projects
from pages.widgets.app.origin_check import OriginCheck
from pages.widgets.routes import canvas_routes
from pages.widgets.routes.auth import LISTEN_TOKEN, MOST_BYTES, TOKEN, authorised_route
from pages.widgets.routes.previews import keep_preview
from tests.browser.projects import sound_project

KEY = {"X-Bagtag-Token": TOKEN}
NONCE = "0123456789abcdef"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = sound_project(tmp_path_factory.mktemp("routes") / "sound", (5,))
    made.close()
    return open_projects.open_once(made.folder)


@pytest.fixture(scope="module")
def client(project):
    app = Starlette(routes=canvas_routes(), middleware=[Middleware(OriginCheck)])
    with TestClient(app, base_url="http://localhost:8501") as client:
        yield client


@pytest.fixture
def root(project):
    return f"/bagtag/{open_projects.key_of(project.folder)}"


def edit(number: int, act: dict, **more) -> dict:
    return {"nonce": NONCE, "number": number, "bag": 1, "annotator": "Ann", "seen": 1, "act": act, **more}


def post(client, root, *edits, **headers):
    return client.post(f"{root}/edits", json={"edits": list(edits)}, headers={**KEY, **headers})


def paths(root: str) -> list[str]:
    of_bag = ("bag/1", "bag/1/suggestions", "image/1?v=x", "sound/1")
    return [
        f"{root}/{name}" for name in (*of_bag, "news?since=0", "state", "preview/abc", "queue?order=newest", "counters")
    ]


def test_without_the_token_every_route_is_closed(client, root):
    for path in paths(root):
        assert client.get(path).status_code == 401, path
        assert client.get(path, headers={"X-Bagtag-Token": "guess"}).status_code == 401, path
        assert client.get(f"{path}{'&' if '?' in path else '?'}t={TOKEN}").status_code == 401, "no token in an address"
    assert client.post(f"{root}/edits", json={"edits": []}).status_code == 401
    assert client.post(f"{root}/retraining").status_code == 401


def test_the_listening_token_opens_the_sound_only(client, root):
    for path in paths(root):
        response = client.get(f"{path}{'&' if '?' in path else '?'}t={LISTEN_TOKEN}")
        assert (response.status_code == 401) == ("/sound/" not in path), path


def test_foreign_hosts_and_sites_are_refused(client, root):
    path = f"{root}/bag/1"
    assert client.get(path, headers=KEY).status_code == 200
    for headers in (
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example:8501"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:9999"},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        assert client.get(path, headers={**KEY, **headers}).status_code == 403, headers
    assert client.get(path, headers={**KEY, "Origin": "http://localhost:8501"}).status_code == 200
    assert client.get(path, headers={**KEY, "Host": "[::1]:8501"}).status_code == 200
    assert client.get("/bagtag/assets/x/canvas.js", headers={"Host": "evil.example"}).status_code == 403


def test_ids_are_numbers_of_this_project_and_never_paths(client, root):
    odd = ("bag/999", "bag/1/../../x", "bag/..", "bag/%2e%2e%2f1", "bag/1.5", "bag/-1", "image/../1?v=..", "preview/..")
    for path in odd:
        assert client.get(f"{root}/{path}", headers=KEY).status_code in (404, 405, 410), path
    for project in ("0123456789abcdef", "..", "%2e%2e", "sound"):
        assert client.get(f"/bagtag/{project}/bag/1", headers=KEY).status_code in (401, 404), project
    for query in ("start=../../etc/passwd", "end=nan", "factor=1e9", "low=5", "low=9&high=3", "start=5&end=4"):
        assert client.get(f"{root}/sound/1?{query}", headers=KEY).status_code == 400, query
    assert client.get(f"{root}/image/1?v=../../secret", headers=KEY).status_code == 404
    assert client.get("/bagtag/assets/../app.py").status_code == 404


def test_bodies_are_bounded_and_must_be_edits(client, root):
    as_json = {**KEY, "Content-Type": "application/json"}
    big = json.dumps({"edits": [edit(1, {"act": "draw", "bag": 1, "rings": [[[0, 0]] * MOST_BYTES]})]})
    assert client.post(f"{root}/edits", content=big, headers=as_json).status_code == 413
    assert client.post(f"{root}/edits", content="{}", headers={**KEY, "Content-Type": "text/plain"}).status_code == 415
    for body in ("", "[]", "{}", '{"edits": []}', '{"edits": [1]}', '{"edits": [{"nonce": "../..", "number": 1}]}'):
        assert client.post(f"{root}/edits", content=body, headers=as_json).status_code == 400, body
    assert post(client, root, edit(1, {"act": "remove_class", "class": 1, "confirm": True})).status_code == 400
    assert post(client, root, edit(True, {"act": "undo"})).status_code == 400
    assert post(client, root, edit(1, {"act": "undo"}, annotator="x" * 500)).status_code == 400


def test_an_edit_is_done_once_and_a_bad_one_does_not_hold_up_the_rest(client, root, project, monkeypatch):
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    segment = project.segments.list(1)[0].id
    edits = [
        edit(1, {"act": "correct", "segments": [segment], "label": 2}),
        edit(2, {"act": "correct", "segments": [10**6], "label": 2}),
        edit(3, {"act": "correct", "segments": [segment], "label": 3}),
    ]
    before = len(project.edits.history(bag_id=1))
    first = post(client, root, *edits).json()
    assert [("error" in result) for result in first["results"]] == [False, True, False]
    assert project.segments.get(segment).label == 3
    again = post(client, root, *edits).json()
    assert [result["number"] for result in again["results"]] == [1, 2, 3]
    assert len(project.edits.history(bag_id=1)) == before + 2
    assert again["results"][0]["revision"] == first["results"][0]["revision"]


def test_taking_a_tag_from_labelled_segments_asks_first(client, root, project):
    segment = project.segments.list(1)[1].id
    project.edits.set_label(segment, 1)
    asked = post(client, root, edit(11, {"act": "tag", "bag": 1, "class": 1, "value": 0})).json()["results"][0]
    assert asked["confirm"] and "1" in asked["error"]
    act = {"act": "tag", "bag": 1, "class": 1, "value": 0, "confirm": True}
    assert "error" not in post(client, root, edit(12, act)).json()["results"][0]
    assert project.segments.get(segment).label is None


def test_a_bag_is_sent_in_real_units_with_an_etag(client, root, project):
    response = client.get(f"{root}/bag/1", headers=KEY)
    bag = response.json()
    segment = project.segments.list(1)[0]
    sent = next(one for one in bag["segments"] if one["id"] == segment.id)
    xs = [x for ring in sent["rings"] for x in ring[0::2]]
    ys = [y for ring in sent["rings"] for y in ring[1::2]]
    assert (min(xs), max(xs)) == pytest.approx((segment.left, segment.right), abs=0.01)
    assert (min(ys), max(ys)) == pytest.approx((segment.low, segment.high), abs=100)
    assert bag["extent"]["right"] == pytest.approx(10.0, abs=0.02) and bag["rate"] == 44_100
    assert response.headers["x-content-type-options"] == "nosniff"
    unchanged = client.get(f"{root}/bag/1", headers={**KEY, "If-None-Match": response.headers["etag"]})
    assert unchanged.status_code == 304 and unchanged.content == b""
    project.edits.set_note(1, "windy")
    changed = client.get(f"{root}/bag/1", headers={**KEY, "If-None-Match": response.headers["etag"]})
    assert changed.status_code == 200


def test_the_picture_has_the_version_the_bag_names(client, root):
    version = client.get(f"{root}/bag/1", headers=KEY).json()["image"]
    response = client.get(f"{root}/image/1?v={version}", headers=KEY)
    assert response.headers["content-type"] == "image/png" and response.content.startswith(b"\x89PNG")
    assert "private" in response.headers["cache-control"]


def test_sound_comes_whole_in_ranges_slowed_and_in_a_band(client, root):
    path = f"{root}/sound/1?start=1&end=2&t={LISTEN_TOKEN}"
    whole = client.get(path)
    assert whole.headers["content-type"] == "audio/wav" and whole.content.startswith(b"RIFF")
    part = client.get(path, headers={"Range": "bytes=100-199"})
    assert part.status_code == 206 and part.content == whole.content[100:200]
    assert part.headers["content-range"] == f"bytes 100-199/{len(whole.content)}"
    assert client.get(path, headers={"Range": "bytes=-50"}).content == whole.content[-50:]
    assert client.get(path, headers={"Range": f"bytes={len(whole.content)}-"}).status_code == 416
    assert client.get(path, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304
    slow = client.get(f"{path}&factor=0.1")
    assert _seconds(slow.content) == pytest.approx(10.0, abs=0.01) and _seconds(whole.content) == pytest.approx(1.0)
    assert client.get(f"{path}&low=2000&high=3000").content != whole.content


def _seconds(wav: bytes) -> float:
    with wave.open(io.BytesIO(wav)) as sound:
        return sound.getnframes() / sound.getframerate()


def test_an_edit_that_changed_nothing_says_so(client, root):
    finish = {"act": "finish", "bag": 1, "rest": "unknown"}
    edits = [edit(number, act, nonce="changes-nothing") for number, act in enumerate((finish, finish, {"act": "undo"}))]
    assert [result["changed"] for result in post(client, root, *edits).json()["results"]] == [True, False, True]


def test_a_missing_file_is_reported_and_its_segments_still_come(client, root, project, monkeypatch):
    from pages.widgets.routes import images

    def gone(*_):
        raise BagtagError("garden_1.wav is not where it was.")

    monkeypatch.setattr(images, "bag_image", gone)
    bag = client.get(f"{root}/bag/1", headers=KEY)
    assert len(bag.json()["segments"]) == 5
    picture = client.get(f"{root}/image/1?v={bag.json()['image']}", headers=KEY)
    assert picture.status_code == 422 and picture.json() == {"error": "garden_1.wav is not where it was."}


def test_no_picture_and_no_sound_of_the_old_file_is_sent_when_the_file_has_changed(client, root, project):
    before = client.get(f"{root}/bag/1", headers=KEY).json()
    assert client.get(f"{root}/image/1?v={before['image']}", headers=KEY).status_code == 200
    path = project.media.path(1)
    content = path.read_bytes()
    path.write_bytes(content[:1000] + content[:0:-1][: len(content) - 1000])
    try:
        after = client.get(f"{root}/bag/1", headers=KEY).json()
        addresses = (f"{root}/image/1?v={after['image']}", f"{root}/sound/1?t={LISTEN_TOKEN}&start=0&end=1")
        refused = [client.get(address, headers=KEY) for address in addresses]
    finally:
        path.write_bytes(content)
    assert after["image"] != before["image"] and after["segments"] == before["segments"]
    assert [one.status_code for one in refused] == [422, 422]
    assert all("has changed since it was added" in one.json()["error"] for one in refused)
    assert client.get(f"{root}/bag/1", headers=KEY).json()["image"] == before["image"], "the original is back"


def test_a_preview_shows_tried_segments_and_belongs_to_its_project(client, root, project):
    ids_regions = project.segments.regions(1)
    grid = ids_regions[0][2]
    name = keep_preview(project, 1, grid, [region for _, region, _ in ids_regions[:2]])
    shown = client.get(f"{root}/preview/{name}", headers=KEY).json()
    assert len(shown["segments"]) == 2 and shown["id"] == 1
    assert client.get(f"{root}/preview/0000", headers=KEY).status_code == 404


@pytest.mark.parametrize("fault", [RuntimeError, KeyError, TypeError, ValueError])
def test_an_edit_that_fails_by_bagtags_own_fault_keeps_those_before_and_is_marked(
    client, root, project, monkeypatch, caplog, fault
):
    broken = {"on": True}
    delete = DeleteSegments.apply

    def fail_once(*arguments):
        if broken["on"]:
            raise fault("a bug")
        return delete(*arguments)

    monkeypatch.setattr(DeleteSegments, "apply", fail_once)
    nonce, segment = f"fails-in-the-middle-{fault.__name__}", project.segments.list(1)[0].id
    ring = [[2.0, 3000.0], [3.0, 3000.0], [3.0, 5000.0]]
    edits = [
        edit(1, {"act": "draw", "bag": 1, "rings": [ring]}, nonce=nonce),
        edit(2, {"act": "delete", "segments": ["@1"]}, nonce=nonce),
        edit(3, {"act": "correct", "segments": [segment], "label": 4}, nonce=nonce),
    ]
    response = post(client, root, *edits)
    first, second = response.json()["results"]
    assert response.status_code == 200 and first["created"] and "error" not in first
    assert second["number"] == 2 and second["failed"] and "because of a bug" in second["error"]
    assert "a bug" in caplog.text
    assert project.revision == first["revision"], "the third waits: it may depend on the second"
    broken["on"] = False
    again = post(client, root, *edits).json()["results"]
    assert [result["number"] for result in again if "error" not in result] == [1, 2, 3]
    lost = post(client, root, edit(4, {"act": "delete", "segments": ["@77"]}, nonce=nonce)).json()["results"][0]
    assert "never created" in lost["error"] and "failed" not in lost


def test_a_project_that_cannot_be_written_keeps_what_was_stored_before_and_asks_for_another_try(
    client, root, project, monkeypatch
):
    full = {"on": True}
    unfinish = Unfinish.apply

    def fill_disk(*arguments):
        if full["on"]:
            raise NotSaved("The disk is full.")
        return unfinish(*arguments)

    monkeypatch.setattr(Unfinish, "apply", fill_disk)
    edits = [edit(n, {"act": act, "bag": 1}, nonce="disk-is-full") for n, act in ((1, "finish"), (2, "unfinish"))]
    assert [result["number"] for result in post(client, root, *edits).json()["results"]] == [1]
    refused = post(client, root, edits[1])
    assert refused.status_code == 503 and refused.json() == {"error": "The disk is full."}
    full["on"] = False
    assert [result["number"] for result in post(client, root, *edits).json()["results"]] == [1, 2]


@pytest.mark.parametrize(
    "body",
    [
        b'{"edits": ' + b"[" * 100_000,
        b'{"edits": [{"number": ' + b"9" * 5000 + b"}]}",
        b'\xff\xfe{"edits": []}',
        b'{"edits": [NaN]}',
    ],
    ids=["deep", "long number", "not utf-8", "nan"],
)
def test_a_body_that_is_no_json_is_refused(client, root, body):
    headers = {**KEY, "Content-Type": "application/json"}
    assert client.post(f"{root}/edits", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize(
    "act",
    [
        {"act": ["tag"]},
        {"act": "correct", "segments": [1]},
        {"act": "correct", "segments": [], "label": 1},
        {"act": "correct", "segments": {"1": 1}, "label": 1},
        {"act": "correct", "segments": [2**63], "label": 1},
        {"act": "correct", "segments": [-1], "label": 1},
        {"act": "correct", "segments": [True], "label": 1},
        {"act": "correct", "segments": [1], "label": -2.0},
        {"act": "correct", "segments": [1], "label": "@1.1.1"},
        {"act": "tag", "bag": 1, "class": 1, "value": 1.0},
        {"act": "tag", "bag": "1", "class": 1, "value": 1},
        {"act": "tag", "bag": 1, "class": 1, "value": 1, "confirm": "yes"},
        {"act": "draw", "bag": 1, "rings": [[[1, 2, 3]]]},
        {"act": "draw", "bag": 1, "rings": [[[1, "2"]]]},
        {"act": "draw", "bag": 1, "rings": [[[1, 1e300]]]},
        {"act": "finish", "bag": 1, "rest": ["absent"]},
        {"act": "add_class", "name": "half \ud800"},
        {"act": "add_class", "name": "zero \0"},
        {"act": "add_class", "name": 7},
        {"act": "undo", "bag": "1"},
        {"act": "delete", "segments": [1], "path": "/etc"},
    ],
)
def test_an_edit_with_a_wrong_field_is_refused_before_the_project_sees_it(client, root, act):
    sent = json.dumps({"edits": [edit(1, act, nonce="wrong-fields")]})
    response = client.post(f"{root}/edits", content=sent, headers={**KEY, "Content-Type": "application/json"})
    assert response.status_code == 400, response.text


def test_odd_numbers_in_addresses_and_headers_are_refused_or_ignored(client, root):
    for bag in (2**53, 2**63, "9" * 30, "9" * 6000, "٣", "-0", "1e3", "%00", "0x1"):
        for kind in ("bag", "image", "sound"):
            assert client.get(f"{root}/{kind}/{bag}", headers=KEY).status_code in (404, 410), bag
    sound = f"{root}/sound/1?start=1&end=2"
    huge = client.get(sound, headers={**KEY, "Range": "bytes=999999999999999999-"})
    assert huge.status_code == 416
    for odd in ("9" * 6000 + "-", "x-y", "0-1,5-6", "٣-", "--1"):
        header = {"Range": f"bytes={odd}".encode()}
        assert client.get(sound, headers={**KEY, **header}).status_code == 200, odd
    assert client.get(f"{root}/sound/1?start=0&end=10&factor=0.01", headers=KEY).status_code == 200
    assert client.get(f"{root}/news?since=%ff", headers=KEY).status_code == 400
    assert client.get(f"{root}/news?since=1&since=x", headers=KEY).status_code == 400


def test_requests_that_take_long_hold_up_neither_each_other_beyond_a_few_nor_an_edit(project):
    release, full = threading.Event(), threading.Event()
    lock = threading.Lock()
    working = {"now": 0, "most": 0}

    def slow(request, project):
        with lock:
            working["now"] += 1
            working["most"] = max(working["most"], working["now"])
            if working["now"] == 4:
                full.set()
        release.wait()
        with lock:
            working["now"] -= 1
        return Response(b"")

    routes = [
        Route("/{project}/slow", authorised_route(slow, at_once=4)),
        Route("/{project}/quick", authorised_route(lambda request, project: Response(b""))),
    ]
    key = open_projects.key_of(project.folder)
    with TestClient(Starlette(routes=routes)) as client, ThreadPoolExecutor(60) as people:
        asked = [people.submit(client.get, f"/{key}/slow", headers=KEY) for _ in range(60)]
        try:
            full.wait()
            assert client.get(f"/{key}/quick", headers=KEY).status_code == 200
        finally:
            release.set()
        assert {one.result().status_code for one in asked} == {200}
    assert working["most"] <= 4


def test_polls_have_the_server_look_for_edits_of_other_programs(client, root, project, monkeypatch):
    noted = []
    monkeypatch.setattr(repredict, "note_revision", lambda store, revision: noted.append((store, revision)))
    assert project.store.edits_noted_until is not None, "those made since the project was opened are found"
    for polled in ("news?since=0", "state"):
        assert client.get(f"{root}/{polled}", headers=KEY).status_code == 200
    assert noted == [(project.store, project.revision)] * 2


def test_edits_of_a_project_that_was_moved_stay_in_the_outbox(client, root, project):
    """503 means: nothing of it was stored, try again; and so it is stored once the files are back."""
    aside = project.folder.with_name("aside")
    note = edit(9000, {"act": "tag", "bag": 1, "class": 1, "value": 1})
    project.folder.rename(aside)
    try:
        responses = [post(client, root, note), client.get(f"{root}/news?since=0", headers=KEY)]
    finally:
        aside.rename(project.folder)
    assert [response.status_code for response in responses] == [503, 503]
    assert all("is gone" in response.json()["error"] for response in responses)
    assert post(client, root, note).json()["results"][0]["number"] == 9000
