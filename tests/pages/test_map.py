"""The Map page: before there is a map, in the making, and with one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from miml_core import BACKGROUND
from miml_core.project import Project
from miml_core.project.similarity import layout
from miml_core.project.similarity.segment_map import make_map
from pages.widgets.map.chart import map_chart
from pages.widgets.map.selection import selected_segments
from pages.widgets.segment_selections import N_SIMILAR, find_selection, keep_similar
from tests.pages.conftest import press, texts

CLUSTER = 9


@pytest.fixture
def mapped(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The project with a map of its 16 segments."""
    monkeypatch.setattr(layout, "FEWEST", 10)
    monkeypatch.setattr(layout, "_EARLY", 20)
    monkeypatch.setattr(layout, "_LATER", 20)
    make_map(project.store)
    return project


def test_without_segments_the_page_says_where_to_find_them(home, no_workers, show):
    with Project.create(home / "empty") as empty:
        assert "There is nothing to map yet" in texts(show(empty, "map"))


def test_the_first_map_is_made_by_a_job(project, show):
    app = show(project, "map")
    assert "There is no map yet" in texts(app)
    app = press(app, "Compute the map")
    (job,) = project.jobs.list()
    assert job.kind == "map"
    (button,) = [one for one in app.button if one.label == "Compute the map"]
    assert button.disabled, "one map at a time"


def test_a_map_is_shown_with_its_age_and_can_be_made_again(mapped, show):
    app = show(mapped, "map")
    assert "16 segments, computed" in texts(app)
    assert "Click a point to see what it is, or draw around points" in texts(app)
    press(app, "Compute again")
    assert [job.kind for job in mapped.jobs.list()] == ["map"]


def test_a_cluster_like_nothing_named_opens_on_the_wall(mapped, show, monkeypatch):
    ids = mapped.similarity.map().segment_ids[:CLUSTER]
    monkeypatch.setattr("miml_core.project.services.similarity.unnamed_segments", lambda *_: [ids])
    app = press(show(mapped, "map"), f"{CLUSTER} segments")
    request = app.session_state["wall.request"]
    selection = find_selection(mapped, request.fields["query"]["selection"])
    assert selection.segment_ids == tuple(ids.tolist())
    assert selection.title == f"{CLUSTER} segments not explained by the tags"


def test_a_cluster_is_dismissed_as_background_in_one_step_and_this_can_be_undone(mapped, show, monkeypatch):
    ids = mapped.similarity.map().segment_ids[:CLUSTER].tolist()
    left = [one for one in ids if mapped.segments.get(one).label is None]

    def unnamed(connection, made, state):
        return [made.segment_ids[:CLUSTER]] if mapped.segments.get(left[0]).label is None else []

    monkeypatch.setattr("miml_core.project.services.similarity.unnamed_segments", unnamed)
    app = press(show(mapped, "map"), "Background")
    assert {mapped.segments.get(one).label for one in ids} == {BACKGROUND}
    assert f"{CLUSTER} segments labelled background" in texts(app)
    assert "Background" not in [one.label for one in app.button]
    app = press(app, "Undo")
    assert mapped.segments.get(left[0]).label is None
    assert "labelled background" not in texts(app)
    assert "Background" in [one.label for one in app.button]


def drawn_figure(project: Project, colours: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    drawn = {}
    monkeypatch.setattr("streamlit.plotly_chart", lambda figure, **_: drawn.setdefault("figure", figure))
    made = project.similarity.map()
    map_chart(project, made, project.similarity.map_state(made), [made.segment_ids[:CLUSTER]], colours)
    return drawn["figure"]


@pytest.mark.parametrize("colours", ["predicted", "label", "uncertainty"])
def test_every_segment_is_a_point_of_its_class(mapped, colours, monkeypatch):
    wren = mapped.classes.list()[0]
    mapped.edits.change_class(wren.id, name="<b>Wren</b>")
    labelled = mapped.similarity.map().segment_ids[:3].tolist()
    mapped.edits.set_label(labelled, wren.id)
    figure = drawn_figure(mapped, colours, monkeypatch)
    points, (line,) = figure.data, figure.layout.shapes
    made = mapped.similarity.map()
    assert sorted(np.concatenate([trace.customdata for trace in points]).tolist()) == made.segment_ids.tolist()
    assert all(trace.type == "scattergl" for trace in points)
    assert (line.name, line.legendrank, line.showlegend) == ("not explained by tags", 1, True), "seen in a long legend"
    corners = np.array([each.split(",") for each in line.path.strip("M Z").split(" L")], dtype=float)
    inside = made.places[:CLUSTER]
    assert (corners.min(axis=0) <= inside.min(axis=0)).all() and (corners.max(axis=0) >= inside.max(axis=0)).all()
    if colours == "label":
        assert {trace.name: len(trace.x) for trace in points} == {"not checked": 13, "&lt;b&gt;Wren&lt;/b&gt;": 3}
    if colours == "uncertainty":
        (trace,) = points
        assert trace.marker.color.min() >= 0 and trace.marker.color.max() <= 100


def test_many_classes_share_a_colour(mapped, monkeypatch):
    monkeypatch.setattr("pages.widgets.map.chart._MOST_CLASSES", 1)
    names = [trace.name for trace in drawn_figure(mapped, "predicted", monkeypatch).data]
    assert "other classes" in names and len(names) <= 3


def test_the_selection_has_each_segment_once():
    assert selected_segments([7, 9, 7, None, "8"]) == [7, 9]
    assert selected_segments(None) == []


def test_more_like_this_starts_with_the_segment_itself(project):
    bag = project.bags.ids()[0]
    asked = project.segments.list(bag)[0]
    selection = find_selection(project, keep_similar(project, asked.id))
    assert selection.segment_ids[0] == asked.id
    assert selection.segment_ids[1:] == tuple(one for one, _ in project.similarity.nearest(asked.id, N_SIMILAR))
    assert selection.title == f"Like segment {asked.number} of {project.bags.get(bag).name}"
