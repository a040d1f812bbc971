"""Two pages that take a moment to draw, with things to click on: see `stalled_app`."""

import time

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

LINES = 40


def draw(name: str) -> None:
    for line in range(LINES):
        st.text(f"{name} line {line}")
        time.sleep(0.005)


def morning() -> None:
    draw("Morning")


def evening() -> None:
    draw("Evening")


@st.fragment
def clicks() -> None:
    st.session_state.setdefault("clicks", 0)
    st.button("Click", key="click", on_click=lambda: st.session_state.update(clicks=st.session_state.clicks + 1))
    time.sleep(0.15)
    st.text(f"{st.session_state.clicks} clicks")


def count_when_overtaken() -> None:
    """Wait until the browser has asked for another run."""
    context = get_script_run_ctx()
    assert context is not None and context.script_requests is not None
    while context.script_requests._state == ScriptRequestType.CONTINUE:
        time.sleep(0.005)
    st.session_state["overtaken"] += 1


pages = [st.Page(morning, title="Morning", default=True), st.Page(evening, title="Evening")]
page = st.navigation(pages, position="top")
st.text(f"{st.session_state.setdefault('overtaken', 0)} overtaken")
st.button("Wait to be overtaken", on_click=count_when_overtaken)
clicks()
page.run()
