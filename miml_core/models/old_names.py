"""Names of parameters in earlier versions, which constructors, model files and the runs of projects may still use."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

OLD_NAMES = {
    "seed": "random_state",
    "max_iterations": "max_iter",
    "n_iter": "max_iter",
    "iterations": "max_iter",
    "tolerance": "tol",
}
"""Name in version 0.1 -> current name."""


def current_names(params: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return parameters with old names replaced by those that are known; a current name wins over its old one."""
    known = set(known)
    renamed = {}
    for name, value in params.items():
        current = OLD_NAMES.get(name, name)
        if name in known or current not in known:
            renamed[name] = value
        elif current not in params:
            renamed[current] = value
    return renamed


def accept_old_names(init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor take the names of `OLD_NAMES` too, with a warning; its signature shows the current names."""
    known = set(inspect.signature(init).parameters)

    @functools.wraps(init)
    def accept(self: Any, *args: Any, **params: Any) -> None:
        for old in (params.keys() - known) & OLD_NAMES.keys():
            current = OLD_NAMES[old]
            if current in params:
                raise TypeError(f"{type(self).__name__} got both {current!r} and its old name {old!r}.")
            if current in known:
                warnings.warn(f"The parameter {old!r} is now called {current!r}.", DeprecationWarning, stacklevel=2)
        init(self, *args, **current_names(params, known))

    return accept
