"""The demo project: generated recordings and pictures; nothing is downloaded.

`make_demo` creates and opens it, `score_demo` compares the model's labels with the truth, which training does not use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miml_core.demo.project import make_demo
    from miml_core.demo.score import score_demo

__all__ = ["make_demo", "score_demo"]


def __getattr__(name: str) -> object:
    """Import the functions that need a project when they are first used; the generators need none."""
    if name == "make_demo":
        from miml_core.demo.project import make_demo

        return make_demo
    if name == "score_demo":
        from miml_core.demo.score import score_demo

        return score_demo
    raise AttributeError(name)
