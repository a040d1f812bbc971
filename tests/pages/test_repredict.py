"""Predicting bags again after edits: once per pause, one at a time, and never twice for one bag in the queue."""

from __future__ import annotations

import threading
from pathlib import Path

from pages.widgets import repredict


class Predicted:
    """A project that notes which bags were predicted, and can be held at the first."""

    folder = Path("/nowhere")

    def __init__(self) -> None:
        self.bags: list[int] = []
        self.begun, self.go_on, self.all_done = threading.Event(), threading.Event(), threading.Event()

    def predict_bag(self, bag_id: int) -> int:
        self.begun.set()
        assert self.go_on.wait(60)
        self.bags.append(bag_id)
        if bag_id == 9:
            self.all_done.set()
        if bag_id == 3:
            raise RuntimeError("whatever goes wrong with one bag, the others follow")
        return 1


def test_bags_wait_in_one_queue_each_once(monkeypatch, caplog):
    monkeypatch.setattr(repredict, "PAUSE", 0.0)
    project = Predicted()
    repredict.repredict_soon(project, 1)
    assert project.begun.wait(60)
    n_threads = threading.active_count()
    for bag in (2, 3, 2, 3, 2, 9):
        repredict.repredict_soon(project, bag)
    assert threading.active_count() == n_threads
    project.go_on.set()
    assert project.all_done.wait(60)
    assert sorted(project.bags) == [1, 2, 3, 9]
