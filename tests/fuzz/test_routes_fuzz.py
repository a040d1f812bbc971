"""Random requests and edits, with a fixed seed: nothing breaks a route, a project, or writes anywhere else."""

from __future__ import annotations

import json
import logging
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from miml_core.project import CannotUndo, Project
from miml_core.project.jobs import repredict
from pages.widgets.app import open_projects
from pages.widgets.app.server import middleware
from pages.widgets.routes import assets, canvas_routes
from pages.widgets.routes.auth import LISTEN_TOKEN, TOKEN
from tests.browser.projects import picture_project, sound_project

pytestmark = pytest.mark.slow

SEED = 9
REQUESTS = 800
BATCHES = 150
JSON = {"X-Bagtag-Token": TOKEN, "Content-Type": "application/json"}
ODD: list[Any] = [
    None, True, False, 0, -1, -2, 1, 2**31, 2**53 - 1, 2**53, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "1", "@", "@1", "@1.0", "@99", "@1.9", "@-1", "@" + "9" * 40, "null", "../..",
    "/etc/passwd", "a\0b", "\ud800",
    "<img src=x onerror=alert(1)>", "é" * 300, "x" * 5000, [], [[]], [[[]]], [None], {}, {"act": "undo"},
    [1, "@1", None],
]  # fmt: skip
WORDS = ["0", "-1", "1", "2", "999", "1.5", "1e309", "nan", "inf", "", "x", "%00", "%ff", "%2e%2e%2f", "9" * 25,
         "9" * 5000, "٣", "preview-0", "..;", "1_0", "+1", " 1", "0x10", "%F0%9F%90%A6"]  # fmt: skip
ACTS = ["tag", "finish", "unfinish", "nothing_here", "correct", "accept", "accept_bag", "draw", "redraw", "merge",
        "split", "delete", "undo", "redo", "add_class"]  # fmt: skip


class Fuzz:
    """Makes requests and edits about one project."""

    def __init__(self, project: Project, client: TestClient, chance: random.Random) -> None:
        self.project, self.client, self.chance = project, client, chance
        self.root = f"/bagtag/{open_projects.key_of(project.folder)}"
        self.numbers = {f"fuzzing-screen-{n}": 0 for n in range(3)}

    # requests

    def request(self) -> tuple[str, int]:
        """Send one odd request; returns what it was and the status."""
        pick = self.chance.choice
        path = pick(["news", "bag/{}", "image/{}", "sound/{}", "preview/{}", "edits", "{}", "bag/{}/{}"])
        path = f"{self.root}/" + path.replace("{}", pick(WORDS), 1).replace("{}", pick(WORDS))
        if self.chance.random() < 0.15:
            file = pick([*WORDS, "canvas.js", "canvas.css"])
            path = pick([f"/bagtag/{pick(WORDS)}/bag/1", f"/bagtag/assets/{pick([assets.version(), 'x'])}/{file}"])
        names = ["since", "start", "end", "factor", "low", "high", "v", "t", "x"]
        query = "&".join(f"{pick(names)}={pick([*WORDS, LISTEN_TOKEN])}" for _ in range(self.chance.randrange(5)))
        headers = {"X-Bagtag-Token": pick([TOKEN] * 9 + ["guess"]), **self._headers()}
        method = pick(["GET"] * 6 + ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
        body = pick([None, b"", b"{}", b"\xff\xfe", b"[" * 3000, b'{"edits": 1}', b"x" * 300_000])
        response = self.client.request(method, f"{path}?{query}", headers=headers, content=body)
        return f"{method} {path}?{query} {headers}"[:500], response.status_code

    def _headers(self) -> dict[str, Any]:
        pick = self.chance.choice
        odd = {
            "Range": pick(["bytes=0-", "bytes=-1", "bytes=5-2", "bytes=99999999999999999999-",
                           "bytes=" + "9" * 5000 + "-", "items=1", "bytes=0-1,4-5", b"bytes=\xd9\xa3-"]),
            "If-None-Match": pick(["*", '"x"', "", "\xff"]),
            "If-Range": pick(['"x"', "Tue, 15 Nov 1994 12:45:26 GMT"]),
            "Content-Type": pick(["application/json", "text/plain", "application/json; charset=utf-16", ""]),
            "Origin": pick(["http://localhost:8501", "null", "http://evil.example"]),
            "Host": pick(["localhost:8501", "evil.example", "[::1]:8501", "localhost:x"]),
            "Sec-Fetch-Site": pick(["same-origin", "cross-site", "?"]),
        }  # fmt: skip
        chosen = self.chance.sample(sorted(odd), self.chance.choice([0, 0, 1, 1, 2]))
        return {name: odd[name] if isinstance(odd[name], bytes) else odd[name].encode("latin-1") for name in chosen}

    # edits

    def post(self) -> tuple[str, int, list[dict[str, Any]]]:
        """Send one batch; returns it, the status and the results."""
        nonce = self.chance.choice(sorted(self.numbers))
        edits = [self._edit(nonce) for _ in range(self.chance.choice([1, 1, 2, 5]))]
        if self.chance.random() < 0.3:
            self._spoil(self.chance.choice(edits))
        body = json.dumps({"edits": edits})
        if self.chance.random() < 0.05:
            place = self.chance.randrange(len(body))
            body = body[:place] + self.chance.choice(["", "]", '"', "\\u0000", "1e999"]) + body[place + 1 :]
        response = self.client.post(f"{self.root}/edits", content=body.encode(), headers=JSON)
        return body[:2000], response.status_code, response.json().get("results", [])

    def _edit(self, nonce: str) -> dict[str, Any]:
        repeated = self.numbers[nonce] and self.chance.random() < 0.05
        self.numbers[nonce] += not repeated
        bag = self.chance.choice(self.project.bags.ids())
        who = self.chance.choice(["Ann", "Ben", ""])
        seen = self.chance.randrange(self.project.revision + 2)
        return {"nonce": nonce, "number": self.numbers[nonce], "bag": bag, "annotator": who, "seen": seen,
                "act": self._act(bag, nonce)}  # fmt: skip

    def _act(self, bag: int, nonce: str) -> dict[str, Any]:
        chance = self.chance
        ids: list[Any] = [segment.id for segment in self.project.segments.list(bag, predictions=False)] or [1]
        ids += [f"@{chance.randrange(1, self.numbers[nonce] + 2)}", chance.randrange(1, 500)]
        classes: list[Any] = [one.id for one in self.project.classes.list()] + [99]
        act: dict[str, Any] = {"act": chance.choice(ACTS), "bag": bag, "segment": chance.choice(ids)}
        act |= {"segments": chance.choices(ids, k=chance.choice([1, 1, 2, 3])), "class": chance.choice(classes)}
        act |= {"label": chance.choice([None, -2, *classes]), "value": chance.choice([-1, 0, 1])}
        act |= {"rest": chance.choice(["absent", "unknown"]), "confirm": chance.random() < 0.7, "sampled": False}
        act |= {"sure_from": chance.choice([0, 0.5, 1])}
        act |= {"name": chance.choice(["Wren", " wren ", "New one", f"Class {chance.randrange(9)}", " ", "=1+1"])}
        act |= {"rings": [self._line() for _ in range(chance.choice([1, 1, 2]))], "line": self._line()}
        fields = {
            "tag": "bag class value confirm", "finish": "bag rest", "unfinish": "bag", "nothing_here": "bag confirm",
            "correct": "segments label sampled", "accept": "segments sampled", "accept_bag": "bag sure_from",
            "draw": "bag rings label", "redraw": "segment rings", "merge": "segments", "split": "segment line",
            "delete": "segments", "undo": "bag", "redo": "bag", "add_class": "name",
        }[act["act"]]  # fmt: skip
        return {name: act[name] for name in ["act", *fields.split()]}

    def _line(self) -> list[list[float]]:
        chance = self.chance
        width, height = (10.0, 22_050.0) if self.project.kind == "sound" else (900.0, 600.0)
        scale = chance.choice([0.05, 0.3, 1.0, 1.0, 50.0])
        x, y = chance.uniform(-0.1, 1.1) * width, chance.uniform(-0.1, 1.1) * height
        n = chance.choice([1, 2, 3, 4, 12, 200])
        return [[x + scale * width * chance.gauss(0, 0.3), y + scale * height * chance.gauss(0, 0.3)] for _ in range(n)]

    def _spoil(self, edit: dict[str, Any]) -> None:
        """Replace, add or drop a field of an edit, its act, or something inside."""
        place = self.chance.choice([edit, edit["act"]])
        name = self.chance.choice([*place, "extra"])
        value = self.chance.choice(ODD)
        inside = place.get(name)
        if self.chance.random() < 0.2:
            place.pop(name, None)
        elif isinstance(inside, list) and self.chance.random() < 0.5:
            inside[self.chance.randrange(len(inside))] = value
        else:
            place[name] = value


@pytest.fixture(params=["sound", "picture"])
def project(request, tmp_path: Path) -> Project:
    if request.param == "sound":
        made = sound_project(tmp_path / "media", (5, 12))
    else:
        made = picture_project(tmp_path / "media")
    made.close()
    return open_projects.open_once(made.folder)


@pytest.fixture
def fuzz(project: Project, tmp_path: Path, monkeypatch) -> Iterator[Fuzz]:
    monkeypatch.setattr(repredict, "PAUSE_S", 0.0)
    for name in ("HOME", "BAGTAG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    app = Starlette(routes=canvas_routes(), middleware=middleware())
    with TestClient(app, base_url="http://localhost:8501", raise_server_exceptions=False) as client:
        yield Fuzz(project, client, random.Random(SEED))
        while repredict._waiting:
            time.sleep(0.01)


def files_beside(project: Project) -> set[Path]:
    """Every file near the project that is not the project's."""
    everything = project.folder.parents[1].rglob("*")
    return {path for path in everything if not path.is_relative_to(project.folder)}


def state_of(project: Project) -> Any:
    bags = [project.bags.get(bag) for bag in project.bags.ids()]
    shown = [[(s.id, s.outline, s.label) for s in project.segments.list(bag.id, predictions=False)] for bag in bags]
    return (
        shown,
        [(bag.tags, bag.finished, bag.rest_unknown) for bag in bags],
        [one.name for one in project.classes.list()],
    )


def test_no_request_breaks_a_route(fuzz: Fuzz, caplog) -> None:
    before = files_beside(fuzz.project)
    state = state_of(fuzz.project)
    seen = set()
    for _ in range(REQUESTS):
        sent, status = fuzz.request()
        assert status < 500, sent
        seen.add(status)
    assert {200, 400, 401, 403, 404, 410} <= seen, "the odd requests reach every check"
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert files_beside(fuzz.project) == before and state_of(fuzz.project) == state


def test_no_edits_break_a_project(fuzz: Fuzz, caplog) -> None:
    project = fuzz.project
    before = files_beside(project)
    known = project.check()  # the run of this project has no model file
    stored, refused, unread = 0, 0, 0
    for batch in range(BATCHES):
        sent, status, results = fuzz.post()
        assert status in (200, 400, 413), (status, sent)
        assert not any(result.get("failed") for result in results), (results, sent)
        stored += sum("error" not in result for result in results)
        refused += sum("error" in result for result in results)
        unread += status == 400
        if batch % 50 == 49:
            assert project.check() == known, sent
    assert min(stored, refused, unread) > 30, "edits that are valid, refused and unreadable all came up"
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert_undo_and_redo(project)
    assert project.check() == known
    assert files_beside(project) == before


def assert_undo_and_redo(project: Project) -> None:
    """What a person undoes and does again leaves the project as it was, as far back as nothing later stands on it."""
    undone = 0
    for who in ("Ann", "Ben", ""):
        last = state_of(project)
        steps = 0
        while steps < 40:
            try:
                project.edits.undo(annotator=who)
            except CannotUndo:
                break
            steps += 1
        for _ in range(steps):
            project.edits.redo(annotator=who)
        assert state_of(project) == last, who
        undone += steps
    assert undone, "there was something to undo"
