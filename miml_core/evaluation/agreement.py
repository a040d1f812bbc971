"""Agreement of two annotators beyond chance: Cohen's kappa, overall and of each class, with its standard error.

References
----------
Cohen, J. (1960): A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20, 37-46.
Fleiss, J. L., Cohen, J., Everitt, B. S. (1969): Large sample standard errors of kappa and weighted kappa. Psychological
Bulletin 72, 323-327.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Z_95 = 1.959964
_TINY = 1e-12


@dataclass(frozen=True)
class Kappa:
    """Agreement of two annotators on `n` items."""

    n: int
    n_agreed: int
    kappa: float | None
    """None if it is not defined: there are no items, or both annotators gave all of them the same label."""
    standard_error: float | None
    low: float | None
    high: float | None
    """95 % interval, by the standard error, at most -1 to 1."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "n": self.n,
            "agreed": self.n_agreed,
            "kappa": self.kappa,
            "standard_error": self.standard_error,
            "low": self.low,
            "high": self.high,
        }


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> Kappa:
    """Return Cohen's kappa of two lists of labels of the same items.

    Examples
    --------
    >>> found = cohen_kappa(["yes"] * 25 + ["no"] * 25, ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15)
    >>> found.n, found.n_agreed, round(found.kappa, 3), round(found.standard_error, 3)
    (50, 35, 0.4, 0.127)
    >>> cohen_kappa(["yes"], ["yes"]).kappa is None
    True
    """
    if len(first) != len(second):
        raise ValueError("both annotators label the same items")
    labels = {label: place for place, label in enumerate(dict.fromkeys([*first, *second]))}
    a, b = (np.array([labels[label] for label in ratings], dtype=np.int64) for ratings in (first, second))
    n, agreed = len(a), int((a == b).sum())
    if len(labels) < 2:
        return Kappa(n, agreed, None, None, None, None)
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    kappa = float(cohen_kappa_score(a, b))
    error = _standard_error(confusion_matrix(a, b) / n, kappa, n)
    return Kappa(n, agreed, kappa, error, max(-1.0, kappa - _Z_95 * error), min(1.0, kappa + _Z_95 * error))


def kappa_of_classes(
    first: Sequence[Hashable], second: Sequence[Hashable], classes: Mapping[Hashable, str]
) -> dict[str, Kappa]:
    """Return {name: kappa of a class against the rest} of the classes {label: name} that occur.

    >>> found = kappa_of_classes([1, 1, 2, 3], [1, 2, 2, 3], {1: "Wren", 2: "Robin", 3: "Owl", 4: "Kite"})
    >>> {name: each.kappa for name, each in found.items()}
    {'Wren': 0.5, 'Robin': 0.5, 'Owl': 1.0}
    """
    used = {*first, *second}
    return {
        name: cohen_kappa([label == each for each in first], [label == each for each in second])
        for label, name in classes.items()
        if label in used
    }


def _standard_error(shares: NDArray[np.float64], kappa: float, n: int) -> float:
    """Return the standard error of kappa for inference about its value (Fleiss, Cohen and Everitt 1969, formula 13)."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float(rows @ columns)
    if 1.0 - chance < _TINY:
        return 0.0
    diagonal = np.diag(shares)
    agreeing = float((diagonal * (1.0 - (rows + columns) * (1.0 - kappa)) ** 2).sum())
    weights = (columns[:, None] + rows[None, :]) ** 2
    differing = (1.0 - kappa) ** 2 * float((shares * weights).sum() - (diagonal * np.diag(weights)).sum())
    rest = (kappa - chance * (1.0 - kappa)) ** 2
    return float(np.sqrt(max(0.0, agreeing + differing - rest) / n) / (1.0 - chance))
