"""Exactly once: workers, scheduler and the command itself are killed, and the data set is the same in the end."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

pytest.importorskip("distributed", reason="needs Dask (make cluster)")

import dask
from distributed import CancelledError, Client, KilledWorker, LocalCluster
from distributed.utils import get_mp_context

from miml_core.archive import cluster as dask_cluster
from miml_core.archive import run
from miml_core.archive.bundle import read_bundle
from miml_core.archive.cluster import LostCluster, run_bounded
from miml_core.archive.reading import summarise
from miml_core.archive.run import ApplyOptions, apply_model
from tests.archive.conftest import N_PER_SITE
from tests.archive.dying_workers import MOMENTS, DyingWorkers, end_process, serve_tasks
from tests.archive.test_apply import content
from tests.conftest import PATIENCE, ROOT
from tests.project import processes

pytestmark = pytest.mark.slow

TASK_SECONDS = 10.0
IMPORTED = [
    "distributed.nanny",
    "pyarrow.parquet",
    "soundfile",
    "miml_core.archive.work",
    "miml_core.features.acoustic_kernels",
    "miml_core.instances",
    "miml_core.models.ored_lr",
    "miml_core.segments.acoustic_kernels",
]


@pytest.fixture(scope="module", autouse=True)
def _quick_workers() -> Iterator[None]:
    """Let Dask fork its workers from a process that has imported everything: a dozen are killed and started again."""
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        get_mp_context().set_forkserver_preload(IMPORTED)
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with two workers, which are started again when they die."""
    is_over = threading.Event()

    def start_lost_workers(client: Client) -> None:
        while not is_over.wait(1.0):
            dask_cluster._start_lost_workers(client)

    # Dask gives up a worker that cannot connect in time.
    with (
        dask.config.set({"distributed.comm.timeouts.connect": f"{PATIENCE} s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            scheduler_kwargs={"allowed_failures": 1},
        ) as found,
        Client(found) as client,
    ):
        keeper = threading.Thread(target=start_lost_workers, args=(client,))
        keeper.start()
        yield found.scheduler_address
        is_over.set()
        keeper.join()


@pytest.fixture(scope="module")
def expected(bundle_file, survey, tmp_path_factory, cluster) -> dict[str, bytes]:
    """The data set of a run without interruptions."""
    archive = tmp_path_factory.mktemp("expected") / "archive"
    apply_model(bundle_file, [survey], archive, options(cluster))
    return content(archive)


def options(address: str) -> ApplyOptions:
    return ApplyOptions(scheduler=address, task_seconds=TASK_SECONDS)


@contextmanager
def connect_threads() -> Iterator[Client]:
    """A scheduler and a worker in this process."""
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as found,
        Client(found) as client,
    ):
        yield client


def wait_for(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def test_killed_workers(bundle_file, survey, tmp_path, cluster, expected):
    moments = tmp_path / "moments"
    moments.mkdir()
    with Client(cluster) as client:
        client.register_plugin(DyingWorkers(moments))  # harmless once all moments have come
        done = apply_model(bundle_file, [survey], tmp_path / "archive", options(cluster))
        client.unregister_worker_plugin(DyingWorkers.name)
    assert sorted(path.name for path in moments.iterdir()) == sorted(MOMENTS)
    assert content(tmp_path / "archive") == expected and len(done.failures) == 1


def test_killed_command(bundle_file, survey, tmp_path, cluster, expected):
    archive = tmp_path / "archive"
    code = (
        "import sys, signal; from pathlib import Path; from miml_core.archive.run import ApplyOptions, apply_model\n"
        "def stay(now):\n"
        "    if now.segments:\n"
        "        signal.pause()\n"
        "if __name__ == '__main__':\n"
        f"    apply_model(Path(sys.argv[1]), [Path(sys.argv[2])], Path(sys.argv[3]),"
        f" ApplyOptions(workers=1, task_seconds={TASK_SECONDS}), stay)"
    )
    script = tmp_path / "command.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(bundle_file), str(survey), str(archive)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        wait_for(lambda: len(list(archive.glob("clips/*/*/*.parquet"))) >= 2)
        family = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGKILL)  # with it ends the scheduler, which is in this process
        process.wait()
    wait_for(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family))
    partial = content(archive)
    assert len(partial) < len(expected)
    done = apply_model(bundle_file, [survey], archive, options(cluster))
    assert content(archive) == expected and done.done_before > 0
    assert not list(archive.rglob(".writing-*"))


def test_killed_scheduler(bundle_file, survey, tmp_path, cluster, expected):
    archive, file = tmp_path / "archive", tmp_path / "scheduler.json"
    scheduler = processes.start(serve_tasks, str(file))
    try:
        wait_for(lambda: file.exists() and file.read_text().endswith("}"))
        address = json.loads(file.read_text())["address"]

        def kill_scheduler(now: run.ApplyProgress) -> None:
            if now.segments:
                scheduler.kill()

        with pytest.raises(LostCluster, match="it continues"):
            apply_model(bundle_file, [survey], archive, options(address), kill_scheduler)
    finally:
        scheduler.kill()
        scheduler.join()
    assert len(content(archive)) < len(expected)
    apply_model(bundle_file, [survey], archive, options(cluster))
    assert content(archive) == expected


def test_a_file_that_ends_its_process(bundle_file, survey, tmp_path, cluster, expected, monkeypatch):
    monkeypatch.setattr(run, "do_task", end_process)
    monkeypatch.setattr(run, "do_stretch", end_process)
    done = apply_model(bundle_file, [survey], tmp_path / "archive", options(cluster))
    found = summarise(tmp_path / "archive", read_bundle(bundle_file).id)
    killing = [reason for file, reason in found.failures if file == "survey/marsh/20240503_020000.wav"]
    assert len(killing) == 1 and "the worker process crashed on it" in killing[0]
    assert found.files == 2 * N_PER_SITE - 1 and done.files == done.of_files
    monkeypatch.undo()
    apply_model(bundle_file, [survey], tmp_path / "archive", options(cluster))
    assert content(tmp_path / "archive") == expected


def test_workers_that_dask_gives_up_are_started_again(monkeypatch):
    monkeypatch.setattr(dask_cluster, "_LOOK_SECONDS", 0.1)
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "100ms"}),
        dask_cluster.connect(workers=1) as client,
    ):
        (starter,) = client.cluster.workers.values()
        client.cluster.sync(starter.close)
        assert list(run_bounded(client, abs, [-1, -2], key=str)) == [(-1, 1), (-2, 2)]


class EndedTask:
    """A task whose status changed after Dask said that it ended, as when its worker dies at that moment."""

    def __init__(self, outcome: object, status: str):
        self.outcome, self.status = outcome, status

    def result(self, timeout: float) -> object:
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def test_what_counts_is_the_result_that_arrived_not_the_status_of_the_moment(monkeypatch):
    error = ValueError("bad file")
    client = SimpleNamespace(cluster=None)
    for status in ("finished", "lost", "error", "cancelled"):
        assert dask_cluster._result(EndedTask(7, status), client) == 7
    assert dask_cluster._result(EndedTask(error, "error"), client) is error
    assert dask_cluster._result(EndedTask(CancelledError("forgotten"), "cancelled"), client) is None
    assert isinstance(dask_cluster._result(EndedTask(TimeoutError("a slow disk"), "error"), client), TimeoutError)
    monkeypatch.setattr(dask_cluster, "_ALONE_SECONDS", 0.0)
    assert dask_cluster._result(EndedTask(TimeoutError("not delivered"), "finished"), client) is None
    killed = KilledWorker("task", SimpleNamespace(address="tcp://10.0.0.1:1"), 2)
    assert isinstance(dask_cluster._result(EndedTask(killed, "error"), client), dask_cluster.LostProcess)
    with pytest.raises(OSError, match="scheduler"):
        dask_cluster._result(EndedTask(OSError("no scheduler"), "lost"), client)


def test_few_tasks_are_known_to_the_scheduler_at_a_time(cluster):
    taken = []

    def numbers() -> Iterator[int]:
        for number in range(200):
            taken.append(number)
            yield number

    with Client(cluster) as client:
        most = 0
        for count, (number, result) in enumerate(run_bounded(client, abs, numbers(), key=lambda one: f"abs-{one}")):
            assert number == result
            most = max(most, len(taken) - count)
    assert len(taken) == 200 and most <= 2 * dask_cluster.PER_WORKER + 1


def test_without_workers_nothing_hangs_and_processes_of_this_computer_are_started_again(
    bundle_file, survey, tmp_path, expected, monkeypatch
):
    monkeypatch.setattr(dask_cluster, "_ALONE_SECONDS", 0.3)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, silence_logs=logging.CRITICAL) as empty,
        Client(empty) as client,
        pytest.raises(LostCluster, match="no workers left"),
    ):
        next(run_bounded(client, abs, [1], key=str))
    started = []

    def connect_once_more(scheduler: str | None, workers: int | None) -> Any:
        started.append(workers)
        return connect_threads()

    def lose_the_first(client: Any, work: Any, items: Any, *arguments: Any, key: Any) -> Any:
        for number, found in enumerate(run_bounded(client, work, items, *arguments, key=key)):
            yield found
            if len(started) == 1 and number == 2:
                raise LostCluster("lost")

    monkeypatch.setattr(dask_cluster, "_ALONE_SECONDS", 60.0)
    monkeypatch.setattr(run, "connect", connect_once_more)
    monkeypatch.setattr(run, "run_bounded", lose_the_first)
    apply_model(bundle_file, [survey], tmp_path / "archive", ApplyOptions(task_seconds=TASK_SECONDS))
    assert content(tmp_path / "archive") == expected and len(started) == 2
