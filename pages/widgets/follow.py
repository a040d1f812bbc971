"""Keep a part of a page up to date: it runs again when what it shows has changed, and only then.

A fragment calls `follow` (or `follow_work`) before it reads what it shows. The browser asks a route twice per second
what the state is now, and has the fragment run once it differs from the one that is shown: while no script runs, and
never while a person uses the page or is on the way to another one (`assets/page/follow.js`). Fragments that poll by
Streamlit's `run_every` run all the time instead, and their requests meet those of the person.
"""

from __future__ import annotations

import secrets
from typing import Any

from miml_core import BagtagError
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of
from pages.widgets.background_work import BackgroundWork
from pages.widgets.browser_modules import browser_component, ignore_report, module_access
from pages.widgets.routes.page_state import address_of_work, project_state, work_state


def follow(
    project: Project, name: str, *, edits: bool = True, steps: bool = False, at_least_every: float | None = None
) -> None:
    """Have the fragment around the call run again when a job began or ended, or the project has changed.

    If the project cannot be read, because its disk is away or another program has locked it, the fragment runs again
    once it can be.

    Parameters
    ----------
    name
        The name of the part, unique on the page.
    edits
        Also when anything in the project has changed.
    steps
        Also when a job that runs has made progress.
    at_least_every
        Also when this many seconds have passed: for what is read from files outside the project.
    """
    topics = [topic for topic, wanted in (("revision", edits), ("jobs", True), ("steps", steps)) if wanted]
    try:
        state = project_state(project)
    except (BagtagError, OSError):
        state = dict.fromkeys(topics, "")
    _follow(name, f"{key_of(project.folder)}/state", {topic: state[topic] for topic in topics}, at_least_every)


def follow_work(work: BackgroundWork, name: str) -> None:
    """Have the fragment around the call run again when work of the server has made progress or is over."""
    _follow(name, address_of_work(work), work_state(work), None)


def follow_server() -> None:
    """Have the whole page run again when the server no longer knows it: after a restart, or a long time offline."""
    data = {**module_access("page_run.js", []), "run": secrets.token_hex(4)}
    browser_component("bagtag_page_run")(key="follow-server", data=data, on_lost_change=ignore_report)


def _follow(name: str, address: str, seen: dict[str, str], at_least_every: float | None) -> None:
    access = module_access("follow.js", [])
    data: dict[str, Any] = {
        **access,
        "address": f"{access['base']}/bagtag/{address}",
        "seen": seen,
        "atLeastEvery": at_least_every,
        "run": secrets.token_hex(4),  # data that is the same as before would not be sent
    }
    browser_component("bagtag_follow")(key=f"follow-{name}", data=data, on_changed_change=ignore_report)
