"""What Streamlit runs for every visitor and every click: the page's title and mark, then the page asked for."""

import streamlit as st

from pages.widgets.frame import frame

st.set_page_config("Bagtag", page_icon="assets/mark.svg", layout="wide")
st.logo("assets/logo.svg", icon_image="assets/mark.svg", size="large")
frame()
