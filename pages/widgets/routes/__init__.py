"""The app's doors besides Streamlit's own: what the canvas fetches and what it sends.

Every door is guarded (see `doors`); each file says what passes through it.
"""

from starlette.routing import Route

from pages.widgets.routes.assets import send_asset
from pages.widgets.routes.bags import send_bag, send_news
from pages.widgets.routes.doors import guarded
from pages.widgets.routes.edits import take_edits
from pages.widgets.routes.images import send_image
from pages.widgets.routes.previews import send_preview
from pages.widgets.routes.sound import send_sound

_PROJECT = "/bagtag/{project}"


def canvas_routes() -> list[Route]:
    """All routes of the canvas, for `st.App`."""
    return [
        Route("/bagtag/assets/{version}/{name}", send_asset, methods=["GET"]),
        Route(f"{_PROJECT}/news", guarded(send_news), methods=["GET"]),
        Route(f"{_PROJECT}/bag/{{bag:int}}", guarded(send_bag), methods=["GET"]),
        Route(f"{_PROJECT}/image/{{bag:int}}", guarded(send_image), methods=["GET"]),
        Route(f"{_PROJECT}/sound/{{bag:int}}", guarded(send_sound, by_address=True), methods=["GET"]),
        Route(f"{_PROJECT}/preview/{{preview}}", guarded(send_preview), methods=["GET"]),
        Route(f"{_PROJECT}/edits", guarded(take_edits), methods=["POST"]),
    ]
