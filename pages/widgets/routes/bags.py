"""A bag as the canvas draws it: outlines in real units, labels, predictions, tags, classes; and what changed."""

from __future__ import annotations

import hashlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Bag, Class, Prediction, Project, Segment, SegmentSummary
from miml_core.project.db.rows import LARGEST_ID
from miml_core.project.jobs import repredict
from miml_core.project.review_records import Conflict
from pages.widgets.routes.auth import NotAllowed, number_in
from pages.widgets.routes.images import image_version, placement
from pages.widgets.routes.json_response import JSONResponse
from pages.widgets.routes.view import sound_view

MOST_GUESSES = 6
MOST_WHOLE = 500
"""Segments of a long bag up to which all are sent at once."""
MOST_ALSO = 100
LONG_SECONDS = 120.0
OPENING_SECONDS = 20.0
"""Of a sound longer than `LONG_SECONDS` a canvas shows this much first: calls are too small to see in more."""
DENSITY_BINS = 512
_LEAST_GUESS = 0.005
_KEPT = 16
_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_lock = threading.Lock()
Conflicts = dict[int, dict[str, Any]]
"""{segment id: what two annotators answered}."""
_DECIMALS = {"sound": (4, 1), "picture": (1, 1)}


def send_news(request: Request, project: Project) -> Response:
    """Send which bags and topics changed after a revision."""
    news = project.news(int(number_in(request, "since", 0, LARGEST_ID, 0)))
    repredict.note_revision(project.store, news.revision)
    return JSONResponse(asdict(news))


def send_bag(request: Request, project: Project) -> Response:
    """Send a bag with its segments, without pictures and sound.

    Of a long bag with many segments only those in a range of time come: `from` to `to` (seconds), or around a
    `segment`, `span` seconds wide; without either, those of the stretch a canvas opens with. Segments named by `also`
    come wherever they are.
    """
    bag = project.bags.get(request.path_params["bag"])
    image = image_version(project, bag)
    asked = hashlib.sha256(str(request.url.query).encode()).hexdigest()[:8]
    etag = f'W/"{project.revision}-{image}-{asked}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return JSONResponse(bag_json(project, bag, image, _asked_range(request, project, bag)), headers=headers)


def send_next(request: Request, project: Project) -> Response:
    """Send the id of the next (`step` 1) or previous (-1) segment by time, `after` a segment or `at` a time."""
    bag = project.bags.get(request.path_params["bag"])
    after = int(number_in(request, "after", 0, LARGEST_ID, 0)) or None
    at = number_in(request, "at", 0.0, 1e9, bag.start) if "at" in request.query_params else None
    found = project.segments.next(
        bag.id,
        after=after,
        at=at,
        step=1 if number_in(request, "step", -1, 1, 1) > 0 else -1,
        unchecked=number_in(request, "unchecked", 0, 1, 0) > 0,
        wrap=number_in(request, "wrap", 0, 1, 1) > 0,
    )
    return JSONResponse({"segment": found})


@dataclass(frozen=True)
class AskedRange:
    """Which segments of a long bag to send."""

    first: float
    last: float
    also: tuple[int, ...] = ()


def opening_range(project: Project, bag: Bag) -> tuple[float, float] | None:
    """Return the seconds a canvas shows of a long sound when it is opened; None: all of it."""
    if project.kind != "sound" or bag.duration <= LONG_SECONDS:
        return None
    return bag.start, bag.start + OPENING_SECONDS


def _asked_range(request: Request, project: Project, bag: Bag) -> AskedRange | None:
    opening = opening_range(project, bag)
    if opening is None or bag.n_segments <= MOST_WHOLE:
        return None
    also = _also(request)
    segment = int(number_in(request, "segment", 0, LARGEST_ID, 0))
    edges = project.segments.edges(bag.id, segment) if segment else None
    if edges is not None:
        span = number_in(request, "span", 0.001, 1e7, OPENING_SECONDS)
        middle = (edges[0] + edges[1]) / 2
        return AskedRange(middle - span, middle + span, also=(segment, *also))
    if "from" not in request.query_params:
        return AskedRange(*opening, also=also)
    first = number_in(request, "from", -1e7, 1e7)
    return AskedRange(first, number_in(request, "to", first, 1e7), also=also)


def _also(request: Request) -> tuple[int, ...]:
    parts = [part for part in request.query_params.get("also", "").split(",") if part]
    if len(parts) > MOST_ALSO or not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts):
        raise NotAllowed(400, f"also must be at most {MOST_ALSO} segment ids.")
    return tuple(int(part) for part in parts)


def bag_json(project: Project, bag: Bag, image: str, asked: AskedRange | None = None) -> dict[str, Any]:
    """Return the bag in JSON; the revision is read first, so that the next poll finds what it misses."""
    revision = project.revision
    place = placement(project, bag)
    found = project.review.conflicts(bag_id=bag.id)
    conflicts = {one.segment_id: _conflict(one) for one in found if one.segment_id is not None}
    return {
        **bag_header_json(project, bag),
        "revision": revision,
        "image": image,
        "extent": place.extent,
        "rate": place.rate,
        "tiles": place.tiling(),
        "opening": opening_range(project, bag),
        "view": sound_view(project),
        "sure_from": project.review.sure_from(),
        **(
            _some_segments(project, bag, asked, revision, place.extent, conflicts)
            if asked
            else _all_segments(project, bag, conflicts)
        ),
        "conflicts": [{"class": one.class_id, **_conflict(one)} for one in found if one.segment_id is None],
        "reasons": _reasons(project, bag, revision),
        "suggestions": [
            [found.class_id, round(found.probability, 3)] for found in project.review.tag_suggestions(bag.id)
        ],
    }


def _all_segments(project: Project, bag: Bag, conflicts: Conflicts) -> dict[str, Any]:
    """Return all segments; `range` and `counts` are null, because everything is here to be counted."""
    kind = project.kind
    segments = [_segment(segment, kind, conflicts) for segment in project.segments.list(bag.id)]
    return {"segments": segments, "range": None, "counts": None}


def _some_segments(
    project: Project, bag: Bag, asked: AskedRange, revision: int, extent: dict[str, Any], conflicts: Conflicts
) -> dict[str, Any]:
    found = project.segments.between(bag.id, asked.first, asked.last, also=asked.also)
    counted = _counted(project, bag, revision, extent)
    kind = project.kind
    return {
        "segments": [_segment(one, kind, conflicts, boxed=True) for one in found.segments],
        "range": {"from": found.first, "to": found.last, "total": found.total, "detail": found.detail},
        "counts": {
            "segments": counted.n_segments,
            "checked": counted.n_checked,
            "labels": {str(label): number for label, number in counted.labels.items()},
            "unsure": counted.n_unsure,
            "density": counted.density,
        },
    }


def _counted(project: Project, bag: Bag, revision: int, extent: dict[str, Any]) -> SegmentSummary:
    name = (str(project.folder), bag.id, revision, extent["left"], extent["right"])
    return _keep(name, lambda: project.segments.summary(bag.id, extent["left"], extent["right"], DENSITY_BINS))


def _reasons(project: Project, bag: Bag, revision: int) -> list[dict[str, Any]]:
    """Return the segment that explains each tag best, with the number it has on screen."""
    return _keep((str(project.folder), bag.id, revision, "reasons"), lambda: _find_reasons(project, bag))


def _find_reasons(project: Project, bag: Bag) -> list[dict[str, Any]]:
    reasons = project.review.tag_reasons(bag.id)
    if not reasons:
        return []
    numbers = {one.id: one.number for one in project.segments.list(bag.id, predictions=False, outlines=False)}
    return [
        {
            "class": one.class_id,
            "segment": one.segment_id,
            "number": numbers[one.segment_id],
            "probability": round(one.probability, 3),
            "concept": one.concept,
            "concepts": one.n_concepts,
        }
        for one in reasons
        if one.segment_id in numbers
    ]


def _keep(name: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    """Return what was made for a name; kept until the project changes, since every move of the view asks for it."""
    made = _kept.get(name)
    if made is None:
        made = make()
        with _lock:
            _kept[name] = made
            while len(_kept) > _KEPT:
                _kept.popitem(last=False)
    return made


def bag_header_json(project: Project, bag: Bag) -> dict[str, Any]:
    """Return the bag without its segments, and the classes to choose from."""
    return {
        "id": bag.id,
        "name": bag.name,
        "kind": project.kind,
        "tags": {str(class_id): value for class_id, value in bag.tags.items()},
        "finished": bag.finished,
        "rest_unknown": bag.rest_unknown,
        "classes": [class_fields(one) for one in project.classes.list()],
    }


def flat_rings(outline: Iterable[Sequence[Sequence[float]]], kind: str) -> list[list[float]]:
    """Return rings as x, y, x, y ... with as many decimals as can be seen."""
    of_x, of_y = _DECIMALS[kind]
    return [[n for x, y in ring for n in (round(float(x), of_x), round(float(y), of_y))] for ring in outline]


def _conflict(one: Conflict) -> dict[str, Any]:
    """Return what two annotators answered: labels, or 1 and -1 for a tag."""
    return {"ours": one.ours, "ours_by": one.ours_by, "theirs": one.theirs, "theirs_by": one.theirs_by}


def _segment(segment: Segment, kind: str, conflicts: Conflicts, *, boxed: bool = False) -> dict[str, Any]:
    """Return a segment; `boxed` adds the exact edges, and draws a segment that has no outline as their box."""
    edges = segment.left, segment.right, segment.low, segment.high
    outline = segment.outline or [_corners(*edges)]
    return {
        "id": segment.id,
        "number": segment.number,
        "rings": flat_rings(outline, kind),
        **({"edges": edges} if boxed else {}),
        "label": segment.label,
        "accepted": segment.accepted,
        "checked_by": segment.checked_by,
        "annotator": segment.annotator,
        "origin": segment.origin,
        "guesses": [] if segment.prediction is None else _guesses(segment.prediction),
        "free": None if segment.prediction is None else segment.prediction.free_top,
        "contradicts": segment.prediction is not None and segment.prediction.contradicts,
        "conflict": conflicts.get(segment.id),
    }


def _corners(left: float, right: float, low: float, high: float) -> list[tuple[float, float]]:
    return [(left, high), (right, high), (right, low), (left, low)]


def _guesses(prediction: Prediction) -> list[list[float]]:
    """Return the likeliest labels with their probabilities, the likeliest first."""
    likeliest = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])[:MOST_GUESSES]
    kept = [pair for place, pair in enumerate(likeliest) if pair[1] >= _LEAST_GUESS or place == 0]
    return [[label, rounded_down(probability)] for label, probability in kept]


def rounded_down(probability: float) -> float:
    """Return a probability with three decimals, rounded down: none passes the threshold of a label by rounding."""
    return math.floor(1000 * probability + 1e-9) / 1000


def class_fields(one: Class) -> dict[str, Any]:
    """Return a class as the browser needs it."""
    return {
        "id": one.id,
        "name": one.name,
        "colour": one.colour,
        "shortcut": one.shortcut,
        "scientific_name": one.scientific_name,
        "bags": one.n_bags,
    }
