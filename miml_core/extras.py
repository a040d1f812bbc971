"""What Bagtag can use but does not need: optional dependencies, the extras of the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Extra = Literal["birdnet", "cluster"]


def install_command(extra: Extra) -> str:
    """Return the command that installs an extra: that of a checkout of Bagtag, or that of the installed package.

    Examples
    --------
    >>> install_command("cluster") in ("make cluster", "pip install 'bagtag[cluster]'")
    True
    """
    checkout = Path(__file__).parents[1]
    is_checkout = (checkout / f"requirements-{extra}.txt").is_file()
    return f"make {extra}" if is_checkout else f"pip install 'bagtag[{extra}]'"
