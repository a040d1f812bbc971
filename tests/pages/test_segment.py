"""Knobs, preview, apply."""

from dataclasses import replace

import pytest

from miml_core.features.birdnet.files import BirdnetStatus
from miml_core.project import ResegmentPreview
from pages.widgets.canvas import reported_bag
from pages.widgets.segmentation.apply_settings import consequences
from pages.widgets.text import plain
from tests.birdnet import needs_birdnet
from tests.pages.conftest import press, texts


def test_the_stored_bag_and_the_tried_one_stand_side_by_side(project, show, canvases):
    show(project, "segment")
    stored, tried = canvases["segment.canvas"], canvases["segment.preview"]
    assert stored.mode == "segment" and stored.queue["show"] == "all" and stored.report_bag
    assert tried.mode == "preview" and tried.bag_id == stored.bag_id and tried.preview


def test_a_knob_changes_the_preview_and_nothing_else(project, show, canvases):
    app = show(project, "segment")
    before, settings = canvases["segment.preview"].preview, project.settings
    app.run()
    assert canvases["segment.preview"].preview == before
    app.slider(key="segment_settings.sensitivity").set_value(1.0).run()
    assert canvases["segment.preview"].preview != before
    assert project.settings == settings
    press(app, "Reset")
    assert app.slider(key="segment_settings.sensitivity").value == settings.segments.sensitivity


def test_applying_stores_the_knobs_and_starts_the_work(project, show):
    app = show(project, "segment")
    app.slider(key="segment_settings.sensitivity").set_value(0.8).run()
    app.button(key="apply.unreviewed").click().run()
    assert project.settings.segments.sensitivity == 0.8
    (job,) = project.jobs.list()
    assert job.kind == "segment" and job.params == {"again": True, "scope": "unreviewed"}


@pytest.fixture
def open_for_this_bag(project, show, monkeypatch):
    """The Segment page with the question about the first bag open; `report(app, bag)` is the editor's report."""

    def canvas(project, bag_id=None, *, key, **arguments):
        return bag_id or reported_bag(key) or project.bags.ids()[0]

    app = show(project, "segment")
    monkeypatch.setattr("pages.widgets.canvas.canvas", canvas)
    first = project.bags.ids()[0]
    app.session_state["segment.apply-this"] = True
    app.session_state["confirmation.segment.this-bag"] = (str(project.folder), first, project.bags.get(first).name)
    report(app, first)
    assert not app.run().toast and app.session_state["segment.apply-this"]
    return app


def report(app, bag_id):
    app.session_state["segment.canvas"] = {"shown": bag_id}


def bags_of_jobs(project):
    return [job.params["bags"] for job in project.jobs.list()]


def test_this_bag_means_the_bag_that_is_named(project, open_for_this_bag):
    first, *_ = project.bags.ids()
    name = plain(project.bags.get(first).name)
    assert f"Segments of **{name}** are detected again." in texts(open_for_this_bag)
    open_for_this_bag.button(key=f"apply.this.{first}").click().run()
    assert bags_of_jobs(project) == [[first]] and not open_for_this_bag.toast


def test_a_click_for_one_bag_never_acts_on_the_next_one(project, open_for_this_bag):
    app, (first, second, *_) = open_for_this_bag, project.bags.ids()
    button = app.button(key=f"apply.this.{first}")
    report(app, second)  # arrives together with the click
    button.click().run()
    assert project.jobs.list() == [] and "Another bag is on screen now" in app.toast[0].value
    assert not app.session_state["segment.apply-this"], "it has to be opened again, for the other bag"
    assert plain(project.bags.get(second).name) in texts(app)
    app.button(key=f"apply.this.{second}").click().run()
    assert bags_of_jobs(project) == [[second]]


def test_a_question_about_a_bag_lapses_when_another_one_is_shown(project, open_for_this_bag):
    app, (first, second, *_) = open_for_this_bag, project.bags.ids()
    report(app, second)
    app.run()
    assert "Another bag is on screen now" in app.toast[0].value
    assert not app.session_state["segment.apply-this"]
    report(app, first)
    assert not app.run().toast and not app.session_state["segment.apply-this"]


def test_settings_that_changed_after_the_question_are_not_applied(project, show):
    app = show(project, "segment")
    before = replace(project.settings, learned_segmenter="segmenters/1.npz")
    project.set_settings(before)
    app.button(key="apply.all").click().run()
    assert project.jobs.list() == [] and project.settings == before
    assert "The settings have changed, so nothing was done" in texts(app)


def test_what_would_be_changed_is_shown_before(project, show):
    segment = project.segments.list(project.bags.ids()[0])[0]
    project.edits.set_label(segment.id, project.classes.list()[0].id)
    app = show(project, "segment")
    assert "checked segment" in texts(app)
    app.button(key="apply.which.all").click().run()
    assert "label" in texts(app) and "would be lost" in texts(app)


def test_consequences_in_words():
    nothing = ResegmentPreview(0, 0, 0, 0, [])
    harmless = ResegmentPreview(3, 0, 0, 0, [])
    risky = ResegmentPreview(3, 2, 5, 1, [])
    assert consequences(nothing) == ["There is no bag this would apply to."]
    assert consequences(harmless)[-1] == "No corrections are affected."
    assert "2 drawn or edited segments stay" in consequences(risky)[1]
    assert "1 checked segment" in consequences(risky)[-1]


def test_knobs_that_were_not_turned_leave_the_settings_exactly_as_they_were(project, show):
    before = project.settings
    app = show(project, "segment")
    app.button(key="apply.all").click().run()
    assert project.settings == before


def test_an_empty_project_points_to_the_library(home, no_workers, show):
    from miml_core.project import Project

    assert "nothing to segment yet" in texts(show(Project.create(home / "new"), "segment"))


def test_learning_from_edits_waits_until_there_are_enough(project, show):
    app = show(project, "segment")
    assert app.button(key="segmenter.learn").disabled
    assert "there are 0 and 0" in app.button(key="segmenter.learn").help


def test_learning_from_edits_and_the_way_back(project, show, monkeypatch):
    from dataclasses import replace

    monkeypatch.setattr("miml_core.project.queries.segmenter_examples.FEWEST_KEPT", 2)
    monkeypatch.setattr("miml_core.project.queries.segmenter_examples.FEWEST_DELETED", 1)
    first, second, third, *_ = project.segments.list(project.bags.ids()[0])
    project.edits.set_label([first.id, second.id], project.classes.list()[0].id)
    project.edits.delete(third.id)
    app = show(project, "segment")
    app.button(key="segmenter.learn").click().run()
    assert [job.kind for job in project.jobs.list()] == ["learn-segmenter"]
    assert app.button(key="segmenter.learn").disabled, "one at a time"
    project.set_settings(replace(project.settings, learned_segmenter="segmenters/1.npz"))
    app.run()
    assert "no learned segmenter" in texts(app), "the preview uses it, and its file is not there"
    press(app, "Use the built-in segmenter")
    assert project.settings.learned_segmenter is None
    assert "no learned segmenter" not in texts(app)


def test_a_preview_that_covers_only_the_beginning_is_marked(project):
    from dataclasses import replace

    from pages.widgets.segmentation.preview import previewed_part_text

    bag = project.bags.get(project.bags.ids()[0])
    assert previewed_part_text(project, bag) == ""
    assert "first 60 s" in previewed_part_text(project, replace(bag, end=bag.start + 61))


@needs_birdnet
def test_the_embedding_is_chosen_and_applied(project, show):
    app = show(project, "segment")
    assert app.selectbox(key="segment_settings.embedding").value == ""
    assert "CC BY-NC-SA 4.0" in texts(app)
    app.selectbox(key="segment_settings.embedding").set_value("birdnet-2.4").run()
    assert project.settings.embedding is None
    app.button(key="apply.unreviewed").click().run()
    assert project.settings.embedding == "birdnet-2.4"
    app.selectbox(key="segment_settings.embedding").set_value("").run()
    press(app, "Reset")
    assert app.selectbox(key="segment_settings.embedding").value == "birdnet-2.4"


def test_without_birdnet_the_command_that_installs_it_is_shown(project, show, monkeypatch):
    status = BirdnetStatus(False, "BirdNET is not installed; install it with 'make birdnet'.", "")
    monkeypatch.setattr("miml_core.features.birdnet.files.birdnet_status", lambda: status)
    monkeypatch.setattr("pages.widgets.birdnet.birdnet_status", lambda: status)
    monkeypatch.setattr("miml_core.features.embeddings._registered", {})
    project.set_settings(replace(project.settings, embedding="birdnet-2.4"))
    app = show(project, "segment")
    assert app.selectbox(key="segment_settings.embedding").options == [
        "None (hand-made features only)",
        "BirdNET 2.4 (not installed)",
    ]
    assert "make birdnet" in texts(app) and "CC BY-NC-SA 4.0" in texts(app)
    app.selectbox(key="segment_settings.embedding").set_value("").run()
    app.button(key="apply.all").click().run()
    assert project.settings.embedding is None


def test_pictures_without_an_embedding_have_no_choice_of_it(pictures, show):
    app = show(pictures, "segment")
    assert not [box for box in app.selectbox if box.key == "segment_settings.embedding"]
