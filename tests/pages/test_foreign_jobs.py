"""Somebody else's project on the screen: its jobs are listed and ask, and nothing of them is done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from miml_core.project import Project
from tests.pages.conftest import texts
from tests.project.foreign import EXPORT, add_job, make_trap


def test_opening_a_foreign_project_on_the_screen_writes_nothing(home: Path, show: Callable[..., AppTest]) -> None:
    target = home / "site-packages" / "evil.pth"
    target.parent.mkdir()
    make_trap(home / "theirs", target)
    with Project.open(home / "theirs") as project:
        app = show(project)
        app.run()
        text = texts(app)
        assert "**Exporting** was queued on another computer or by another copy of this project" in text
        assert str(target) in str([one.value for one in app.json])
        (job,) = project.jobs.list_stopped()
        app.button(key=f"job-remove-{job.id}").click().run()
        assert not app.exception and project.jobs.get(job.id).state == "cancelled"
        assert "another copy" not in texts(app)
    assert list(target.parent.iterdir()) == []
    assert not (home / "theirs" / "logs").exists(), "no worker was started"


def test_a_foreign_job_is_started_by_a_button(project: Project, show: Callable[..., AppTest]) -> None:
    theirs = add_job(project, "segment", {"scope": "stale"})
    app = show(project, "train")
    app.button(key=f"job-here-{theirs}").click().run()
    assert not app.exception and project.jobs.get(theirs).state == "cancelled"
    assert [job.kind for job in project.jobs.list(active=True)] == ["segment"]


@pytest.mark.parametrize("kind", ["export", "<b>dance</b>"])
def test_a_foreign_job_that_makes_no_sense_is_shown_with_the_reason(
    project: Project, show: Callable[..., AppTest], kind: str
) -> None:
    theirs = add_job(project, kind, {**EXPORT, "path": "/x", "command": "rm"})
    app = show(project, "train")
    app.button(key=f"job-here-{theirs}").click().run()
    app.run()
    assert "It cannot start here" in texts(app) and "<b>" not in texts(app).replace("\\<b\\>", "")
    assert project.jobs.get(theirs).state == "stopped"
