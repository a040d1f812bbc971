"""Workers of Dask that are killed at given moments while they store results; imported by the workers themselves."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from distributed import WorkerPlugin

MOMENTS = ("before segments", "between segments and clips", "after clips", "while reading")


class DyingWorkers(WorkerPlugin):
    """Kill the worker (SIGKILL) once at each moment; `folder` gets a file per moment that has come."""

    name = "dying-workers"

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def setup(self, worker: Any) -> None:
        from miml_core.archive import bundle, results

        write, instances = results.atomic_writer, bundle.ModelBundle.instances

        def dying_writer(path: Path, **options: Any) -> Any:
            table = Path(path).parts[-4]
            if table == "segments":
                self._die("before segments")
            if table == "clips":
                self._die("between segments and clips")
            return _Then(write(path, **options), (lambda: self._die("after clips")) if table == "clips" else None)

        def dying_instances(*arguments: Any) -> Any:
            self._die("while reading")
            return instances(*arguments)

        results.atomic_writer = dying_writer
        bundle.ModelBundle.instances = dying_instances

    def _die(self, moment: str) -> None:
        try:
            (self.folder / moment).touch(exist_ok=False)
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


class _Then:
    """A context manager, and what to do after it."""

    def __init__(self, writer: Any, then: Any) -> None:
        self._writer, self._then = writer, then

    def __enter__(self) -> Any:
        return self._writer.__enter__()

    def __exit__(self, *error: Any) -> Any:
        result = self._writer.__exit__(*error)
        if self._then is not None:
            self._then()
        return result


def end_process(stretch: Any, *arguments: Any) -> Any:
    """A task that always ends its process, for one file."""
    from miml_core.archive.work import do_stretch, do_task

    stretches = getattr(stretch, "stretches", [stretch])
    if any(one.recording.file.endswith("marsh/20240503_020000.wav") for one in stretches):
        os.kill(os.getpid(), signal.SIGKILL)
    return (do_task if hasattr(stretch, "stretches") else do_stretch)(stretch, *arguments)


def serve_tasks(scheduler_file: str) -> None:
    """Be a scheduler with one worker until this process is killed; its address is in the file."""
    import asyncio

    from distributed import Scheduler, Worker

    async def serve() -> None:
        async with (
            Scheduler(host="127.0.0.1", port=0, dashboard_address="") as scheduler,
            Worker(scheduler.address, nthreads=1, dashboard=False),
        ):
            Path(scheduler_file).write_text(json.dumps({"address": scheduler.address}))
            await scheduler.finished()

    asyncio.run(serve())
