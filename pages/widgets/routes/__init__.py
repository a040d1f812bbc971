"""The routes of the canvas, besides Streamlit's own: what it fetches and what it sends. `auth` protects them all."""

import sys

from starlette.routing import Route

from pages.widgets.routes.assets import send_asset
from pages.widgets.routes.auth import authorised_route, send_nothing
from pages.widgets.routes.bags import send_bag, send_news, send_next
from pages.widgets.routes.counters import send_counters, start_retraining
from pages.widgets.routes.edits import apply_edits
from pages.widgets.routes.images import send_image
from pages.widgets.routes.page_state import send_project_state, send_work_state
from pages.widgets.routes.previews import send_preview
from pages.widgets.routes.queue import send_queue
from pages.widgets.routes.sound import send_sound
from pages.widgets.routes.suggestions import send_suggestions
from pages.widgets.routes.view import store_view_band
from pages.widgets.routes.wall import send_cutouts, send_large_cutout, send_wall, send_wall_items

_PROJECT = "/bagtag/{project}"
_SWITCH_SECONDS = 0.0005
"""How long a thread that computes may keep one that stores an edit waiting for Python, after each of its statements.
Python's own 5 ms made 20 statements of an edit take 100 ms while a bag was predicted in another thread."""


def canvas_routes() -> list[Route]:
    """Return all routes of the canvas, for `st.App`."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    return [
        Route("/bagtag/assets/{version}/{name}", send_asset, methods=["GET"]),
        Route("/bagtag/work/{work}", authorised_route(send_work_state, of_project=False), methods=["GET"]),
        Route(f"{_PROJECT}/state", authorised_route(send_project_state), methods=["GET"]),
        Route(f"{_PROJECT}/news", authorised_route(send_news), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}", authorised_route(send_bag), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}/next", authorised_route(send_next), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}/suggestions", authorised_route(send_suggestions, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/image/{{bag:id}}", authorised_route(send_image, at_once=4), methods=["GET"]),
        Route(
            f"{_PROJECT}/sound/{{bag:id}}", authorised_route(send_sound, by_address=True, at_once=4), methods=["GET"]
        ),
        Route(f"{_PROJECT}/preview/{{preview}}", authorised_route(send_preview), methods=["GET"]),
        Route(f"{_PROJECT}/queue", authorised_route(send_queue, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/wall", authorised_route(send_wall, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/wall/items", authorised_route(send_wall_items, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/wall/cutouts", authorised_route(send_cutouts, at_once=3), methods=["GET"]),
        Route(f"{_PROJECT}/wall/large/{{segment:id}}", authorised_route(send_large_cutout, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/counters", authorised_route(send_counters, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/retraining", authorised_route(start_retraining, at_once=1), methods=["POST"]),
        Route(f"{_PROJECT}/view-band", authorised_route(store_view_band, at_once=2), methods=["POST"]),
        Route(f"{_PROJECT}/edits", authorised_route(apply_edits), methods=["POST"]),
        Route("/bagtag/{rest:path}", send_nothing, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
    ]
