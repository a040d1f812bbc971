"""Bagtag's core: everything but the user interface.

Importing it is cheap: NumPy, Numba, librosa and the models are imported when they are first used.
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
    """Import NumPy when `BagSet` is first used, so that a misspelt command fails quickly."""
    if name in ("BACKGROUND", "UNKNOWN", "BagSet"):
        from miml_core import bags

        globals()[name] = getattr(bags, name)
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
