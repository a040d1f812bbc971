"""Thirty annotators at one edit per second each, while a training and a segmentation run in the same project.

The annotators are threads that post edits to the real server, each over a connection of its own and in its own bags.
The time of an edit runs from the moment it was due to the server's response that it is on disk, so that waiting behind
an earlier edit counts. Afterwards every acknowledged edit is looked up in the database. Aims: no edit lost or refused,
99 % acknowledged within 500 ms. The same without jobs is measured first, as the base of the ratio.
"""

from __future__ import annotations

import http.client
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import select

from miml_core.project import Project
from miml_core.project.db.schema import edits
from tests.browser.conftest import ROOT, Server
from tests.browser.projects import sound_project

ANNOTATORS = 30
N_BAGS, PER_BAG = 60, 60
SECONDS, BASE_SECONDS = 120.0, 30.0
AIM_MS = 500.0
_PATIENCE = 60.0
"""Seconds after which an edit without a response counts as refused."""


@dataclass
class Annotator:
    """One person: two bags of their own, in each a segment they drew, which finding segments again does not remove."""

    number: int
    bags: list[int]
    segments: list[int]
    nonce: str
    sent: int = 0
    acknowledged: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def edit(self) -> dict[str, Any]:
        place = self.sent % 2
        value, label = (1, -1, 0)[self.sent % 3], 1 + self.sent % 3
        act: dict[str, Any] = {"act": "tag", "bag": self.bags[place], "class": 4 + self.sent % 3, "value": value}
        if self.sent % 4 > 1:
            act = {"act": "correct", "segments": [self.segments[place]], "label": label}
        return {
            "nonce": self.nonce,
            "number": self.sent,
            "bag": self.bags[place],
            "annotator": f"annotator {self.number}",
            "act": act,
        }


def run(seconds: float = SECONDS, watch: bool = False) -> None:
    """Print the figures; `watch` lets every annotator also ask for news and for changed bags, as the canvas does."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["BAGTAG_STATE"] = str(folder / "state")
        project = sound_project(folder / "sound", (PER_BAG,) * N_BAGS)
        drawn = {bag: _draw(project, bag) for bag in range(1, 2 * ANNOTATORS + 1)}
        access_file = folder / "access.json"
        env = {
            "BAGTAG_HOME": str(folder / "home"),
            "BAGTAG_LOAD_PROJECT": str(project.folder),
            "BAGTAG_LOAD_FILE": str(access_file),
        }
        server = Server(ROOT / "benchmarks" / "load_server.py", env, folder / "server.log").start()
        try:
            access = json.loads(access_file.read_text())
            base = _measure(server, access, project, drawn, "without jobs", min(seconds, BASE_SECONDS), watch)
            with _jobs_running(project) as ended:
                busy = _measure(server, access, project, drawn, "with jobs", seconds, watch)
            counts = ", ".join(f"{kind} {ended.count(kind)}" for kind in sorted(set(ended)))
            print(f"jobs ended meanwhile: {counts or 'none'}")
            print(f"p99 with jobs is {busy / base:.1f} x that without; aim: below {AIM_MS:.0f} ms")
        finally:
            server.kill()
            project.close()


def _draw(project: Project, bag: int) -> int:
    left = 9.5
    made = project.edits.draw(bag, [[(left, 200.0), (left + 0.4, 200.0), (left + 0.4, 900.0), (left, 900.0)]])
    return made.created[0]


def _measure(
    server: Server,
    access: dict[str, str],
    project: Project,
    drawn: dict[int, int],
    what: str,
    seconds: float,
    watch: bool,
) -> float:
    """Let all annotators work, check what is stored and print; return the 99th percentile in ms."""
    people = []
    for number in range(ANNOTATORS):
        bags = [2 * number + 1, 2 * number + 2]
        nonce = f"{what.replace(' ', '-')}-{number:04d}"
        people.append(Annotator(number, bags, [drawn[bag] for bag in bags], nonce))
    began, computed = time.monotonic() + 1.0, _cpu_seconds(server)
    works = [_work, _watch] if watch else [_work]
    threads = [
        threading.Thread(target=work, args=(one, server.port, access, began, seconds))
        for work in works
        for one in people
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with project.store.read() as connection:
        stored = {tuple(row) for row in connection.execute(select(edits.c.nonce, edits.c.number))}
    lost = sum((one.nonce, number) not in stored for one in people for number in one.acknowledged)
    computed = _cpu_seconds(server) - computed
    times = 1000 * np.array([time_ for one in people for time_ in one.times])
    refused = [reason for one in people for reason in one.refused]
    shares = " ".join(f"p{share:g} {np.percentile(times, share):.0f}" for share in (50, 95, 99))
    print(
        f"{what}: {sum(one.sent for one in people)} sent, {len(times)} acknowledged, {len(refused)} refused, "
        f"{lost} lost; ms: {shares} max {times.max():.0f}; "
        f"the server computed {1000 * computed / len(times):.0f} ms per edit",
        flush=True,
    )
    for reason in sorted(set(refused))[:3]:
        print(f"  refused: {reason}")
    return float(np.percentile(times, 99))


def _cpu_seconds(server: Server) -> float:
    """Return the processor seconds of the server so far; 0 where the system does not report it."""
    number = server.process.pid if server.process else 0
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(one: Annotator, port: int, access: dict[str, str], began: float, seconds: float) -> None:
    """Post an edit per second, each annotator at another part of the second."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    headers = {"X-Bagtag-Token": access["token"], "Content-Type": "application/json"}
    due = began + one.number / ANNOTATORS
    while due < began + seconds:
        time.sleep(max(due - time.monotonic(), 0.0))
        edit = one.edit()
        one.sent += 1
        try:
            connection.request("POST", f"/bagtag/{access['key']}/edits", json.dumps({"edits": [edit]}), headers)
            response = connection.getresponse()
            body = response.read()
            result = json.loads(body)["results"][0] if response.status == 200 else {"error": body.decode()}
        except (OSError, http.client.HTTPException) as error:
            result = {"error": repr(error)}
            connection.close()
        if "error" in result:
            one.refused.append(result["error"])
        else:
            one.acknowledged.append(edit["number"])
            one.times.append(time.monotonic() - due)
        due += 1.0
    connection.close()


def _watch(one: Annotator, port: int, access: dict[str, str], began: float, seconds: float) -> None:
    """Ask for news every second, and for the own bag when it changed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    headers = {"X-Bagtag-Token": access["token"]}
    since, due = 0, began + 0.5 + one.number / ANNOTATORS

    def fetch(path: str) -> Any:
        connection.request("GET", f"/bagtag/{access['key']}/{path}", headers=headers)
        return json.loads(connection.getresponse().read())

    while due < began + seconds:
        time.sleep(max(due - time.monotonic(), 0.0))
        news = fetch(f"news?since={since}")
        since = news["revision"]
        for bag in set(one.bags) & set(news["bags"]):
            fetch(f"bag/{bag}")
        due += 1.0
    connection.close()


@contextmanager
def _jobs_running(project: Project) -> Iterator[list[str]]:
    """Keep a training and a segmentation of all bags running; yields the kinds of those that ended."""
    kinds: dict[str, dict[str, Any]] = {"train": {"warm_start": False}, "segment": {"again": True, "scope": "all"}}
    ended: list[str] = []
    over = threading.Event()

    def keep_up(kind: Any) -> None:
        while not over.is_set():
            job = project.jobs.start(kind, kinds[kind])
            while job.active and not over.wait(0.2):
                job = project.jobs.get(job.id)
            if job.active:
                project.jobs.cancel(job.id)
                project.jobs.wait(job.id, timeout=_PATIENCE)
            elif job.state == "done":
                ended.append(kind)
            else:
                raise RuntimeError(f"The {kind} job ended as {job.state}: {job.message}")

    threads = [threading.Thread(target=keep_up, args=(kind,)) for kind in kinds]
    for thread in threads:
        thread.start()
    try:
        yield ended
    finally:
        over.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    run()
