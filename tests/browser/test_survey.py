"""From the Survey page to the review of a sample, in a real browser: real jobs, real processes of Dask."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="needs Dask (make cluster)")

from miml_core.archive.bundle import read_bundle
from miml_core.archive.reading import summarise
from miml_core.archive.sample_project import add_run, open_or_create_project, read_estimates
from miml_core.instances import InstanceSettings
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from tests.archive.conftest import make_bundle, make_survey
from tests.browser.editor import Editor
from tests.browser.test_pages import expand
from tests.conftest import PATIENCE
from tests.project.sounds import RATE

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project with a trained run, beside five recordings, one of which is none."""
    home = tmp_path_factory.mktemp("survey")
    make_survey(home / "recordings", per_site=2)
    bundle = read_bundle(make_bundle(tmp_path_factory.mktemp("bundle"), InstanceSettings.for_rate(RATE)))
    with open_or_create_project(home / "marsh", bundle, "Ann") as project, pytest.MonkeyPatch.context() as patch:
        add_run(project, bundle, "Ann")
        patch.setenv("BAGTAG_HOME", str(home))
        remember(project.folder)
    return home


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home))


def test_apply_draw_and_review(page, server, home, screenshots):
    page.set_default_timeout(PATIENCE * 1000)
    page.goto(f"{server.url}/survey?project={key_of(home / 'marsh')}")
    folder = page.get_by_label("Folder of recordings")
    folder.fill(str(home / "recordings"))
    folder.press("Enter")
    page.get_by_role("button", name="Add this folder").click()
    page.get_by_role("button", name="Remove").wait_for()
    expand(page, "survey-options")
    workers = page.get_by_role("spinbutton", name="Processes", exact=True)
    workers.fill("1")
    workers.press("Enter")
    with page.expect_download() as download:
        page.get_by_role("button", name="Model file").click()
    assert len(read_bundle(download.value.path()).classes) == 3
    page.get_by_role("button", name="Apply the model").click()
    page.get_by_text("Done,").first.wait_for()
    page.get_by_text("5 of 5").first.wait_for()
    page.get_by_text("1 file could not be processed").wait_for()
    with Project.open(home / "marsh") as project:
        (job,) = project.jobs.list()
        assert job.params["workers"] == 1 and job.info["dashboard"].startswith("http://127.0.0.1")
        assert summarise(home / "archive", job.params["model"]).files == 4
        per_class = page.get_by_role("spinbutton", name="Detections per class")
        per_class.fill("3")
        per_class.press("Enter")
        page.get_by_role("button", name="Draw a sample").click()
        page.get_by_text("clips to review").wait_for()
        page.screenshot(path=str(screenshots / "survey.png"))
        page.get_by_role("button", name="Open in Review").click()
        editor = Editor(page)
        first = project.review.queue("archive", limit=1)[0]
        assert editor.wait(f"s.mode === 'review' && s.selected[0] === {first.segment_id}")["selected"]
        editor.press("Enter")
        editor.wait(f"s.selected[0] !== {first.segment_id}")
        page.get_by_role("link", name="Survey").click()
        page.get_by_text("1 of 9 detections checked").wait_for()
        assert sum(one.answered for one in read_estimates(project)) == 1
