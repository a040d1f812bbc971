"""Report the progress of a fit that consists of several phases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from miml_core.progress import Progress

__all__ = ["FitProgress", "Phase", "Progress"]


@dataclass(frozen=True)
class Phase:
    """One phase of a fit.

    Parameters
    ----------
    steps : int
        Length of the phase on the progress bar.
    typical : int, optional
        Typical number of iterations, for a phase whose number of iterations is not known in advance: the bar then
        approaches the end of the phase and never reaches it. If None, the phase has at most `steps` iterations.
    chooses : bool
        Whether the phase chooses parameters; its reports then have ``choosing=1`` in their info.

    Examples
    --------
    >>> [Phase(100).position(iteration) for iteration in (10, 100, 1000)]
    [10, 100, 100]
    >>> [Phase(100, typical=50).position(iteration) for iteration in (10, 100, 1000)]
    [27, 96, 99]
    """

    steps: int
    typical: int | None = None
    chooses: bool = False

    def position(self, iteration: int) -> int:
        """Return the position within the phase after so many iterations."""
        if self.typical is None:
            return min(iteration, self.steps)
        return int(self.steps * (1 - 0.2 ** (iteration / self.typical)))


class FitProgress:
    """Count the iterations of each phase, report them to `progress`, and remember a request to stop.

    Parameters
    ----------
    progress : callable, optional
        What `Model.fit` was called with.
    phases : sequence of Phase

    Examples
    --------
    >>> progress = FitProgress(lambda step, of, info: print(step, of, info), [Phase(2, chooses=True), Phase(3)])
    >>> progress.step(0, loss=0.5)
    1 5 {'loss': 0.5, 'choosing': 1}
    False
    >>> progress.step(1, loss=0.4)
    3 5 {'loss': 0.4}
    False
    """

    def __init__(self, progress: Progress | None, phases: Sequence[Phase]) -> None:
        self.progress, self.phases = progress, phases
        self.iterations = [0] * len(phases)
        self.stopped = False

    def step(self, phase: int, /, **info: float) -> bool:
        """Report one iteration of a phase; return whether the fit should stop."""
        self.iterations[phase] += 1
        if self.progress is not None:
            before = sum(one.steps for one in self.phases[:phase])
            position = before + self.phases[phase].position(self.iterations[phase])
            of = sum(one.steps for one in self.phases)
            if self.phases[phase].chooses:
                info["choosing"] = 1
            self.stopped = bool(self.progress(position, of, info)) or self.stopped
        return self.stopped
