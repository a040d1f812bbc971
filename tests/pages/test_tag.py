"""Which bags are offered for tagging."""

from pages.widgets.current_bag import ask_for
from tests.pages.conftest import press, texts


def unfinished(project, n):
    for bag in project.bag_ids()[:n]:
        project.unfinish(bag)
    return project.bag_ids()[:n]


def test_unfinished_bags_come_one_after_another(project, show, canvases):
    bags = unfinished(project, 2)
    show(project, "tag")
    assert canvases["tag.canvas"].mode == "tag"
    assert canvases["tag.canvas"].queue == bags
    assert canvases["tag.canvas"].bag_id == bags[0]


def test_a_finished_bag_stays_in_the_list_until_a_new_one_is_asked_for(project, show, canvases):
    bags = unfinished(project, 3)
    app = show(project, "tag")
    project.finish(bags[0])
    app.run()
    assert canvases["tag.canvas"].queue == bags
    press(app, "New list")
    assert canvases["tag.canvas"].queue == bags[1:]
    assert canvases["tag.canvas"].bag_id == bags[1]


def test_the_bag_asked_for_in_the_library_is_shown_though_it_is_finished(project, show, canvases):
    unfinished(project, 2)
    wanted = project.bag_ids()[3]
    show(project, "tag", bag__asked=(str(project.folder), wanted), bag__looked_at=(str(project.folder), wanted))
    assert canvases["tag.canvas"].bag_id == wanted
    assert wanted in canvases["tag.canvas"].queue


def test_play_on_arrival_is_passed_on(project, show, canvases):
    unfinished(project, 1)
    app = show(project, "tag")
    assert not canvases["tag.canvas"].autoplay
    app.toggle(key="tag.play").set_value(True).run()
    assert canvases["tag.canvas"].autoplay


def test_when_all_is_tagged_the_way_leads_to_training(project, show):
    assert "Every bag is finished" in texts(show(project, "tag"))


def test_pictures_are_not_played(pictures, show):
    unfinished(pictures, 1)
    assert not [one for one in show(pictures, "tag").toggle if one.label == "Play on arrival"]


def test_asking_for_a_bag_holds_for_its_project_only(project, pictures, monkeypatch):
    state = {}
    monkeypatch.setattr("pages.widgets.current_bag.st.session_state", state)
    from pages.widgets.current_bag import asked_bag, current_bag

    ask_for(project, 3)
    assert current_bag(pictures, [1, 3]) == 1
    assert current_bag(project, [1, 3]) == 3
    assert asked_bag(pictures) is None
