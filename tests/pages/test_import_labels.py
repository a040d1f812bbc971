"""The page that imports labels: preview, classes, one edit, undo."""

from __future__ import annotations

import pytest

from tests.pages.conftest import place_of, press, texts


def upload(app, name, content):
    app.file_uploader[0].set_value((name, content.encode(), "text/csv")).run()
    assert not app.exception
    return app


def test_labels_are_previewed_imported_and_undone(project, show):
    bag = project.bags.get(project.bags.ids()[0])
    before = len(project.segments.list(bag.id))
    file = bag.path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    app = show(project, "import_labels")
    assert "No labels chosen yet" in texts(app)
    lines = f"file,start_s,end_s,low_hz,high_hz,label\n{file},0.1,0.3,300,400,Bittern\nnowhere,0,1,,,Wren\n"
    upload(app, "calls.csv", f"{lines}{file},9.5,12,300,400,Bittern\n")
    assert "1 label is cut: a part is outside the recording or its bags." in texts(app)
    upload(app, "calls.csv", lines)
    shown = texts(app)
    assert "2 labels" in shown and "1 new class: Bittern\n" in shown and "1 label cannot be imported" in shown
    press(app, "Import 1 segment")
    assert len(project.segments.list(bag.id)) == before + 1
    assert project.edits.history()[0].sentence == "imported 1 segment of 1 file"
    press(app, "Undo this import")
    assert len(project.segments.list(bag.id)) == before


def test_lines_that_cannot_be_read_stop_the_import_until_they_are_left_out(project, show):
    file = project.bags.get(project.bags.ids()[0]).path
    app = show(project, "import_labels")
    upload(app, "calls.csv", f"file,start_s,end_s,label\n{file},0,1,Wren\n{file},zero,1,Wren\n")
    assert "1 line cannot be read" in texts(app)
    revision = project.revision
    press(app, "Import 1 segment")
    assert project.revision == revision and "nothing was imported" in texts(app)
    app.checkbox(key="import.leave_out").check().run()
    press(app, "Import 1 segment")
    assert project.edits.history()[0].act == "import_labels"


def test_columns_that_are_not_recognised_are_chosen_by_hand(project, show):
    file = project.bags.get(project.bags.ids()[0]).path
    app = show(project, "import_labels")
    upload(app, "calls.csv", f"wo;von;bis;vogel\n{file};0,5;1,25;Bittern\n")
    assert "choose the columns" in app.dataframe[0].value["Reason"][0]
    for field, heading in {"file": "wo", "start_s": "von", "end_s": "bis", "label": "vogel"}.items():
        app.selectbox(key=f"import.column.{field}").set_value(heading).run()
    assert "1 new class: Bittern" in texts(app)
    press(app, "Import 1 segment")
    (new,) = [one for one in project.segments.list(project.bags.ids()[0]) if one.origin == "drawn"]
    assert (new.left, new.right) == (0.5, 1.25)


def test_the_pattern_keeps_its_place_whatever_is_chosen_above_it(project, show):
    app = show(project, "import_labels")
    place = place_of(app, app.text_input(key="import.pattern"))
    for way in ("tags", "suggestions", "segments"):
        app.radio(key="import.way").set_value(way).run()
        assert place_of(app, app.text_input(key="import.pattern")) == place


@pytest.mark.parametrize("page", ["library", "train", "review", "wall", "map", "export"])
def test_pages_show_imported_suggestions_like_predictions(project, show, page):
    file = project.bags.get(project.bags.ids()[0]).path
    app = show(project, "import_labels", import__way="suggestions")
    upload(app, "calls.csv", f"file,start_s,end_s,low_hz,high_hz,label,score\n{file},0.1,0.3,300,400,Wren,0.95\n")
    app.slider(key="import.score").set_value(1.0).run()
    assert app.button(key="import.start").disabled, "all scores are lower"
    app.slider(key="import.score").set_value(0.95).run()
    press(app, "Import 1 suggestion")
    assert project.runs.current().model == "imported"
    app = show(project, page)
    assert not app.error
    if page == "train":
        assert "At 0.90: 1 segment, about 95" in texts(app)
