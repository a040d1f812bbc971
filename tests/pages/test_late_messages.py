"""Messages of a page that was left count for the page a person went to."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.widgets.app.late_messages import Visit


def rerun(page: str, fragment: str = "") -> bytes:
    message = BackMsg()
    message.rerun_script.page_script_hash = page
    message.rerun_script.fragment_id = fragment
    return message.SerializeToString()


def pressed(page: str) -> bytes:
    message = BackMsg.FromString(rerun(page))
    message.rerun_script.widget_states.widgets.add(id="button", trigger_value=True)
    return message.SerializeToString()


def begun(page: str, kind: str = "new_session") -> bytes:
    message = ForwardMsg()
    getattr(message, kind).page_script_hash = page
    return message.SerializeToString()


def page_of(content: bytes) -> str:
    return BackMsg.FromString(content).rerun_script.page_script_hash


def test_a_fragment_that_sends_after_a_click_on_another_page_does_not_bring_its_page_back():
    visit = Visit()
    visit.from_browser(rerun("segment"))
    assert page_of(visit.from_browser(rerun("segment", "panel"))) == "segment"
    assert page_of(visit.from_browser(rerun("tag"))) == "tag"
    late = BackMsg.FromString(visit.from_browser(rerun("segment", "panel")))
    assert (late.rerun_script.page_script_hash, late.rerun_script.fragment_id) == ("tag", "panel")
    assert page_of(visit.from_browser(rerun("segment"))) == "segment", "a person may go back at once"


def test_a_button_whose_message_comes_after_a_click_on_another_page_is_pressed_there():
    visit = Visit()
    assert page_of(visit.from_browser(pressed("train"))) == "train", "nobody went anywhere yet"
    visit.from_browser(rerun("train"))
    visit.from_browser(rerun("review"))
    late = BackMsg.FromString(visit.from_browser(pressed("train"))).rerun_script
    assert late.page_script_hash == "review" and late.widget_states.widgets[0].trigger_value


def test_a_page_that_the_server_switches_to_counts_as_well():
    visit = Visit()
    visit.from_browser(rerun("welcome"))
    visit.from_server(begun("welcome"))
    visit.from_server(begun("review", "navigation"))
    assert page_of(visit.from_browser(rerun("welcome", "demo"))) == "review"


@pytest.mark.parametrize("kind", ["new_session", "navigation"])
def test_a_page_asked_for_earlier_that_begins_after_the_click_does_not_count_as_going_back(kind):
    visit = Visit()
    visit.from_browser(rerun("welcome"))
    visit.from_server(begun("welcome"))
    visit.from_browser(rerun("review"))
    visit.from_server(begun("library", kind))  # what the server switched to before it read of the click
    assert page_of(visit.from_browser(rerun("library", "bags"))) == "review"
    visit.from_server(begun("review"))
    visit.from_server(begun("train", kind))
    assert page_of(visit.from_browser(rerun("review", "panel"))) == "train", "the page itself switched to another"


def test_a_page_that_does_not_exist_is_not_awaited():
    visit = Visit()
    visit.from_browser(rerun("gone"))
    message = ForwardMsg()
    message.page_not_found.page_name = "gone"
    visit.from_server(message.SerializeToString())
    visit.from_server(begun("welcome"))
    assert page_of(visit.from_browser(rerun("gone", "demo"))) == "welcome"


def test_the_run_of_a_fragment_that_begins_after_the_click_does_not_count_as_going_back():
    visit = Visit()
    visit.from_browser(rerun("review"))
    visit.from_browser(rerun("tag"))
    message = ForwardMsg()
    message.new_session.page_script_hash = "review"
    message.metadata.run.fragment_ids.append("panel")
    visit.from_server(message.SerializeToString())
    assert page_of(visit.from_browser(rerun("review", "panel"))) == "tag"


def test_what_cannot_be_read_passes_unchanged():
    visit = Visit()
    assert visit.from_browser(b"\xff\xff nonsense") == b"\xff\xff nonsense"
    visit.from_server(b"\xff\xff nonsense")
    assert visit.page == ""
