"""The demo, created in the background while the start page shows its progress.

One per computer and kind: two tabs that ask for the same demo watch the same work, and a second server waits for the
first. It is created in a hidden folder beside its place and moved there whole; what a killed server left is continued.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

from miml_core.demo.unfinished import remove_unfinished
from miml_core.file_lock import Locked, hold_lock
from miml_core.project.project import Kind
from pages.widgets.app.recent_projects import find_demos
from pages.widgets.background_work import BackgroundWork
from pages.widgets.folders.paths import free_folder, home_folder
from pages.widgets.guidance import enable_hints

_WAIT_SECONDS = 0.5


@dataclass
class DemoWork(BackgroundWork):
    """The progress of a demo that is being created."""

    kind: Kind
    folder: Path


def existing_demo(kind: Kind) -> Path | None:
    """Return the demo created last, if there is one."""
    return max(find_demos(kind), key=lambda folder: folder.stat().st_ctime, default=None)


def _free_folder(kind: Kind) -> Path:
    """Return a new folder for a demo: the old one may be open in another tab."""
    return free_folder(home_folder(), f"demo-{kind}")


def start_demo(kind: Kind, *, new: bool = False) -> DemoWork:
    """Start creating the demo, or return the work that is creating it; an existing demo is used unless `new`."""
    works = _demo_works()
    with works.lock:
        work = works.by_kind.get(kind)
        if work is not None and not work.over:
            return work
        old = None if new else existing_demo(kind)
        work = DemoWork(kind, old or _free_folder(kind), share=1.0 if old else 0.0, over=old is not None)
        works.by_kind[kind] = work
    if old is None:
        work.start(lambda: _create(work, new), failure=f"The demo could not be created in {str(home_folder())!r}")
    return work


def _create(work: DemoWork, new: bool) -> None:
    unfinished_folder = home_folder() / f".demo-{work.kind}-unfinished"
    with _lock_for_this_server(work, home_folder() / f".demo-{work.kind}.lock"):
        other = None if new else existing_demo(work.kind)
        if other is not None:  # another server created it while this one waited
            work.folder = other
            return
        try:
            _create_in(unfinished_folder, work)
        except BaseException:
            remove_unfinished(unfinished_folder)
            raise


@contextmanager
def _lock_for_this_server(work: DemoWork, lock: Path) -> Iterator[None]:
    """Wait until no other server of this computer creates the same demo."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(hold_lock(lock))
                break
            except Locked:
                work.check_stop()
                time.sleep(_WAIT_SECONDS)
        yield


def _create_in(unfinished_folder: Path, work: DemoWork) -> None:
    from miml_core.demo import make_demo

    with make_demo(unfinished_folder, work.kind, progress=work.report) as project:
        enable_hints(project)
    work.folder = _free_folder(work.kind)
    unfinished_folder.rename(work.folder)
    work.share = 1.0


@dataclass
class _DemoWorks:
    lock: threading.Lock = field(default_factory=threading.Lock)
    by_kind: dict[str, DemoWork] = field(default_factory=dict)


@st.cache_resource
def _demo_works() -> _DemoWorks:
    return _DemoWorks()
