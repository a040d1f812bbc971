"""The canvas: a bag's picture and segments, its queue, side panel and counters, all in the browser."""

from pages.widgets.canvas.component import RESERVED_KEYS, Mode, canvas, reported_bag, request_bag

__all__ = ["RESERVED_KEYS", "Mode", "canvas", "reported_bag", "request_bag"]
