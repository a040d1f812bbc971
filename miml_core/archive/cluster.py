"""Run many small tasks on Dask: on the cores of this computer, or on a cluster that exists already."""

from __future__ import annotations

import logging
import os
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from miml_core import __version__
from miml_core.errors import BagtagError
from miml_core.extras import install_command

if TYPE_CHECKING:
    from distributed import Client, Future, as_completed

Item = TypeVar("Item")
Result = TypeVar("Result")

PER_WORKER = 6
"""Tasks per core that the scheduler knows at a time: no worker waits, and a list of any length does not pile up."""
_ATTEMPTS = 5
_WAIT_SECONDS = 60
_ALONE_SECONDS = 180.0
"""How long tasks may wait without any worker: one that died is started again within seconds, on a busy computer later.
Dask itself waits forever, also if it failed to start a worker again."""
_LOOK_SECONDS = 5.0
_DASHBOARD = "127.0.0.1:8787"


class LostCluster(BagtagError):
    """The scheduler or all workers ended; what is done is stored."""


class LostProcess(Exception):
    """The processes that worked on a task ended, several times."""


def is_installed() -> bool:
    """Return whether Dask and pyarrow, which come with the extra `cluster`, are installed; imports nothing."""
    return all(find_spec(name) is not None for name in ("distributed", "pyarrow"))


@contextmanager
def connect(scheduler: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Yield a client of Dask.

    Parameters
    ----------
    scheduler : str, optional
        Address of a scheduler, such as "tcp://10.0.0.1:8786". By default one process per core of this computer is
        started, which only this process can reach (TLS with keys made for the purpose).
    workers : int, optional
        Number of processes on this computer.

    Raises
    ------
    BagtagError
        Dask is not installed, the scheduler is not reachable or has no workers, or these have another Bagtag.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise BagtagError(f"Dask is not installed; install it with `{install_command('cluster')}`.") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what is lost is done again, and is no news
    if scheduler is not None:
        with _client(Client, scheduler) as client:
            _check_workers(client)
            yield client
        return
    # If another program has the dashboard's port, Dask takes a free one; `client.dashboard_link` has its address.
    warnings.filterwarnings("ignore", r"Port \d+ is already in use")
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),  # takes some percent of the time
        LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            security=True,
            dashboard_address=_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run_bounded(
    client: Client | None,
    work: Callable[..., Result],
    items: Iterable[Item],
    *arguments: Any,
    key: Callable[[Item], str],
) -> Iterator[tuple[Item, Result | Exception]]:
    """Yield each item with the result of `work(item, *arguments)`, which is not None, or with an exception.

    They come as they are ready. Only a few items per worker are taken ahead of the work: `items` may be of any length.
    Without a client the work is done in this process.

    Raises
    ------
    LostCluster
        The scheduler ended, or there have been no workers for minutes.
    """
    if client is None:
        yield from _run_here(work, items, *arguments)
        return
    from distributed import as_completed

    remaining = iter(items)
    token = uuid.uuid4().hex[:8]  # another client may have asked for the same
    waiting: dict[Any, tuple[Item, int]] = {}
    ready = as_completed(loop=client.loop)

    def submit(item: Item, attempt: int) -> None:
        future = client.submit(work, item, *arguments, key=f"{key(item)}-{token}-{attempt}", pure=False)
        waiting[future.key] = (item, attempt)
        ready.add(future)

    def fill(limit: int) -> None:
        while len(waiting) < limit:
            try:
                submit(next(remaining), 0)
            except StopIteration:
                return

    limit, number = _limit(client), 0
    try:
        fill(limit)
        while batch := _next_batch(ready, client):
            for future in batch:
                result = _result(future, client)
                item, attempt = waiting.pop(future.key)
                future.release()
                if result is None:
                    if attempt == _ATTEMPTS or client.status != "running":
                        raise _lost()
                    submit(item, attempt + 1)
                    continue
                number += 1
                if number % 100 == 0:  # workers may have joined or left
                    limit = _limit(client)
                fill(limit)
                yield item, result
    except (OSError, RuntimeError) as error:
        raise _lost() from error


def _run_here(
    work: Callable[..., Result], items: Iterable[Item], *arguments: Any
) -> Iterator[tuple[Item, Result | Exception]]:
    for item in items:
        try:
            result: Result | Exception = work(item, *arguments)
        except Exception as error:
            result = error
        yield item, result


def _next_batch(ready: as_completed, client: Client) -> list[Future]:
    """Wait for tasks to end and return those that did; an empty list if none are awaited."""
    looked = alone_since = time.monotonic()
    while not ready.has_ready() and not ready.is_empty():
        with ready.thread_condition:
            ready.thread_condition.wait(0.1)
        now = time.monotonic()
        if now - looked > min(_LOOK_SECONDS, _ALONE_SECONDS):
            looked = now
            _start_lost_workers(client)
            if client.nthreads():
                alone_since = now
            elif now - alone_since > _ALONE_SECONDS:
                raise LostCluster("Dask has no workers left. What is done is stored: start again, and it continues.")
    batch: list[Future] = ready.next_batch(block=False)
    return batch


def _start_lost_workers(client: Client) -> None:
    """Start the workers of this computer that Dask has given up, if there are any.

    A worker that dies while it is being started again, or takes more than 15 s for it, is given up by `LocalCluster`
    (distributed 2026.8: `Nanny._on_worker_exit`, `SpecCluster._update_worker_status`), and nothing starts another one.
    This can go when Dask does; `test_workers_that_dask_gives_up_are_started_again` fails without it.
    """
    if client.cluster is not None:
        client.cluster.scale(len(client.cluster.worker_spec))


def _result(future: Future, client: Client) -> Any:
    """Return the result of a task, its exception, or None if Dask forgot it or cannot deliver it.

    Both happen when many workers die; the task is then given to Dask again.

    The status of a future may change at any time: the result of a task that ended is lost if its worker dies before the
    result is fetched. So the result itself is asked for, and `as_completed` is used without results: with them
    (distributed 2026.8, `_track_future`) it never returns a task that fails while its result is fetched.
    """
    from distributed import CancelledError, KilledWorker

    until = time.monotonic() + _ALONE_SECONDS
    while True:
        try:
            return future.result(timeout=_LOOK_SECONDS)
        except CancelledError:
            return None
        except Exception as error:
            if future.status == "error":
                return LostProcess(str(error)) if isinstance(error, KilledWorker) else error
            if not isinstance(error, TimeoutError):
                raise
            if time.monotonic() > until:
                return None
        _start_lost_workers(client)


def _limit(client: Client) -> int:
    return PER_WORKER * max(1, sum(client.nthreads().values()))


def _lost() -> LostCluster:
    return LostCluster(
        "The connection to Dask's scheduler was lost. What is done is stored: start again, and it continues."
    )


def _client(make: Any, scheduler: str) -> Client:
    try:
        return make(scheduler, timeout=_WAIT_SECONDS // 4)
    except (OSError, ValueError, TimeoutError) as error:
        raise BagtagError(
            f"No Dask scheduler responds at {scheduler!r}; start one with `dask scheduler`, or check the address."
        ) from error


def _check_workers(client: Client) -> None:
    try:
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        versions = {str(found) for found in client.run(_version).values()}
    except TimeoutError as error:
        raise BagtagError("The Dask scheduler has no workers; start some with `dask worker ADDRESS`.") from error
    except ImportError as error:
        raise BagtagError("Bagtag is not installed where the Dask workers run; install it there.") from error
    if versions != {__version__}:
        raise BagtagError(
            f"The Dask workers have Bagtag {', '.join(sorted(versions))}, but this is {__version__}; install the same."
        )


def _version() -> str:
    return __version__
