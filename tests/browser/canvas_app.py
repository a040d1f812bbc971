"""The app of the canvas tests: the real routes and checks, around `canvas_script` and around a page without Streamlit.

The page of Streamlit takes more than a second to open; what the editor does by itself is tested on a page that has
nothing else (`/canvas`).
"""

import json
import os
import secrets
from pathlib import Path

import streamlit as st
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from miml_core.project import Project
from pages.widgets.app.open_projects import open_once
from pages.widgets.app.server import lifespan, middleware
from pages.widgets.canvas.component import canvas_data
from pages.widgets.routes import canvas_routes

_PAGE = """<!doctype html><title>Canvas</title><div data-testid="stBidiComponentIsolated"></div><script type="module">
const data = DATA;
const parentElement = document.querySelector("div").attachShadow({ mode: "open" });
const { default: show } = await import(`/bagtag/assets/${data.assets}/loader.js`);
const ignore = () => {};
await show({ parentElement, data, key: data.name, setStateValue: ignore, setTriggerValue: ignore });
</script>"""


def send_canvas(request: Request) -> HTMLResponse:
    """Send a page with one canvas, controlled by its address."""
    asked = request.query_params
    folder = Path(os.environ["CANVAS_PROJECTS"]) / asked.get("in", "sound") / "project"
    project = Project(open_once(folder).store, "Ann")
    bag = {"id": secrets.token_hex(8), "bag": int(asked["bag"]), "segment": None} if "bag" in asked else None
    order = {"order": asked["order"]} if "order" in asked else {"show": asked.get("show", "all"), "sort": "added"}
    height, mode = int(asked.get("height", 400)), asked.get("mode", "review")
    data = canvas_data(project, None, bag, mode=mode, queue=order, height=height, key="editor")
    return HTMLResponse(_PAGE.replace("DATA", json.dumps(data).replace("<", "\\u003c")))


routes = [Route("/canvas", send_canvas), *canvas_routes()]
app = st.App("canvas_script.py", routes=routes, middleware=middleware(), lifespan=lifespan)
