"""Convert what a caller gives as features, tags, labels or offsets to arrays, and refuse what a cast would change."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.errors import BagtagError

Whole = TypeVar("Whole", bound=np.integer[Any])

LARGEST_FEATURE = 1e300
"""Largest absolute value of a feature: sums of larger ones would be infinite."""

TOO_LARGE = (
    f"too large to compute with (the limit is {LARGEST_FEATURE:g}); compute the features again, or in a larger unit"
)
"""What a message says of a feature beyond this limit."""


def number_array(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return the values as a contiguous array of floats; `what` begins the message if they are no numbers.

    Examples
    --------
    >>> number_array([[1, 2]], "Features")
    array([[1., 2.]])
    >>> number_array([["a", "b"]], "Features")
    Traceback (most recent call last):
        ...
    miml_core.errors.BagtagError: Features must be numbers, in rows of equal length.
    """
    return np.ascontiguousarray(_real_array(values, what), dtype=np.float64)


def whole_number_array(
    values: ArrayLike, dtype: type[Whole], what: str, allowed: str = "whole numbers"
) -> NDArray[Whole]:
    """Return the values as a contiguous array of integers; a value that is none, or too large, is refused.

    Examples
    --------
    >>> whole_number_array([1.0, -1.0], np.int8, "Tags")
    array([ 1, -1], dtype=int8)
    >>> whole_number_array([1, 257], np.int8, "Tags")
    Traceback (most recent call last):
        ...
    miml_core.errors.BagtagError: Tags must be whole numbers, but row 1 has 257.
    """
    array = _real_array(values, what)
    if array.dtype == dtype:
        return np.ascontiguousarray(array, dtype=dtype)
    with np.errstate(invalid="ignore"):
        whole = np.ascontiguousarray(array, dtype=dtype)
    changed = np.atleast_1d(whole != array)
    if changed.any():
        first = np.unravel_index(int(changed.argmax()), changed.shape)
        raise BagtagError(f"{what} must be {allowed}, but row {first[0]} has {np.atleast_1d(array)[first]}.")
    return whole


def _real_array(values: ArrayLike, what: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise BagtagError(f"{what} must be numbers, in rows of equal length.") from error
    if array.dtype.kind not in "biuf":
        raise BagtagError(f"{what} must be numbers, in rows of equal length.")
    return array
