"""Bagtag's core: everything that is true without a screen.

Importing it is cheap: numpy, numba, librosa and the models are loaded when first used.
"""

from typing import TYPE_CHECKING, Any

from miml_core import threads as _threads

_threads.set_library_defaults()

from miml_core.errors import BagtagError  # noqa: E402

__version__ = "0.2.0"

if TYPE_CHECKING:
    from miml_core.bags import BACKGROUND, UNKNOWN, BagSet

__all__ = ["BACKGROUND", "UNKNOWN", "BagSet", "BagtagError", "__version__"]


def __getattr__(name: str) -> Any:
    """Load numpy with the first use of `BagSet`: a command that is stopped or misspelt does not wait for it."""
    if name in ("BACKGROUND", "UNKNOWN", "BagSet"):
        from miml_core import bags

        return getattr(bags, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
