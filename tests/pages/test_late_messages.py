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


def begun(page: str, kind: str = "new_session", fragment: str = "") -> bytes:
    message = ForwardMsg()
    getattr(message, kind).page_script_hash = page
    if fragment:
        message.metadata.run.fragment_ids.append(fragment)
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
    visit.from_server(begun("review", fragment="panel"))
    assert page_of(visit.from_browser(rerun("review", "panel"))) == "tag"


def test_what_cannot_be_read_passes_unchanged():
    visit = Visit()
    assert visit.from_browser(b"\xff\xff nonsense") == b"\xff\xff nonsense"
    visit.from_server(b"\xff\xff nonsense")
    assert visit.page == ""


def polled(page: str, fragment: str = "strip", pressed: bool = False) -> bytes:
    message = BackMsg.FromString(rerun(page, fragment))
    message.rerun_script.is_auto_rerun = True
    message.rerun_script.widget_states.widgets.add(id="name", string_value="half a na")
    if pressed:
        message.rerun_script.widget_states.widgets.add(id="button", trigger_value=True)
    return message.SerializeToString()


def finished(fragment: str = "") -> bytes:
    message = ForwardMsg()
    message.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    if fragment:
        message.metadata.run.fragment_ids.append(fragment)
    return message.SerializeToString()


def test_what_a_fragment_sends_by_itself_has_no_button_in_it():
    visit = Visit()
    visit.from_browser(rerun("train"))
    visit.from_server(begun("train"))
    visit.from_server(finished())
    sent = BackMsg.FromString(visit.from_browser(polled("train", pressed=True))).rerun_script
    assert [state.id for state in sent.widget_states.widgets] == ["name"] and sent.fragment_id == "strip"
    assert visit.from_browser(pressed("train")) == pressed("train"), "the button's own message follows"


def test_what_a_fragment_of_a_page_that_was_left_sends_by_itself_is_dropped():
    visit = Visit()
    visit.from_browser(rerun("train"))
    visit.from_server(begun("train"))
    visit.from_server(finished())
    assert visit.from_browser(polled("train")) == polled("train")
    visit.from_browser(rerun("review"))
    assert visit.from_browser(polled("train")) is None
    visit.from_server(begun("review"))
    visit.from_server(finished())
    assert visit.from_browser(polled("train")) is None, "the browser has not read of the new page yet"
    assert visit.from_browser(polled("review")) == polled("review")


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pages.widgets.app.late_messages.time.monotonic", lambda: now[0])
    return now


def test_a_link_that_the_server_lost_is_asked_for_again_once(clock):
    visit = Visit()
    visit.from_browser(rerun("welcome"))
    visit.from_server(begun("welcome"))
    visit.from_browser(rerun("review"))
    visit.from_server(begun("library"))  # the server switched to it, and joined the request for the review to that
    visit.from_server(finished())
    assert visit.from_browser(polled("library")) is None, "the run of the review may be about to begin"
    clock[0] += 2
    assert visit.from_browser(polled("library")) == rerun("review")
    visit.from_server(begun("library"))
    visit.from_server(finished())
    clock[0] += 2
    assert visit.from_browser(polled("library")) == polled("library"), "it stays where the server wants it"


@pytest.mark.parametrize("message", [rerun("library", "panel"), pressed("library"), rerun("train")])
def test_what_a_person_does_meanwhile_is_done_instead_of_a_link_that_was_lost(clock, message):
    visit = Visit()
    visit.from_browser(rerun("welcome"))
    visit.from_server(begun("welcome"))
    visit.from_browser(rerun("review"))
    visit.from_server(begun("library"))
    visit.from_server(finished())
    clock[0] += 2
    assert visit.from_browser(message) == message
    clock[0] += 2
    assert visit.from_browser(polled(page_of(message))) == polled(page_of(message)), (
        "the link is not asked for any more"
    )


def test_a_page_whose_run_begins_late_is_not_asked_for_again(clock):
    visit = Visit()
    visit.from_browser(rerun("welcome"))
    visit.from_browser(rerun("review"))
    visit.from_server(begun("library"))
    visit.from_server(finished())
    visit.from_server(begun("review"))
    clock[0] += 60  # the run takes long
    visit.from_server(finished())
    assert visit.from_browser(polled("review")) == polled("review")


def changed(page: str, value: str) -> bytes:
    message = BackMsg.FromString(rerun(page))
    message.rerun_script.widget_states.widgets.add(id="name", string_value=value)
    return message.SerializeToString()


def arrive(visit: Visit, page: str) -> None:
    visit.from_browser(rerun(page))
    visit.from_server(begun(page))
    visit.from_server(finished())


def test_a_value_that_changes_while_the_server_switches_to_another_page_does_not_ask_for_the_page_left(clock):
    visit = Visit()
    arrive(visit, "welcome")
    assert visit.from_browser(changed("welcome", "half")) == changed("welcome", "half")
    visit.from_server(begun("library"))  # the server switched to it, and joined the request to that
    visit.from_server(finished())
    clock[0] += 2
    assert visit.from_browser(polled("library")) == polled("library")


@pytest.mark.parametrize("has_arrived", [False, True])
def test_a_value_of_a_page_that_was_left_counts_for_the_page_a_person_went_to(has_arrived):
    visit = Visit()
    arrive(visit, "export")
    visit.from_browser(changed("export", "a"))
    visit.from_browser(rerun("review"))
    if has_arrived:  # the browser has not read of it yet
        visit.from_server(begun("review"))
    late = BackMsg.FromString(visit.from_browser(changed("export", "b"))).rerun_script
    assert (late.page_script_hash, late.widget_states.widgets[0].string_value) == ("review", "b")
    assert page_of(visit.from_browser(changed("export", "b"))) == "export", "a person may go back"


def test_a_page_whose_run_never_begins_is_given_up_when_nothing_has_run_for_long(clock):
    visit = Visit()
    arrive(visit, "train")
    visit.from_browser(rerun("review"))
    clock[0] += 20
    assert visit.from_browser(polled("train")) is None, "a busy computer may take this long"
    clock[0] += 20
    assert visit.from_browser(polled("train")) == polled("train")


def test_a_page_is_awaited_as_long_as_the_run_before_it_goes_on(clock):
    visit = Visit()
    arrive(visit, "train")
    visit.from_server(begun("train", fragment="panel"))
    visit.from_browser(rerun("review"))
    clock[0] += 300
    assert visit.from_browser(polled("train")) is None


def delta() -> bytes:
    message = ForwardMsg()
    message.delta.new_element.text.body = "drawn"
    return message.SerializeToString()


def test_what_a_fragment_draws_while_another_page_is_awaited_is_not_sent():
    visit = Visit()
    arrive(visit, "library")
    assert visit.from_server(begun("library", fragment="list")) and visit.from_server(delta())
    visit.from_browser(rerun("train"))
    assert visit.from_server(delta()) and visit.from_server(finished("list")), "the browser knows of this run"
    run = (begun("library", fragment="list"), delta(), finished("list"))
    assert [visit.from_server(message) for message in run] == [False] * 3
    assert visit.from_server(begun("train")) and visit.from_server(delta()) and visit.from_server(finished())
    assert all(visit.from_server(message) for message in run), "nothing is awaited"


def test_what_the_server_sends_besides_drawing_is_sent_while_another_page_is_awaited():
    visit = Visit()
    arrive(visit, "library")
    visit.from_browser(rerun("train"))
    assert not visit.from_server(begun("library", fragment="list"))
    message = ForwardMsg()
    message.session_status_changed.script_is_running = True
    assert visit.from_server(message.SerializeToString())
