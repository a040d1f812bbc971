"""Two pages that take a moment to draw, with a fragment to click in and one that polls: see `stalled_app`."""

import time

import streamlit as st

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
    st.button("Click", on_click=lambda: st.session_state.update(clicks=st.session_state.clicks + 1))
    time.sleep(0.15)
    st.text(f"{st.session_state.clicks} clicks")


@st.fragment(run_every=0.1)
def poll() -> None:
    st.empty()


pages = [st.Page(morning, title="Morning", default=True), st.Page(evening, title="Evening")]
page = st.navigation(pages, position="top")
clicks()
poll()
page.run()
