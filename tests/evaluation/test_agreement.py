"""Cohen's kappa against a published example."""

from __future__ import annotations

import pytest

from miml_core.evaluation.agreement import cohen_kappa


def test_kappa_is_that_of_a_hand_calculation() -> None:
    """The example of Cohen's kappa in Fleiss, Levin and Paik, Statistical Methods for Rates and Proportions, 18.1."""
    table = {("p", "p"): 75, ("p", "n"): 1, ("p", "o"): 4, ("n", "p"): 5, ("n", "n"): 4, ("n", "o"): 1, ("o", "o"): 10}
    first = [a for (a, _), n in table.items() for _ in range(n)]
    second = [b for (_, b), n in table.items() for _ in range(n)]
    found = cohen_kappa(first, second)
    assert (found.n, found.n_agreed) == (100, 89)
    chance = 0.80 * 0.80 + 0.10 * 0.05 + 0.10 * 0.15
    assert found.kappa == pytest.approx((0.89 - chance) / (1 - chance))
    assert found.standard_error == pytest.approx(0.087, abs=0.001)
    assert found.low == pytest.approx(found.kappa - 1.96 * 0.087, abs=0.003)
    assert cohen_kappa([1, 2], [2, 1]).kappa == -1.0 and cohen_kappa([1, 2], [1, 2]).high == 1.0
    assert cohen_kappa([], []).kappa is None and cohen_kappa([1, 1], [1, 1]).n_agreed == 2
