"""What all pages share: errors in a sentence, background work, names shown as text."""

import logging
import re

import pytest
from sqlalchemy import insert
from streamlit.testing.v1 import AppTest

from miml_core.project.db.schema import job_failures
from miml_core.project.jobs import queue as job_queue
from pages.widgets.app import open_projects
from pages.widgets.frame import PAGES
from tests.conftest import PATIENCE, ROOT
from tests.pages.conftest import press, texts

NASTY = ["<script>alert(1)</script>", "**bold** `code` $x$", "a [link](http://x) :smile: \\n", "صعو", "红嘴相思鸟"]


@pytest.mark.parametrize("page", PAGES)
def test_names_are_shown_as_text_on_every_page(page, project, show):
    for name in NASTY:
        project.edits.tag(project.bags.ids()[0], project.edits.add_class(name).id)
    text = texts(show(project, page))
    assert "<script>" not in text.replace("\\<script\\>", "")
    assert "**bold**" not in text and "[link](" not in text


@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_on_pictures(page, pictures, show):
    assert not show(pictures, page).error


def failing(problem: str) -> None:
    import streamlit as st

    from miml_core import BagtagError
    from pages.widgets.errors import show_errors

    with show_errors():
        raise BagtagError("The file *x.wav* is gone.") if problem == "known" else RuntimeError("secret detail")
    st.text("the page goes on")


def test_an_error_is_a_sentence_and_the_page_goes_on():
    app = AppTest.from_function(failing, args=("known",), default_timeout=PATIENCE).run()
    assert [one.value for one in app.error] == [r"The file \*x\.wav\* is gone\."]
    assert app.text[0].value == "the page goes on"


def test_a_bug_is_logged_and_its_details_stay_in_the_log(caplog):
    with caplog.at_level(logging.ERROR):
        app = AppTest.from_function(failing, args=("unknown",), default_timeout=PATIENCE).run()
    assert "secret detail" not in app.error[0].value
    assert "secret detail" in caplog.text


def test_background_work_shows_on_every_page_and_can_be_stopped(project, show):
    job = project.jobs.start("segment", {})
    app = show(project, "export")
    assert any(button.key == f"job-stop-{job.id}" for button in app.button)
    app.button(key=f"job-stop-{job.id}").click().run()
    assert project.jobs.get(job.id).state == "cancelled"
    assert not [button for button in app.button if button.label == "Stop"]


def test_work_that_failed_in_part_stays_on_show_with_its_details(project, show):
    job = project.jobs.start("import", {"paths": ["recordings"]})
    app = show(project, "train")
    with project.store.write() as connection:
        connection.execute(insert(job_failures).values(job_id=job.id, item="<b>a</b>.wav", reason="is damaged"))
        job_queue.finish(connection, job.id, "failed", "There is *nothing*.")
    app.run()
    assert r"failed: There is \*nothing\*\." in texts(app)
    assert "is damaged" in str([table.value for table in app.dataframe])
    press(app, "Dismiss")
    assert "failed: There is" not in texts(app)


def test_dialogs_stay_open_while_the_page_is_run_again(project, show):
    app = press(show(project), "Classes")
    assert any(one.label == "New class" for one in app.text_input)
    app.run()
    assert any(one.label == "New class" for one in app.text_input)


def test_the_project_can_be_left(project, show):
    app = press(show(project, "train"), "Open another project")
    assert [one.value for one in app.title] == ["Bagtag"]


def test_hints_guide_until_they_are_read(project, show):
    from pages.widgets.guidance import enable_hints

    assert not [button for button in show(project, "tag").button if button.label == "Got it"]
    enable_hints(project)
    app = press(show(project, "tag"), "Got it")
    assert not [button for button in app.button if button.label == "Got it"]
    press(show(project, "train"), "Turn off hints")
    assert not [button for button in show(project, "library").button if button.label == "Got it"]


def test_filters_and_watched_jobs_of_one_project_do_not_meet_another(project, pictures, show):
    job = project.jobs.start("segment", {})
    app = show(project)
    app.text_input(key="library.search").set_value("garden_3").run()
    project.jobs.cancel(job.id)
    app.session_state["session.folder"] = str(pictures.folder)
    app.run()
    assert not app.exception and not app.error
    assert list(app.dataframe[0].value["name"]) == ["meadow_1.png", "meadow_2.png"]


def test_a_project_that_was_moved_away_is_reported_and_comes_back(project, show):
    app = show(project, "library")
    aside = project.folder.with_name("aside")
    project.folder.rename(aside)
    app.run()
    assert not app.exception
    assert any("is gone" in error.value for error in app.error)
    aside.rename(project.folder)
    app.run()
    assert not app.error and not app.exception
    assert app.session_state["session.folder"] == str(project.folder)


def test_a_replaced_project_is_refused_until_a_person_opens_it_again(project, show, tmp_path):
    app = show(project, "library")
    shared = open_projects.open_once(project.folder)
    copy = project.backup(tmp_path / "copy.db")
    copy.rename(project.folder / "project.db")
    app.run()
    assert any("replaced" in error.value for error in app.error) and not app.exception
    assert open_projects.open_once(project.folder) is shared, "a page does not go on with another project by itself"
    opened = open_projects.open_once(project.folder, again=True)
    assert opened is not shared
    opened.edits.tag(opened.bags.ids()[0], opened.edits.add_class("Bittern").id)
    assert not app.run().error


def test_fragments_of_two_pages_never_have_one_name():
    """Streamlit 1.67 names a fragment by its function and place, and every page's module is `__main__`.

    A late message of a page that was left would run the other page's fragment, and break the page ("Bad delta path").
    """
    names = [
        name
        for path in sorted((ROOT / "pages").glob("*.py"))
        for name in re.findall(r"@st\.fragment.*\n(?:@.*\n)*def (\w+)", path.read_text())
    ]
    assert len(names) >= 3 and len(names) == len(set(names)), names
