"""The queue of a page in batches: segments to review, or bags to tag."""

from __future__ import annotations

import math

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Project
from miml_core.project.db.rows import LARGEST_ID
from miml_core.project.services.bags import BagFilter, BagSort
from miml_core.project.services.review import QueueOrder
from pages.widgets.routes.auth import NotAllowed, choice_in, number_in
from pages.widgets.routes.json_response import JSONResponse

BATCH = 100


def send_queue(request: Request, project: Project) -> Response:
    """Send the next items, as [bag, segment or null] pairs, and where the batch after them begins.

    `order` (and `class`) asks for segments to review, `after` for those behind an earlier batch. `show` and `sort` ask
    for bags, which come all at once. `after` of the response is null at the end of the list.
    """
    if "order" in request.query_params:
        return JSONResponse(_segments(request, project))
    show, sort = choice_in(request, "show", BagFilter, "all"), choice_in(request, "sort", BagSort, "added")
    bags = project.bags.ids(show=show, sort=sort, descending=sort == "doubt")  # the most uncertain first
    return JSONResponse({"items": [[bag, None] for bag in bags], "after": None})


def _segments(request: Request, project: Project) -> dict[str, object]:
    order = choice_in(request, "order", QueueOrder, "least_sure")
    class_id = int(number_in(request, "class", 1, LARGEST_ID, 0)) or None
    found = project.review.page(order, class_id=class_id, after=_after(request), limit=BATCH)
    last = found[-1] if len(found) == BATCH else None
    return {
        "items": [[one.bag_id, one.segment_id] for one in found],
        "after": None if last is None else f"{last.score!r},{last.segment_id}",
    }


def _after(request: Request) -> tuple[float, int] | None:
    """Return the score and id that a batch ended with."""
    text = request.query_params.get("after")
    if text is None:
        return None
    score, _, segment = text.partition(",")
    try:
        place = (int(score) if score.lstrip("-").isdecimal() else float(score)), int(segment)
    except ValueError:
        place = math.nan, 0
    if not -(2**63) <= place[0] < 2**63 or not 0 < place[1] < LARGEST_ID:
        raise NotAllowed(400, "after must be a number and the id of a segment.")
    return place
