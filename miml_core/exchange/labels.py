"""Labels that are read from files of other programs, with the lines that could not be read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from miml_core.errors import BagtagError
from miml_core.exchange.problems import LineProblem
from miml_core.exchange.rows import Kind, SegmentRow


@dataclass(frozen=True)
class LabelNote:
    """What a person wrote about a stretch of a recording, or about all of it."""

    file: str
    text: str
    start_s: float | None = None
    """None: of the whole recording."""
    end_s: float | None = None


@dataclass
class LabelTable:
    """Rows of one or several files, each with its place, and the lines that could not be read.

    Examples
    --------
    >>> table = LabelTable()
    >>> table.add("'a.txt', line 1", SegmentRow, "dawn.wav", label="Wren", status="confirmed")
    >>> table.add("'a.txt', line 2", SegmentRow, "")
    >>> [row.label for row in table.rows], [problem.where for problem in table.problems]
    (['Wren'], ["'a.txt', line 2"])
    """

    strict: bool = False
    """Whether a line that cannot be read raises its error instead of being listed."""
    rows: list[SegmentRow] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    """File and line of each row."""
    problems: list[LineProblem] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    """File -> name of the format in which it was read."""
    notes: list[LabelNote] = field(default_factory=list)

    def add(self, where: str, make: Callable[..., SegmentRow], *values: Any, **named: Any) -> None:
        """Append the row that `make` returns, or list why there is none."""
        try:
            row = make(*values, **named)
        except BagtagError as error:
            self.fail(where, error)
        else:
            self.rows.append(row)
            self.places.append(where)

    def fail(self, where: str, error: BagtagError | str) -> None:
        """List a line that cannot be read; raise its error if the table is strict."""
        if self.strict:
            raise error if isinstance(error, BagtagError) else BagtagError(f"{where}: {error}")
        reason = str(error).removeprefix(where).lstrip(": ").rstrip(".")
        self.problems.append(LineProblem(where, reason[:1].upper() + reason[1:]))


class LabelReader(ABC):
    """Something that reads files of one format into a `LabelTable`."""

    name: ClassVar[str]
    """Name on the command line: `--format NAME`."""
    title: ClassVar[str]
    """Name in menus."""
    kinds: ClassVar[tuple[Kind, ...]]
    extensions: ClassVar[tuple[str, ...]]
    """File name extensions with the dot; a format that also writes uses the first."""

    @abstractmethod
    def read_file(self, name: str, content: bytes, table: LabelTable) -> None:
        """Add the rows of one file to `table`, or list the lines that cannot be read."""

    def recognises(self, name: str, head: str) -> bool:
        """Return whether a file with this name and beginning (its first characters) is probably of this format."""
        return False


@contextmanager
def readable_as(what: str, name: str, *, quote: bool = True) -> Iterator[None]:
    """Turn what parsing a foreign file of the wrong structure raises into a `BagtagError` that names the file."""
    try:
        yield
    except BagtagError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError) as error:
        about = repr(name) if quote else name
        raise BagtagError(f"{about} cannot be read as {what} ({type(error).__name__}: {error}).") from error
