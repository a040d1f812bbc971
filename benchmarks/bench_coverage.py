"""How often the 95 % intervals of an archive's sample have the truth, in simulated archives.

Classes that are common or rare, with probabilities that are calibrated or not; 20, 50 and 100 answers per class. The
aim is 93 to 97 %. More is unavoidable where few answers, or answers that are nearly all the same, leave only a few
possible intervals: then any interval has the truth nearly always or too rarely.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miml_core.archive.sampling import EDGES, allocate, estimate_share

MEANS = np.array([0.1, 0.3, 0.5, 0.7, 0.85, 0.925, 0.97, 0.995])
"""Mean probability of the detections in each bin of probability."""
CLASSES = {
    "common, mostly sure": np.array([300, 500, 800, 1500, 2500, 4000, 8000, 20000]),
    "common, evenly spread": np.full(8, 2000),
    "common, mostly unsure": np.array([20000, 8000, 4000, 2000, 800, 300, 100, 50]),
    "rare, mostly sure": np.array([6, 8, 8, 10, 12, 15, 20, 40]),
    "rare, mostly unsure": np.array([200, 80, 40, 20, 10, 6, 4, 2]),
}
"""Detections of a class in each bin of probability."""
ANSWERS = (20, 50, 100)
FIRST = (0, 2, 4, 6)
"""First bin above a threshold; 0 is the whole class, so that its coverage is also that of the corrected count."""


def _changed(slope: float, offset: float) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-(slope * np.log(MEANS / (1 - MEANS)) + offset)))


RIGHT = {"calibrated": MEANS, "overconfident": _changed(0.5, -0.5), "underconfident": _changed(1.3, 1.0)}
"""Share of the detections in each bin that is right."""


@dataclass(frozen=True)
class Coverage:
    """The simulated intervals of one case.

    Attributes
    ----------
    share : float
        Of the simulated samples, those whose interval has the truth.
    width : float
        Mean width of the interval.
    alike : float
        Of the simulated samples, those whose answers are all the same.
    """

    class_kind: str
    calibration: str
    answers: int
    first: int
    share: float
    width: float
    alike: float


def simulate(class_kind: str, calibration: str, answers: int, repeats: int, seed: int = 0) -> list[Coverage]:
    """Draw samples from simulated archives; return the coverage of the count and above each threshold."""
    sizes, rng = CLASSES[class_kind], np.random.default_rng(seed)
    drawn = allocate(sizes, MEANS, answers)
    right = rng.binomial(sizes, RIGHT[calibration], (repeats, len(sizes)))
    hits = rng.hypergeometric(right, sizes - right, drawn)
    found = []
    for first in FIRST:
        above = slice(first, None)
        truth = right[:, above].sum(axis=1) / sizes[above].sum()
        low, high = estimate_share(sizes[above], drawn[above], hits[:, above])[1:]
        has_truth = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
        n_hits = hits[:, above].sum(axis=1)
        alike = np.mean((n_hits == 0) | (n_hits == drawn[above].sum()))
        case = (class_kind, calibration, int(drawn[above].sum()), first)
        found.append(Coverage(*case, float(has_truth.mean()), float(np.mean(high - low)), float(alike)))
    return found


def simulate_confused(answers: int, repeats: int, n_classes: int = 10, seed: int = 0) -> float:
    """Return the coverage of how many detections are really of a class, of which 1 % have the label of another one."""
    rng = np.random.default_rng(seed)
    own = CLASSES["common, mostly sure"]
    sizes = np.tile(own, n_classes)
    drawn = np.tile(allocate(own, MEANS, answers), n_classes)
    share = np.concatenate([MEANS, np.full(len(sizes) - len(own), 0.01)])
    right = rng.binomial(sizes, share, (repeats, len(sizes)))
    hits = rng.hypergeometric(right, sizes - right, drawn)
    truth = right.sum(axis=1) / sizes.sum()
    low, high = estimate_share(sizes, drawn, hits)[1:]
    return float(((low <= truth) & (truth <= high)).mean())


def run(repeats: int = 2000) -> None:
    """Print the coverage of every case."""
    every: list[Coverage] = []
    above = "   ".join(f"p >= {EDGES[first]:<5g}" for first in FIRST[1:])
    print(f"coverage of 95 % intervals, {repeats} samples per case, with the answers that there are above a threshold")
    print(f"{'class':22s} {'probabilities':15s} answers  count   {above}")
    for class_kind in CLASSES:
        for calibration in RIGHT:
            for answers in ANSWERS:
                found = simulate(class_kind, calibration, answers, repeats, seed=answers)
                every += found
                cells = "   ".join(f"{one.share:.3f} ({one.answers:2d})" for one in found[1:])
                print(f"{class_kind:22s} {calibration:15s} {found[0].answers:7d}  {found[0].share:.3f}   {cells}")
    _summarise("counts", [one for one in every if one.first == 0])
    _summarise("precision above a threshold", [one for one in every if one.first])
    for answers in ANSWERS:
        share = simulate_confused(answers, repeats)
        print(f"really of a class, with the label of any of ten, {answers} answers per class: {share:.3f}")


def _summarise(title: str, found: list[Coverage]) -> None:
    share = np.array([one.share for one in found])
    varied = np.array([one.alike < 0.05 and one.answers >= 20 for one in found])
    print(
        f"{title}: {share.mean():.3f} on average, {share.min():.3f} to {share.max():.3f}; in 93 to 97 %: "
        f"{np.mean((share >= 0.93) & (share <= 0.97)):.0%} of {len(share)} cases, below: {np.mean(share < 0.93):.0%}; "
        f"of the {varied.sum()} cases of 20 answers or more that are hardly ever all the same: "
        f"{share[varied].min():.3f} to {share[varied].max():.3f}, in 93 to 97 %: "
        f"{np.mean((share[varied] >= 0.93) & (share[varied] <= 0.97)):.0%}"
    )
