"""What Streamlit runs for every visitor and every click: the page's title and mark, then the page asked for.

It lies among the pages, not beside their folder: Streamlit takes a folder `pages` beside its script for a list of
pages to run on their own, without the frame, until that script has run once.
"""

from pathlib import Path

import streamlit as st

from pages.widgets.frame import frame

ASSETS = Path(__file__).resolve().parents[1] / "assets"

st.set_page_config("Bagtag", page_icon=str(ASSETS / "mark.svg"), layout="wide")
st.logo(str(ASSETS / "logo.svg"), icon_image=str(ASSETS / "mark.svg"), size="large")
frame()
