"""The routes of the wall: lists, what is shown of segments, cut-outs in one response."""

from __future__ import annotations

import io
import json
import struct
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core.errors import BagtagError
from miml_core.segments.cutouts import HEIGHT, WIDTH
from pages.widgets import segment_selections as selections
from pages.widgets.app import open_projects
from pages.widgets.routes import bags, canvas_routes, wall
from pages.widgets.routes.auth import TOKEN
from pages.widgets.segment_selections import find_selection, keep_selection
from tests.browser.projects import picture_project, sound_project

KEY = {"X-Bagtag-Token": TOKEN}


@pytest.fixture(scope="module", params=["sound", "picture"])
def project(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wall") / "files"
    made = sound_project(folder, (12,)) if request.param == "sound" else picture_project(folder, n_pictures=1)
    made.close()
    return open_projects.open_once(made.folder)


@pytest.fixture(scope="module")
def get(project):
    root = f"/bagtag/{open_projects.key_of(project.folder)}"
    with TestClient(Starlette(routes=canvas_routes()), base_url="http://localhost:8501") as client:
        yield lambda path, **query: client.get(f"{root}/{path}", params=query, headers=KEY)


def unpack(content: bytes) -> tuple[dict[int, Image.Image], dict[str, str]]:
    (size,) = struct.unpack_from(">I", content)
    head, rest = json.loads(content[4 : 4 + size]), io.BytesIO(content[4 + size :])
    pictures = {segment: Image.open(io.BytesIO(rest.read(length))) for segment, length in head["pictures"]}
    assert rest.read() == b""
    return pictures, head["problems"]


def test_lists_of_all_classes_together_have_every_open_segment_once(get, project):
    sent = get("wall").json()
    assert sent["ids"] == [] and len(sent["classes"]) == len(project.classes.list())
    labels = [*(one["id"] for one in sent["classes"]), -2]
    shows = ("open", "unsure")
    lists = [get("wall", predicted=label, show=show).json()["ids"] for label in labels for show in shows]
    ids = [segment for each in lists for segment in each]
    assert sorted(ids) == list(range(1, 13))
    counts = [*(one["counts"] for one in sent["classes"]), sent["background"]]
    assert sum(one[show] for one in counts for show in shows) == 12
    first = labels[0]
    assert get("wall", predicted=first, order="sure").json()["ids"] == get("wall", predicted=first).json()["ids"][::-1]


def test_a_kept_selection_is_a_wall_with_its_title(get, project):
    token = keep_selection(project, "Lasso: 3 segments", [7, 2, 5])
    sent = get("wall", selection=token).json()
    assert (sent["title"], sent["ids"], sent["total"]) == ("Lasso: 3 segments", [7, 2, 5], 3)
    gone = get("wall", selection="unknown")
    assert gone.status_code == 404 and "create it again" in gone.json()["error"]
    with pytest.raises(BagtagError, match="at least one"):
        keep_selection(project, "Lasso", [])


def test_the_oldest_selections_are_let_go(project, monkeypatch):
    monkeypatch.setattr(selections, "_MOST", 2)
    tokens = [keep_selection(project, "Lasso", [1]) for _ in range(3)]
    assert [find_selection(project, token) is not None for token in tokens] == [False, True, True]


def test_items_are_those_asked_for(get):
    items = get("wall/items", ids="5,2,99").json()["items"]
    assert [one["id"] for one in items] == [5, 2]
    assert items[0]["guesses"][0][1] >= items[0]["guesses"][-1][1] and items[0]["label"] is None


def test_the_wall_and_the_editor_send_the_same_probability_and_never_round_it_up_to_a_threshold(project):
    probabilities = {1: 0.8996, 2: 0.1004}
    (item,) = project.review.wall_items([3])
    segment = project.segments.get(3)
    segment = replace(segment, prediction=replace(segment.prediction, probabilities=probabilities))
    of_wall = wall._item(replace(item, guesses=list(probabilities.items())))["guesses"]
    assert of_wall == bags._segment(segment, project.kind, {})["guesses"] == [[1, 0.899], [2, 0.1]]


def test_cut_outs_show_the_segment_and_come_from_the_cache_again(get, project):
    pictures, problems = unpack(get("wall/cutouts", ids="3,1,99").content)
    assert set(pictures) == {1, 3} and problems == {}
    assert {picture.size for picture in pictures.values()} == {(WIDTH, HEIGHT)}
    light = np.asarray(pictures[1].convert("L"), dtype=float)
    middle = light[HEIGHT // 4 : -HEIGHT // 4, WIDTH // 5 : -WIDTH // 5]
    assert middle.std() > 10, "something is to be seen in the middle"
    kept = sorted((project.folder / "cache" / "cutouts").iterdir())
    assert len(kept) >= 2
    kept[0].write_bytes(b"not a picture")
    again, _ = unpack(get("wall/cutouts", ids="3,1").content)
    assert all(np.array_equal(np.asarray(again[one]), np.asarray(pictures[one])) for one in (1, 3))


def test_a_large_view_of_one(get, project):
    sent = get("wall/large/1")
    assert sent.status_code == 200
    size = Image.open(io.BytesIO(sent.content)).size
    assert size == ((640, 480) if project.kind == "picture" else (WIDTH, HEIGHT))
    assert get("wall/large/99").status_code == 404


def test_a_missing_file_is_a_problem_of_its_segments_only(get, project):
    path = project.media.path(1)
    hidden = path.with_suffix(".hidden")
    path.rename(hidden)
    try:
        pictures, problems = unpack(get("wall/cutouts", ids="8").content)
        assert pictures == {} and path.name in problems["8"]
    finally:
        hidden.rename(path)


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("wall", {"predicted": "x"}),
        ("wall", {"predicted": "1", "order": "backwards"}),
        ("wall", {"predicted": "1", "show": "none"}),
        ("wall/items", {}),
        ("wall/items", {"ids": "1,,2"}),
        ("wall/cutouts", {"ids": ",".join(map(str, range(1, 30)))}),
    ],
)
def test_other_requests_are_refused(get, path, query):
    assert get(path, **query).status_code == 400
