"""The canvas: a bag's picture and segments, its queue, side panel and counters, all in the browser."""

from pages.widgets.canvas.component import RESERVED_KEYS, Mode, canvas
from pages.widgets.canvas.requested_bag import BagRequest, request_bag, requested_bag

__all__ = ["RESERVED_KEYS", "BagRequest", "Mode", "canvas", "request_bag", "requested_bag"]
