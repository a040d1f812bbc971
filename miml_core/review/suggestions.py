"""Tags to suggest for a bag, from the model's own tag probabilities."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray


def rank_tags(
    probabilities: NDArray[np.float64], class_ids: Sequence[int], decided: Collection[int]
) -> list[tuple[int, float]]:
    """(class, probability), the likeliest first, without those a person has already decided.

    Columns that have become the same class are one suggestion, with the larger probability.
    """
    best: dict[int, float] = {}
    for class_id, probability in zip(class_ids, probabilities):
        if class_id not in decided and np.isfinite(probability):
            best[class_id] = max(best.get(class_id, 0.0), float(np.clip(probability, 0.0, 1.0)))
    return sorted(best.items(), key=lambda pair: -pair[1])
