"""The demo project: generated sounds and pictures, with nothing downloaded and nobody else's media.

`make_demo` makes and opens it, `score_demo` compares what the model says with the truth that it never saw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from miml_core.demo.project import make_demo
    from miml_core.demo.score import score_demo

__all__ = ["make_demo", "score_demo"]


def __getattr__(name: str) -> object:
    """The generators need no project: it is imported only with the functions that do."""
    if name == "make_demo":
        from miml_core.demo.project import make_demo

        return make_demo
    if name == "score_demo":
        from miml_core.demo.score import score_demo

        return score_demo
    raise AttributeError(name)
