"""Check the parameters of models: one rule for `fit`, `save` and `load_model`, and bounds that a model states.

What `fit` accepts can be saved, and what is saved can be loaded, because all three use `plain_parameters`.
"""

from __future__ import annotations

import inspect
import operator
import types
import typing
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np

from miml_core.errors import BagtagError, short_repr

if TYPE_CHECKING:
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
    "random_state": 2**63 - 1,
}
_MOST_OTHERWISE = 100_000
"""Limit of whole numbers; a larger one would only exhaust the memory or never finish."""
_LARGEST = 1e300
_LONGEST_TEXT = 100
_NONE = type(None)
_GENERATORS = (np.random.Generator, np.random.RandomState)
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a short text", _NONE: "none"}


def plain_parameters(kind: type[Model], params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a model as JSON values; one of another type or out of range is refused.

    NumPy numbers become Python numbers, 0 and 1 become flags where flags are meant, and a generator of random numbers
    becomes None. The types are the annotations of the constructor.

    Examples
    --------
    >>> from miml_core.models import MODELS
    >>> plain_parameters(MODELS["ored-lr"], {"background": 1, "max_iter": np.int64(20)})
    {'background': True, 'max_iter': 20}
    """
    known = [parameter for parameter in inspect.signature(kind.__init__).parameters if parameter != "self"]
    hints = typing.get_type_hints(kind.__init__)
    plain = {}
    for parameter, value in params.items():
        if parameter not in known:
            has = ", ".join(known)
            raise BagtagError(f"The model {kind.name!r} has no parameter {short_repr(parameter)}; it has {has}.")
        value = value.item() if isinstance(value, np.generic) else value
        if parameter in hints:
            value = _plain(kind.name, parameter, value, _parts(hints[parameter]))
        plain[parameter] = value
    return plain


def _plain(model: str, name: str, value: Any, kinds: tuple[Any, ...]) -> Any:
    subject = f"The parameter {name!r} of {model!r} must"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if bool in kinds and isinstance(value, int) and value in (0, 1):
        return bool(value)
    if _NONE in kinds and (value is None or (isinstance(value, _GENERATORS) and np.random.Generator in kinds)):
        return None
    if is_number and (float in kinds or int in kinds):
        if not abs(value) <= _LARGEST:
            raise BagtagError(f"{subject} be a finite number, not {short_repr(value)}.")
        if float in kinds:
            return value
        most = _MOST.get(name, _MOST_OTHERWISE)
        if not isinstance(value, int):
            raise BagtagError(f"{subject} be a whole number, not {value:g}.")
        if not 0 <= value <= most:
            raise BagtagError(f"{subject} be between 0 and {most}, not {short_repr(value)}.")
        return value
    if _is_one_of(value, _choices(kinds)) or (isinstance(value, str) and str in kinds and len(value) <= _LONGEST_TEXT):
        return value
    raise BagtagError(f"{subject} be {_words(kinds)}, not {short_repr(value)}.")


def _words(kinds: tuple[Any, ...]) -> str:
    choices = [repr(choice) for choice in _choices(kinds)]
    return " or ".join(choices + [_WORDS[kind] for kind in kinds if kind in _WORDS])


def _choices(kinds: tuple[Any, ...]) -> list[Any]:
    return [choice for kind in kinds if typing.get_origin(kind) is Literal for choice in typing.get_args(kind)]


def _is_one_of(value: Any, choices: Iterable[Any]) -> bool:
    """Return whether a value, which may be an array, equals one of the choices."""
    return any(isinstance(value, type(choice)) and value == choice for choice in choices)


def _parts(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) in (Union, types.UnionType) else (hint,)


class ParameterChecks:
    """Checks of single parameters, which a model calls in `_check_parameters`."""

    def _check_choice(self, name: str, *choices: Any) -> None:
        value = getattr(self, name)
        if not _is_one_of(value, choices):
            allowed = " or ".join([", ".join(map(repr, choices[:-1])), repr(choices[-1])])
            raise BagtagError(f"{name} must be {allowed}, not {short_repr(value)}.")

    def _check_flag(self, name: str) -> None:
        value = getattr(self, name)
        if not (isinstance(value, bool | np.bool_ | Integral) and value in (0, 1)):
            raise BagtagError(f"{name} must be True or False, not {short_repr(value)}.")

    def _check_number(
        self,
        name: str,
        *,
        at_least: float | None = None,
        above: float | None = None,
        at_most: float | None = None,
        below: float | None = None,
        whole: bool = False,
        also: str | None = None,
    ) -> None:
        """Check that a parameter is a finite number within bounds, or the word `also`."""
        value = getattr(self, name)
        value = value.item() if isinstance(value, np.generic) else value
        if also is not None and isinstance(value, str) and value == also:
            return
        bounds = {"at least": at_least, "above": above, "at most": at_most, "below": below}
        tests = {"at least": operator.ge, "above": operator.gt, "at most": operator.le, "below": operator.lt}
        is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
        inside = is_number and all(bound is None or tests[word](value, bound) for word, bound in bounds.items())
        if not inside or not abs(value) <= _LARGEST:
            words = " and ".join(f"{word} {bound:g}" for word, bound in bounds.items() if bound is not None)
            kind = ("" if also is None else f"{also!r} or ") + ("a whole number" if whole else "a number")
            raise BagtagError(f"{name} must be {kind} {words}, not {short_repr(value)}.")
