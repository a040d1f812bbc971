"""The demo, made in the background while the welcome page shows how far it is.

One per computer and kind: two tabs that ask for the same demo watch the same work, and a second server waits for the
first. It is made in a hidden folder beside its place and moved there whole; what a killed server left is gone on with.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

from miml_core import BagtagError
from miml_core.demo.unfinished import remove_half_made
from miml_core.file_lock import Locked, hold_lock
from miml_core.project.project import Kind
from pages.widgets.folders.paths import home_folder
from pages.widgets.guidance import enable_hints
from pages.widgets.start.background_work import BackgroundWork
from pages.widgets.start.recent_projects import find_demos

_log = logging.getLogger("bagtag.pages")
_WAIT_SECONDS = 0.5


@dataclass
class Making(BackgroundWork):
    """How far the making of a demo is."""

    kind: Kind
    folder: Path


def existing_demo(kind: Kind) -> Path | None:
    """Return the demo made last, if there is one."""
    return max(find_demos(kind), key=lambda folder: folder.stat().st_ctime, default=None)


def _free_folder(kind: Kind) -> Path:
    """Return a new folder for a demo: the old one may be open in another tab."""
    number = 1
    while (folder := home_folder() / (f"demo-{kind}" if number == 1 else f"demo-{kind}-{number}")).exists():
        number += 1
    return folder


def start_demo(kind: Kind, *, new: bool = False) -> Making:
    """Begin making the demo, or join in watching it; an existing one is used unless a `new` one is wanted."""
    works = _works()
    with works.lock:
        making = works.makings.get(kind)
        if making is not None and not making.over:
            return making
        old = None if new else existing_demo(kind)
        making = Making(kind, old or _free_folder(kind), share=1.0 if old else 0.0, over=old is not None)
        works.makings[kind] = making
    if old is None:
        threading.Thread(target=_make, args=(making, new), name=f"demo-{kind}", daemon=True).start()
    return making


def _make(making: Making, new: bool) -> None:
    workshop = home_folder() / f".demo-{making.kind}-unfinished"
    try:
        with _alone(making, home_folder() / f".demo-{making.kind}.lock"):
            other = None if new else existing_demo(making.kind)
            if other is not None:  # another server made it while this one waited
                making.folder = other
                return
            try:
                _make_in(workshop, making)
            except BaseException:
                remove_half_made(workshop)
                raise
    except _Stopped:
        return
    except BagtagError as error:
        making.problem = str(error)
    except OSError as error:
        making.problem = f"The demo could not be made in {str(home_folder())!r}: {error.strerror or error}."
    except Exception:
        _log.exception("The demo could not be made")
        making.problem = "The demo could not be made; the details are in the terminal where Bagtag was started."
    finally:
        making.over = True


@contextmanager
def _alone(making: Making, lock: Path) -> Iterator[None]:
    """Wait until no other server of this computer makes the same demo."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(hold_lock(lock))
                break
            except Locked:
                if making.stop:
                    raise _Stopped from None
                time.sleep(_WAIT_SECONDS)
        yield


def _make_in(workshop: Path, making: Making) -> None:
    from miml_core.demo import make_demo

    def progress(step: int, of: int, info: Mapping[str, float]) -> None:
        making.share = step / of if of else 0.0
        if making.stop:
            raise _Stopped

    with make_demo(workshop, making.kind, progress=progress) as project:
        enable_hints(project)
    making.folder = _free_folder(making.kind)
    workshop.rename(making.folder)
    making.share = 1.0


class _Stopped(Exception):
    """Stop: the person does not want to wait."""


@dataclass
class _Works:
    lock: threading.Lock = field(default_factory=threading.Lock)
    makings: dict[str, Making] = field(default_factory=dict)


@st.cache_resource
def _works() -> _Works:
    return _Works()
