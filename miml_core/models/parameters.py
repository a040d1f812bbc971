"""Check parameters of models that come from a file or a database, and make models from them."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union

from miml_core.errors import BagtagError
from miml_core.models.base import Model

_MOST = {
    "background_kinds": 100,
    "burn_in": 1_000_000,
    "fourier_features": 20_000,
    "fourier_pairs": 20_000,
    "max_iter": 1_000_000,
    "m": 10_000,
    "n_components": 1_000,
    "n_inducing": 5_000,
    "n_samples": 10_000_000,
    "restarts": 1_000,
    "random_state": 2**32 - 1,
}
_MOST_OTHERWISE = 100_000
"""Limit of whole numbers; a larger one would only exhaust the memory or never finish."""
_LARGEST = 1e300
_LONGEST_TEXT = 100


def make_model(name: Any, params: Any) -> Model:
    """Return a new, unfitted model.

    Parameters
    ----------
    name : str
        One of `miml_core.models.MODELS`.
    params : dict
        Parameters of its constructor. They may come from a project of somebody else: unknown names, values of another
        type and numbers out of range are refused with a `BagtagError`.

    >>> make_model("ored-lr", {"alpha": 0.1}).alpha
    0.1
    """
    from miml_core.models import MODELS

    if not isinstance(name, str) or name not in MODELS:
        raise BagtagError(f"There is no model called {_short(name)}; there are {', '.join(MODELS)}.")
    if not isinstance(params, Mapping):
        raise BagtagError(f"The parameters of the model {name!r} must be names with values, not {_short(params)}.")
    kind = MODELS[name]
    known = [parameter for parameter in inspect.signature(kind.__init__).parameters if parameter != "self"]
    hints = typing.get_type_hints(kind.__init__)
    params = kind.current_names(params)
    for parameter, value in params.items():
        if parameter not in known:
            raise BagtagError(f"The model {name!r} has no parameter {_short(parameter)}; it has {', '.join(known)}.")
        _check(name, parameter, value, _parts(hints[parameter]))
    return kind(**params)


def _check(model: str, name: str, value: Any, kinds: tuple[Any, ...]) -> None:
    subject = f"The parameter {name!r} of {model!r} must"
    if value in _choices(kinds) or (isinstance(value, bool) and bool in kinds) or (value is None and _NONE in kinds):
        return
    if isinstance(value, int | float) and not isinstance(value, bool) and (float in kinds or int in kinds):
        if not abs(value) <= _LARGEST:
            raise BagtagError(f"{subject} be a finite number, not {_short(value)}.")
        if float in kinds:
            return
        most = _MOST.get(name, _MOST_OTHERWISE)
        if not isinstance(value, int):
            raise BagtagError(f"{subject} be a whole number, not {value:g}.")
        if not 0 <= value <= most:
            raise BagtagError(f"{subject} be between 0 and {most}, not {_short(value)}.")
        return
    if isinstance(value, str) and str in kinds and len(value) <= _LONGEST_TEXT:
        return
    raise BagtagError(f"{subject} be {_words(kinds)}, not {_short(value)}.")


_NONE = type(None)
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a short text", _NONE: "none"}


def _words(kinds: tuple[Any, ...]) -> str:
    choices = [repr(choice) for choice in _choices(kinds)]
    return " or ".join(choices + [_WORDS[kind] for kind in kinds if kind in _WORDS])


def _choices(kinds: tuple[Any, ...]) -> list[Any]:
    return [choice for kind in kinds if typing.get_origin(kind) is Literal for choice in typing.get_args(kind)]


def _parts(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)


def _short(value: Any) -> str:
    """Return a value as text that is short enough for a message."""
    written = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a very large number"
    return written if len(written) <= 80 else written[:77] + "..."
