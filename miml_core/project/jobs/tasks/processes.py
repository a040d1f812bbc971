"""Spread the bags of a job over processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from typing import Any, TypeVar

from miml_core.project.jobs.context import JobContext
from miml_core.threads import lower_priority, thread_count

Bag = TypeVar("Bag")
Result = TypeVar("Result")

_NICE = 10
_POLL_SECONDS = 0.3
_ALONE_SECONDS = 2.0
_WORTH_SECONDS = 8.0
"""Starting processes takes seconds: it begins in this one, and starts others only for more work than this."""


def run_in_processes(
    context: JobContext,
    tasks: Iterator[tuple[Bag, tuple[Any, ...] | str]],
    work: Callable[..., Result | str],
    n_tasks: int,
) -> Iterator[tuple[Bag, Result | str]]:
    """Yield each bag with the result of `work`, or with the reason why it failed, in the order in which they are ready.

    Parameters
    ----------
    context : JobContext
        Its parameter "processes" is the number of processes; one per core by default.
    tasks : iterator of (bag, arguments)
        Arguments of `work`, or the reason why the bag fails, which is passed on.
    work : callable
        A function of a module; it returns a reason instead of raising an exception.
    n_tasks : int
    """
    processes = int(context.params.get("processes") or thread_count())
    began = time.monotonic()
    for done, (bag, arguments) in enumerate(tasks):
        context.check()
        yield bag, arguments if isinstance(arguments, str) else work(*arguments)
        if done == 0:
            began = time.monotonic()  # the first bag includes the time of imports
            continue
        spent = time.monotonic() - began
        if processes > 1 and spent > _ALONE_SECONDS and spent / done * (n_tasks - done - 1) > _WORTH_SECONDS:
            break
    else:
        return
    yield from _in_processes(context, tasks, work, processes)


def _in_processes(
    context: JobContext,
    tasks: Iterator[tuple[Bag, tuple[Any, ...] | str]],
    work: Callable[..., Result | str],
    processes: int,
) -> Iterator[tuple[Bag, Result | str]]:
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_set_up_process) as pool:
        waiting: dict[Future[Result | str], Bag] = {}
        try:
            for bag, arguments in tasks:
                if isinstance(arguments, str):
                    yield bag, arguments
                    continue
                waiting[pool.submit(work, *arguments)] = bag
                while len(waiting) >= 4 * processes:
                    yield from _ready(context, waiting)
            while waiting:
                yield from _ready(context, waiting)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _set_up_process() -> None:
    """Set up a process: one thread, because the processes use every core, and a low priority."""
    from threadpoolctl import threadpool_limits

    lower_priority(_NICE)
    os.environ["BAGTAG_THREADS"] = "1"
    threadpool_limits(1)


def _ready(context: JobContext, waiting: dict[Future[Result | str], Bag]) -> Iterator[tuple[Bag, Result | str]]:
    context.check()
    done, _ = wait(waiting, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
    for future in done:
        yield waiting.pop(future), future.result()
