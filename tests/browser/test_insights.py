"""Insights in a real browser: a cell is clicked and heard, plots are saved, the report opens offline."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from miml_core.insights import activity, open_source
from miml_core.project.media import access
from pages.widgets.app.open_projects import key_of
from pages.widgets.app.recent_projects import remember
from tests.browser.conftest import repeat_until
from tests.browser.projects import sound_project
from tests.insights.generated_archive import make_archive

pytestmark = pytest.mark.browser
CELLS = """() => {
    const plot = document.querySelector('.js-plotly-plot');
    const cells = plot?._fullData?.find(trace => trace.name === 'cells');
    if (!cells || !plot._fullLayout.xaxis._offset) return null;
    const {xaxis, yaxis} = plot._fullLayout, box = plot.getBoundingClientRect();
    return {x: box.left + xaxis._offset + xaxis.d2p(cells.x[0]), y: box.top + yaxis._offset + yaxis.d2p(cells.y[0]),
            data: cells.customdata[0]};
}"""

IDLE = "() => document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A project that shows an archive whose recordings are on this computer."""
    home = tmp_path_factory.mktemp("insights")
    rows = make_archive(home / "archive", n_files=4)
    for file in {row["file"] for row in rows["clips"]}:
        path = home / "disk" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.zeros(200 * 8000, np.int16), 8000, subtype="PCM_U8")
    access.allow_folder(home / "archive", home / "disk" / "survey")
    with sound_project(home / "garden", (2,)) as project, pytest.MonkeyPatch.context() as patch:
        project.set_preference("insights", {"source": "archive", "archive": str(home / "archive")})
        project.review.set_sure_from(0.01)
        patch.setenv("BAGTAG_HOME", str(home))
        remember(project.folder)  # so that the address finds it
    return home


@pytest.fixture(scope="module")
def server(start_server, home):
    return start_server("app.py", BAGTAG_HOME=str(home), BAGTAG_ROOTS=str(home))


def saved(page: Any, button: Any) -> Path:
    page.wait_for_function(IDLE)  # Streamlit removes files of the last run when a run ends
    with page.expect_download() as download:
        button.click()
    # Plotly's notice lies on its buttons for seconds.
    page.evaluate("document.querySelectorAll('.plotly-notifier').forEach(notice => notice.remove())")
    return Path(download.value.path())


def test_a_cell_is_heard_plots_are_saved_and_the_report_needs_no_network(page, server, home, tmp_path):
    page.set_viewport_size({"width": 1280, "height": 1500})  # the list below the plot is in sight
    page.goto(f"{server.url}/insights?project={key_of(home / 'garden' / 'project')}")
    page.wait_for_function(CELLS)
    page.wait_for_function(IDLE)
    cell = page.evaluate(CELLS)

    def hover_cell():
        page.mouse.move(cell["x"] - 3, cell["y"])
        page.mouse.move(cell["x"], cell["y"])

    repeat_until(hover_cell, page.locator(".hoverlayer .hovertext").first)  # a click is on what Plotly has found there
    page.mouse.click(cell["x"], cell["y"])
    found = activity(open_source(archive=home / "archive"), None, 0.01)
    day, hour = cell["data"]
    n = found.counts[np.searchsorted(found.dates, np.datetime64(day)), hour]
    heading = page.get_by_text(f"{hour:02d}:00 to {hour + 1:02d}:00").locator("..")
    heading.wait_for()
    assert f"{n} detection" in heading.text_content()
    listed = page.locator("[data-testid=data-grid-canvas]").first
    repeat_until(lambda: listed.click(position={"x": 15, "y": 54}, force=True), page.locator("audio"), 30.0)
    assert page.evaluate("() => fetch(document.querySelector('audio').src).then(answer => answer.status)") == 200

    with saved(page, page.get_by_role("button", name="CSV").first).open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["detections"]) for row in rows) == found.counts.sum()
    assert sum(float(row["recorded_hours"]) for row in rows) == pytest.approx(found.effort_s.sum() / 3600, rel=1e-3)
    camera = page.locator(".modebar-btn[data-title*='ownload']").first
    page.locator(".js-plotly-plot").first.hover()
    assert saved(page, camera).read_bytes()[:4] == b"\x89PNG"
    page.get_by_text("SVG", exact=True).click()
    page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot')?._context?.toImageButtonOptions?.format === 'svg'"
    )
    page.locator(".js-plotly-plot").first.hover()
    assert b"<svg" in saved(page, camera).read_bytes()[:200]

    report = tmp_path / "report.html"
    page.get_by_role("button", name="Report", exact=False).first.click()
    page.get_by_role("button", name="Create the report").click()
    ready = page.get_by_role("button", name="Save the report")
    ready.wait_for()
    report.write_bytes(saved(page, ready).read_bytes())
    page.goto("about:blank")  # what the app asks for until it is left is not of the report
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    page.locator(".plot .main-svg").first.wait_for()
    assert [address for address in asked if not address.startswith(("data:", "blob:"))] == [report.as_uri()]
