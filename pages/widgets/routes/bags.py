"""A bag as the canvas draws it: outlines in real units, labels, guesses, tags and classes; and what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Bag, Class, Prediction, Project, Segment
from pages.widgets.routes.doors import number_in
from pages.widgets.routes.images import image_version, placement
from pages.widgets.routes.json_response import JSONResponse

MOST_GUESSES = 6
_LEAST_GUESS = 0.005
_DECIMALS = {"sound": (4, 1), "picture": (1, 1)}


def send_news(request: Request, project: Project) -> Response:
    """Which bags and topics changed after a revision."""
    return JSONResponse(asdict(project.news(int(number_in(request, "since", 0, 2**53, 0)))))


def send_bag(request: Request, project: Project) -> Response:
    """Everything about one bag except its picture and sound."""
    bag = project.bag(request.path_params["bag"])
    image = image_version(project, bag)
    etag = f'W/"{project.revision}-{image}"'
    headers = {"ETag": etag, "Cache-Control": "private, no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return JSONResponse(described(project, bag, image), headers=headers)


def described(project: Project, bag: Bag, image: str) -> dict[str, Any]:
    """The bag in JSON; the revision is read first, so that what is missed is found by the next look for news."""
    revision = project.revision
    kind = project.kind
    extent, rate = placement(project, bag)
    return {
        **heading(project, bag),
        "revision": revision,
        "image": image,
        "extent": extent,
        "rate": rate,
        "segments": [_segment(segment, kind) for segment in project.segments(bag.id)],
        "suggestions": [[found.class_id, round(found.probability, 3)] for found in project.tag_suggestions(bag.id)],
    }


def heading(project: Project, bag: Bag) -> dict[str, Any]:
    """What is said of a bag as a whole, and the classes to choose from."""
    return {
        "id": bag.id,
        "name": bag.name,
        "kind": project.kind,
        "tags": {str(class_id): value for class_id, value in bag.tags.items()},
        "finished": bag.finished,
        "rest_unknown": bag.rest_unknown,
        "classes": [_class(one) for one in project.classes()],
    }


def flat_rings(outline: Iterable[Sequence[Sequence[float]]], kind: str) -> list[list[float]]:
    """Rings as x, y, x, y ... with as many decimals as can be seen."""
    of_x, of_y = _DECIMALS[kind]
    return [[n for x, y in ring for n in (round(float(x), of_x), round(float(y), of_y))] for ring in outline]


def _segment(segment: Segment, kind: str) -> dict[str, Any]:
    return {
        "id": segment.id,
        "number": segment.number,
        "rings": flat_rings(segment.outline, kind),
        "label": segment.label,
        "accepted": segment.accepted,
        "origin": segment.origin,
        "guesses": [] if segment.prediction is None else _guesses(segment.prediction),
        "free": None if segment.prediction is None else segment.prediction.free_top,
        "contradicts": segment.prediction is not None and segment.prediction.contradicts,
    }


def _guesses(prediction: Prediction) -> list[list[float]]:
    """The likeliest labels, first first."""
    likeliest = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])[:MOST_GUESSES]
    return [[label, round(p, 3)] for place, (label, p) in enumerate(likeliest) if p >= _LEAST_GUESS or place == 0]


def _class(one: Class) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "colour": one.colour,
        "shortcut": one.shortcut,
        "scientific_name": one.scientific_name,
        "bags": one.n_bags,
    }
