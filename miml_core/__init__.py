"""Bagtag's core: everything that is true without a screen.

Importing it is cheap: numba, librosa and the models are loaded when first used.
"""

from miml_core import threads as _threads

_threads.set_library_defaults()

from miml_core.bags import BACKGROUND, UNKNOWN, BagSet  # noqa: E402
from miml_core.errors import BagtagError  # noqa: E402

__version__ = "0.2.0"

__all__ = ["BACKGROUND", "UNKNOWN", "BagSet", "BagtagError", "__version__"]
