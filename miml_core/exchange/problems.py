"""Problems of the lines of a file: where, what, and the same ones put together for people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_EXAMPLES = 3


@dataclass(frozen=True)
class LineProblem:
    """Why one line of a file, or one annotation in it, could not be used."""

    where: str
    """File and line: ``'tags.csv', line 3``."""
    reason: str
    """The reason without what differs from line to line: "The file is not in the project"."""
    subject: str = ""
    """What differs from line to line, such as the name of the file."""

    def __str__(self) -> str:
        about = f": {self.subject}" if self.subject else ""
        return f"{self.where}: {self.reason}{about}."


def summarise(problems: Iterable[LineProblem]) -> list[str]:
    """Return one sentence per reason, with a count and three examples if it has more than three lines.

    Examples
    --------
    >>> lines = [LineProblem(f"'tags.csv', line {n}", "The file is not in the project", f"'{n}.wav'") for n in range(9)]
    >>> summarise(lines)[0]
    "9 lines: The file is not in the project: '0.wav' ('tags.csv', line 0), '1.wav' ('tags.csv', line 1), '2.wav' ('tags.csv', line 2) and 6 more."
    >>> summarise(lines[:1])
    ["'tags.csv', line 0: The file is not in the project: '0.wav'."]
    """  # noqa: E501
    by_reason: dict[str, list[LineProblem]] = {}
    for problem in problems:
        by_reason.setdefault(problem.reason, []).append(problem)
    return [sentence for alike in by_reason.values() for sentence in _sentences(alike)]


def _sentences(alike: list[LineProblem]) -> list[str]:
    if len(alike) <= _EXAMPLES:
        return [str(problem) for problem in alike]
    examples = [f"{one.subject} ({one.where})" if one.subject else one.where for one in alike[:_EXAMPLES]]
    rest = len(alike) - _EXAMPLES
    return [f"{len(alike)} lines: {alike[0].reason}: {', '.join(examples)} and {rest} more."]
