"""Sound of a bag: any stretch of it, slowed down, in a band, as a WAV with ranges."""

from __future__ import annotations

import hashlib
import re
import threading
from collections import OrderedDict

from starlette.requests import Request
from starlette.responses import Response

from miml_core.project import Bag, Project
from pages.widgets.routes.auth import NotAllowed, number_in

LONGEST_CLIP = 60.0
_KEPT_BYTES = 64 * 2**20
_LONGEST_PLAYBACK = 20 * LONGEST_CLIP
"""Seconds of sound a slowed clip may last: at 8 kHz, the lowest rate of a clip, 20 MB."""
_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")
"""A number with more digits makes the header unreadable, and one that cannot be read is ignored (RFC 9110, 14.2)."""

_clips: OrderedDict[str, bytes] = OrderedDict()
_lock = threading.Lock()


def send_sound(request: Request, project: Project) -> Response:
    """Send a stretch (`start`, `end` in seconds of the recording) at `factor` times its speed, from `low` to `high`."""
    bag = project.bags.get(request.path_params["bag"])
    start, end = _stretch(request, bag)
    factor = number_in(request, "factor", 0.01, 4.0, 1.0)
    if (end - start) / factor > _LONGEST_PLAYBACK + 1:
        raise NotAllowed(400, f"A clip lasts at most {_LONGEST_PLAYBACK:g} s when it is slowed down.")
    band = _band(request)
    content, etag = _clip(project, bag, start, end, factor, band)
    headers = {"ETag": etag, "Cache-Control": "private, max-age=600", "Accept-Ranges": "bytes"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return _ranged(request, content, headers, etag)


def _stretch(request: Request, bag: Bag) -> tuple[float, float]:
    start = number_in(request, "start", 0.0, 1e7, bag.start)
    end = number_in(request, "end", 0.0, 1e7, bag.end)
    start, end = max(start, bag.start), min(end, bag.end)
    if not 0 < end - start <= LONGEST_CLIP + 1e-3:
        raise NotAllowed(400, f"A clip lies inside its bag and is at most {LONGEST_CLIP:g} s long.")
    return start, end


def _band(request: Request) -> tuple[float, float] | None:
    if "low" not in request.query_params and "high" not in request.query_params:
        return None
    low, high = number_in(request, "low", 0.0, 1e6), number_in(request, "high", 0.0, 1e6)
    if not low < high:
        raise NotAllowed(400, "The lower end of a band must be below its upper end.")
    return low, high


def _clip(
    project: Project, bag: Bag, start: float, end: float, factor: float, band: tuple[float, float] | None
) -> tuple[bytes, str]:
    """Return the WAV and its ETag; the latest are kept, since a browser asks for one piece by piece."""
    from miml_core.media.playback import clip_wav

    channel = project.settings.channel
    parts = (str(project.folder), bag.id, bag.thumbnail_key, start, end, factor, band, channel)
    name = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    with _lock:
        if name in _clips:
            _clips.move_to_end(name)
            return _clips[name], f'"{name}"'
    content = clip_wav(project.media.path(bag.id), start, end, channel=channel, rate_factor=factor, band=band)
    with _lock:
        _clips[name] = content
        while len(_clips) > 1 and sum(map(len, _clips.values())) > _KEPT_BYTES:
            _clips.popitem(last=False)
    return content, f'"{name}"'


def _ranged(request: Request, content: bytes, headers: dict[str, str], etag: str) -> Response:
    """Return the whole clip, or the one range asked for (RFC 9110, section 14)."""
    asked = _RANGE.fullmatch(request.headers.get("range", "").strip())
    still_same = request.headers.get("if-range", etag) == etag
    if asked is None or not still_same or asked.groups() == ("", ""):
        return Response(content, media_type="audio/wav", headers=headers)
    first, last = _bounds(asked.group(1), asked.group(2), len(content))
    if first > last:
        return Response(status_code=416, headers={**headers, "Content-Range": f"bytes */{len(content)}"})
    headers = {**headers, "Content-Range": f"bytes {first}-{last}/{len(content)}"}
    return Response(content[first : last + 1], 206, media_type="audio/wav", headers=headers)


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    if not first:
        return max(0, size - int(last)), size - 1
    return int(first), min(int(last), size - 1) if last else size - 1
