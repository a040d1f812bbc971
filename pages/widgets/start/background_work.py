"""Work that a thread of the server does while the start page shows how far it is."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(kw_only=True)
class BackgroundWork:
    """How far the work is."""

    began: float = field(default_factory=time.monotonic)
    share: float = 0.0
    stop: bool = False
    over: bool = False
    problem: str | None = None

    def end(self) -> None:
        """Stop: the person does not want to wait."""
        self.stop = True

    @property
    def seconds_left(self) -> float | None:
        elapsed = time.monotonic() - self.began
        return elapsed * (1 - self.share) / self.share if self.share > 0.05 else None
