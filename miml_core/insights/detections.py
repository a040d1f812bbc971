"""Detections and effort of a source as two tables of numbers, and the one way in which they are queried.

Names of classes and sites are replaced by numbers when a source is read, so that no name can become part of a query:
statements are constants, everything else is a parameter. DuckDB sees these two tables and nothing else: it may not
open files or load extensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from miml_core.errors import BagtagError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from miml_core.archive.results import Result

NO_CLASS = -1
"""Number of what the model takes for background."""

_CONFIG: dict[str, str] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    "lock_configuration": "true",
    "memory_limit": "2GB",
}
_CHOSEN = """
    (CAST($label AS INTEGER) IS NULL AND label >= 0 OR label = $label)
    AND (checked OR CAST(probability AS DOUBLE) >= $threshold)
    AND (CAST($sites AS INTEGER[]) IS NULL OR list_contains($sites, site))
    AND (CAST($first AS INTEGER) IS NULL OR hour >= $first) AND (CAST($last AS INTEGER) IS NULL OR hour < $last)
    AND (CAST($hour_of_day AS INTEGER) IS NULL OR (hour % 24 + 24) % 24 = $hour_of_day)
"""
_RECORDED = """
    (CAST($sites AS INTEGER[]) IS NULL OR list_contains($sites, site))
    AND (CAST($first AS INTEGER) IS NULL OR hour >= $first) AND (CAST($last AS INTEGER) IS NULL OR hour < $last)
    AND (CAST($hour_of_day AS INTEGER) IS NULL OR (hour % 24 + 24) % 24 = $hour_of_day)
"""


def detections_schema() -> pa.Schema:
    """Return the columns of the detections.

    `label` is the number of a class, or `NO_CLASS`; `checked` is whether a person gave the label; `hour` counts the
    hours since 1970 by the recorder's clock (null if the time is unknown); `clip` numbers the clips or pictures;
    `segment` is the id in a project; for an archive see `archive_results.ROW_BITS`.
    """
    import pyarrow as pa

    return pa.schema(
        [
            ("label", pa.int16()),
            ("probability", pa.float32()),
            ("checked", pa.bool_()),
            ("site", pa.int32()),
            ("hour", pa.int32()),
            ("clip", pa.int32()),
            ("segment", pa.int64()),
        ]
    )


def effort_schema() -> pa.Schema:
    """Return the columns of the effort: what was recorded and analysed, by site and hour since 1970."""
    import pyarrow as pa

    return pa.schema([("site", pa.int32()), ("hour", pa.int32()), ("seconds", pa.float64()), ("clips", pa.int64())])


@dataclass(frozen=True)
class Choice:
    """Which detections are counted.

    Attributes
    ----------
    class_name : str, optional
        None for all classes; the background is never counted.
    threshold : float
        Lowest probability; what a person labelled counts in any case.
    sites : tuple of str, optional
        None for all.
    first_day, last_day : date, optional
        By the recorder's clock. With either, recordings without a time are left out.
    hour_of_day : int, optional
        0 to 23, likewise.
    """

    class_name: str | None = None
    threshold: float = 0.5
    sites: tuple[str, ...] | None = None
    first_day: date | None = None
    last_day: date | None = None
    hour_of_day: int | None = None


@dataclass(frozen=True, eq=False)
class Detections:
    """The detections of a project or an archive, and what was recorded.

    Attributes
    ----------
    name : str
    kind : "sound" or "picture"
    classes, sites : tuple of str
    table, effort_table : pyarrow.Table
        See `detections_schema` and `effort_schema`.
    n_files : int
        Recordings or pictures.
    n_files_without_time : int
        They are counted, but not by date and hour.
    clocks : dict
        Seconds (pictures: number) by the minutes that the recorder's clock was ahead of UTC; None where the recording
        does not state that.
    notes : tuple of str
        Sentences about what is missing.
    archive, model_id, results
        Of an archive: its folder, the model, and the results by their numbers.
    """

    name: str
    kind: Literal["sound", "picture"]
    classes: tuple[str, ...]
    sites: tuple[str, ...]
    table: pa.Table
    effort_table: pa.Table
    n_files: int = 0
    n_files_without_time: int = 0
    clocks: dict[int | None, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    archive: Path | None = None
    model_id: str = ""
    results: tuple[Result, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether effort is measured in hours; otherwise it is the number of pictures."""
        return self.kind == "sound"

    def label_of(self, class_name: str | None) -> int | None:
        """Return the number of a class; raises `BagtagError` if there is none of that name."""
        if class_name is None:
            return None
        try:
            return self.classes.index(class_name)
        except ValueError:
            raise BagtagError(f"{self.name!r} has no class {class_name!r}; choose one of its classes.") from None

    def count(self, statement: str, choice: Choice, **more: Any) -> dict[str, NDArray[Any]]:
        """Run a constant statement in which `{chosen}` and `{recorded}` stand for the conditions of a choice.

        Parameters
        ----------
        statement : str
            Of this package only. Its tables are `detections` and `effort`.
        choice : Choice
        **more
            Further parameters of the statement.

        Returns
        -------
        dict
            One array per column; masked where there are nulls.
        """
        given = {**self._parameters(choice), **more}
        with self._connection.cursor() as cursor:
            cursor.register("detections", self.table)
            cursor.register("effort", self.effort_table)
            sql = statement.format(chosen=_CHOSEN, recorded=_RECORDED)
            used = {name: value for name, value in given.items() if f"${name}" in sql}
            found: dict[str, NDArray[Any]] = cursor.execute(sql, used).fetchnumpy()
        return found

    @cached_property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb

        return duckdb.connect(":memory:", config=dict(_CONFIG))

    def _parameters(self, choice: Choice) -> dict[str, Any]:
        return {
            "label": self.label_of(choice.class_name),
            "threshold": float(choice.threshold),
            "sites": None if choice.sites is None else self._site_numbers(choice.sites),
            "first": None if choice.first_day is None else 24 * _day_number(choice.first_day),
            "last": None if choice.last_day is None else 24 * (_day_number(choice.last_day) + 1),
            "hour_of_day": choice.hour_of_day,
        }

    def _site_numbers(self, names: Sequence[str]) -> list[int]:
        return [number for number, name in enumerate(self.sites) if name in set(names)]


def _day_number(day: date) -> int:
    return int(np.datetime64(day, "D").astype(np.int64))
