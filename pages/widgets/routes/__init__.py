"""The routes of the canvas, besides Streamlit's own: what it fetches and what it sends. `auth` protects them all."""

import sys

from starlette.routing import Route

from pages.widgets.routes.assets import send_asset
from pages.widgets.routes.auth import guarded, send_nothing
from pages.widgets.routes.bags import send_bag, send_news, send_next
from pages.widgets.routes.counters import send_counters, take_retraining
from pages.widgets.routes.edits import take_edits
from pages.widgets.routes.images import send_image
from pages.widgets.routes.previews import send_preview
from pages.widgets.routes.queue import send_queue
from pages.widgets.routes.sound import send_sound
from pages.widgets.routes.suggestions import send_suggestions
from pages.widgets.routes.view import take_band
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
        Route(f"{_PROJECT}/news", guarded(send_news), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}", guarded(send_bag), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}/next", guarded(send_next), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:id}}/suggestions", guarded(send_suggestions, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/image/{{bag:id}}", guarded(send_image, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/sound/{{bag:id}}", guarded(send_sound, by_address=True, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/preview/{{preview}}", guarded(send_preview), methods=["GET"]),
        Route(f"{_PROJECT}/queue", guarded(send_queue, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/wall", guarded(send_wall, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/wall/items", guarded(send_wall_items, at_once=4), methods=["GET"]),
        Route(f"{_PROJECT}/wall/cutouts", guarded(send_cutouts, at_once=3), methods=["GET"]),
        Route(f"{_PROJECT}/wall/large/{{segment:id}}", guarded(send_large_cutout, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/counters", guarded(send_counters, at_once=2), methods=["GET"]),
        Route(f"{_PROJECT}/retraining", guarded(take_retraining, at_once=1), methods=["POST"]),
        Route(f"{_PROJECT}/view-band", guarded(take_band, at_once=2), methods=["POST"]),
        Route(f"{_PROJECT}/edits", guarded(take_edits), methods=["POST"]),
        Route("/bagtag/{rest:path}", send_nothing, methods=["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]),
    ]
