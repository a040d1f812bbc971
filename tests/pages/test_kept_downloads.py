"""What a click on a download button makes can be asked for while the page runs again, and is forgotten later."""

from __future__ import annotations

import pytest
from streamlit.runtime import media_file_manager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages.widgets.app import kept_downloads


class Tab:
    """A session whose page has one button that makes a file."""

    def __init__(self, manager: media_file_manager.MediaFileManager) -> None:
        self.manager = manager

    def begin(self) -> None:
        self.manager.clear_session_refs("tab")

    def draw(self) -> str:
        return self.manager.add_deferred(lambda: "a,b\n1,2\n", "text/csv", "1.0", "table.csv")


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(kept_downloads.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def tab(monkeypatch, clock):
    manager_class = media_file_manager.MediaFileManager
    name = "_remove_orphaned_deferred_callables"
    monkeypatch.setattr(manager_class, name, getattr(manager_class, name))
    monkeypatch.setattr(media_file_manager, "_get_session_id", lambda: "tab")
    monkeypatch.setattr(kept_downloads, "_replaced_at", {})
    kept_downloads.keep_downloads()
    return Tab(manager_class(MemoryMediaFileStorage("/media")))


def test_a_button_of_the_run_before_still_works(tab):
    before = tab.draw()
    tab.begin()
    tab.manager.remove_orphaned_files()  # the run of another tab has ended
    now = tab.draw()
    tab.manager.remove_orphaned_files()
    assert tab.manager.execute_deferred(before).endswith(".csv")
    assert tab.manager.execute_deferred(now).endswith(".csv")


def test_a_button_that_was_drawn_long_ago_still_works_when_the_page_runs_again(tab, clock):
    before = tab.draw()
    tab.manager.remove_orphaned_files()
    clock[0] += 10 * kept_downloads.KEPT_S
    tab.begin()
    tab.draw()
    tab.manager.remove_orphaned_files()
    assert tab.manager.execute_deferred(before).endswith(".csv")


def test_it_is_forgotten_later_and_the_one_of_the_last_run_never(tab, clock):
    before = tab.draw()
    tab.begin()
    now = tab.draw()
    for _ in range(3):
        tab.manager.remove_orphaned_files()
        clock[0] += kept_downloads.KEPT_S
    clock[0] += 1.0
    tab.manager.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError, match="not found"):
        tab.manager.execute_deferred(before)
    assert tab.manager.execute_deferred(now).endswith(".csv")
    assert kept_downloads._replaced_at == {}
