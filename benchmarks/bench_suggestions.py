"""A new project of 300 clips: seconds from opening the Tag page to the first suggestion.

The server runs already, as it does for a person who has just created the project; nothing is tagged, segmented or
cached. First the page is opened by its address, so that the project is opened and BirdNET loaded only then; next it is
opened in another project of the same server, with BirdNET loaded. Aims: at most 10 s, better 5 s.

Then what it costs: one clip of 10 s, and one recording of an hour, of which a sample is heard.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from miml_core.features.birdnet import birdnet_status, score_clip
from miml_core.project import Project
from pages.widgets.app.open_projects import key_of
from tests.browser.conftest import ROOT, Server
from tests.conftest import FLAGS, found_chromium
from tests.generated_calls import CALLS, write_calls

CLIPS = 300
CLIP_SECONDS = 10.0
_DEADLINE_MS = 120_000


def run() -> None:
    """Print the figures."""
    status = birdnet_status()
    if not status.installed:
        print(status.reason)
        return
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        home = Path(name)
        projects = [_make_project(home, title) for title in ("first", "second")]
        browser = playwright.chromium.launch(executable_path=found_chromium(), args=FLAGS)
        server = Server(ROOT / "app.py", {"BAGTAG_HOME": name, "BAGTAG_STATE": f"{name}/state"}, home / "server.log")
        try:
            server.start()
            for title, project in zip(("BirdNET not loaded", "BirdNET loaded"), projects):
                page_seconds, seconds, next_seconds = _open_tag_page(browser, server, project)
                print(
                    f"{CLIPS} clips, {title}: first suggestion {seconds:.1f} s after opening the Tag page, "
                    f"{seconds - page_seconds:.1f} s after the clip; at the next clip after {next_seconds:.2f} s",
                    flush=True,
                )
        finally:
            server.kill()
            browser.close()
        _costs(home)


def _make_project(home: Path, title: str) -> Path:
    """Make a project whose clips are files with different noise, so that none is known from another one."""
    species = list(CALLS)
    files = [
        write_calls(home / "clips" / title / f"{number:03d}.wav", species[number % len(species)], CLIP_SECONDS, number)
        for number in range(CLIPS)
    ]
    with Project.create(home / title) as project:
        project.media.add(files)
    return home / title


def _open_tag_page(browser: Browser, server: Server, project: Path) -> tuple[float, float, float]:
    """Return the seconds to the clip and to its suggestions, and from a step to the next clip to those of that."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(_DEADLINE_MS)
    try:
        began = time.monotonic()
        page.goto(f"{server.url}/tag?project={key_of(project)}")
        page.locator(".bagtag .tagbar").wait_for()
        seen = time.monotonic() - began
        page.locator(".bagtag .suggestion").first.wait_for()
        suggested = time.monotonic() - began
        name = page.locator(".bagtag .suggestion .name").first.inner_text()
        stepped = time.monotonic()
        page.keyboard.press("n")
        page.locator(".bagtag .suggestion .name").filter(has_not_text=name).first.wait_for()
        return seen, suggested, time.monotonic() - stepped
    finally:
        context.close()


def _costs(home: Path) -> None:
    clip = write_calls(home / "clip.wav", "Common Cuckoo", CLIP_SECONDS)
    hour = write_calls(home / "hour.wav", "Common Cuckoo", 3600.0)
    score_clip(clip, 0.0, CLIP_SECONDS)
    for title, path, seconds in (("a clip of 10 s", clip, CLIP_SECONDS), ("a recording of an hour", hour, 3600.0)):
        began = time.monotonic()
        score_clip(path, 0.0, seconds)
        print(f"BirdNET listens to {title}: {time.monotonic() - began:.2f} s", flush=True)


if __name__ == "__main__":
    run()
