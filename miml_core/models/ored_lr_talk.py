"""What a fit of ORed logistic regression tells while it goes on."""

from __future__ import annotations

from miml_core.models.base import Progress

STARTING, CHOOSING, FITTING = range(3)


class Talk:
    """Turns phases of unknown length into progress out of 100; remembers the curve and a wish to stop."""

    PHASES = ((0, 15, 60), (15, 70, 250), (70, 100, 60))
    """Starting, choosing alpha, fitting: from and to which step of 100 each goes, and its typical iterations."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.stopped = progress, False
        self.curves: tuple[list[float], ...] = ([], [], [])

    def __call__(self, phase: int, objective: float, alpha: float) -> bool:
        """Tell of one iteration; whether to stop."""
        self.curves[phase].append(objective)
        if self.progress is not None:
            low, high, typical = self.PHASES[phase]
            step = low + (high - low) * (1 - 0.2 ** (len(self.curves[phase]) / typical))
            info = {"objective": objective, "phase": phase, "iteration": len(self.curves[phase]), "alpha": alpha}
            self.stopped = bool(self.progress(int(step), 100, info)) or self.stopped
        return self.stopped
