"""Suggest tags of a bag by the model's tag probabilities."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_PROBABILITY = 0.1
"""Probability of the model from which a tag is suggested. To accept a suggestion takes 1 second, to type a missing tag
3; if a glance at one takes 0.2, a suggestion of probability 0.1 costs what it saves. Seconds per bag, of bags that
are not tagged yet, at .05 / .1 / .2 (in brackets the share of the tags that .1 finds, and its precision): HJA after 60
tagged bags 3.25 / 3.20 / 3.27 (.88, .52), after 300 3.02 / 2.89 / 2.91 (.94, .56); MSRC v2 after 75 5.13 / 5.02 / 5.29
(.79, .39). On NIPS4Bplus (86 species, hand-made features) no probability reaches .05 after 120 bags, and of suggestions
from .02 one in thirty is right."""

MOST_SUGGESTIONS = 8


def rank_tags(
    probabilities: NDArray[np.float64], class_ids: Sequence[int], decided: Collection[int]
) -> list[tuple[int, float]]:
    """Return (class, probability), the most probable first, without the classes that people have decided on.

    Columns of classes that were merged are one suggestion, with the larger probability.

    Examples
    --------
    >>> rank_tags(np.array([0.2, 0.9, 0.5]), [1, 2, 3], decided={2})
    [(3, 0.5), (1, 0.2)]
    """
    best: dict[int, float] = {}
    for class_id, probability in zip(class_ids, probabilities):
        if class_id not in decided and np.isfinite(probability):
            best[class_id] = max(best.get(class_id, 0.0), float(np.clip(probability, 0.0, 1.0)))
    return sorted(best.items(), key=lambda pair: -pair[1])
