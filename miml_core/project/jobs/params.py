"""The parameters of each kind of job: names, types and ranges.

Parameters are stored in the project's database, and a project may come from somebody else. They are therefore checked
twice: when a person asks for a job, and again in the worker before anything is done.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from miml_core.errors import BagtagError, short_repr
from miml_core.exchange import FORMATS
from miml_core.exchange.cutouts import MOST_PADDING, RATES
from miml_core.project.db.rows import LARGEST_ID
from miml_core.project.media.files import check_windows

DEFAULT_MODEL = "ored-lr"

STOP_EARLY = "stop_early"
"""Set in the parameters of a running training that is to stop and keep what it has learnt."""

_MOST_ITEMS = 1_000_000
_LONGEST_PATH = 32_768
_MOST_FOLDERS = 1000


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kind of job: the values it takes, and their description for error messages."""

    accepts: Callable[[Any], bool]
    description: str
    required: bool = False


def _is_whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_number(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_PATH and "\0" not in value


def _is_list(value: Any, accepts: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple) and len(value) <= _MOST_ITEMS and all(accepts(each) for each in value)


def _or_none(accepts: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or accepts(value)


def _choice(*values: str) -> Parameter:
    return Parameter(lambda value: isinstance(value, str) and value in values, f"one of {', '.join(values)}")


_YES_OR_NO = Parameter(lambda value: isinstance(value, bool), "true or false")
_BAGS = Parameter(
    _or_none(lambda value: _is_list(value, lambda each: _is_whole(each, 1, LARGEST_ID))), "a list of bag numbers"
)

_DAY = Parameter(
    lambda value: isinstance(value, str) and re.fullmatch(r"(\d{4}-\d{2}-\d{2})?", value) is not None,
    "a day such as 2024-05-01",
)

_MODEL_ID = Parameter(
    _or_none(lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None),
    "the id of a model",
)

PARAMETERS: dict[str, dict[str, Parameter]] = {
    "import": {
        "paths": Parameter(
            lambda value: _is_list(value, _is_path) and len(value) > 0, "a list of files and folders", required=True
        ),
        "bag_length": Parameter(_or_none(lambda value: _is_number(value, -1e9, 1e9)), "a number of seconds"),
        "overlap": Parameter(lambda value: _is_number(value, -1e9, 1e9), "a number of seconds"),
        "remainder": _choice("keep", "drop", "merge"),
        "recursive": _YES_OR_NO,
    },
    "segment": {
        "bags": _BAGS,
        "again": _YES_OR_NO,
        "scope": _choice("stale", "unreviewed", "all"),
        "processes": Parameter(_or_none(lambda value: _is_whole(value, 1, 256)), "a whole number from 1 to 256"),
    },
    "learn-segmenter": {},
    "features": {},
    "train": {
        "model": Parameter(_or_none(lambda value: isinstance(value, str)), "the name of a model"),
        "params": Parameter(_or_none(lambda value: isinstance(value, dict)), "names with values"),
        "seed": Parameter(_or_none(lambda value: _is_whole(value, 0, 2**32 - 1)), "a whole number from 0 to 2^32 - 1"),
        "warm_start": _YES_OR_NO,
        STOP_EARLY: _YES_OR_NO,
    },
    "predict": {
        "run": Parameter(_or_none(lambda value: _is_whole(value, 1, LARGEST_ID)), "the number of a run"),
    },
    "map": {},
    "apply": {
        "folders": Parameter(
            lambda value: _is_list(value, _is_path) and 0 < len(value) <= _MOST_FOLDERS,
            "a list of folders",
            required=True,
        ),
        "archive": Parameter(_is_path, "a folder", required=True),
        "run": Parameter(_or_none(lambda value: _is_whole(value, 1, LARGEST_ID)), "the number of a run"),
        "model": _MODEL_ID,
        "workers": Parameter(_or_none(lambda value: _is_whole(value, 1, 256)), "a whole number from 1 to 256"),
        "site_pattern": Parameter(
            _or_none(lambda value: isinstance(value, str) and len(value) < 1000), "a regular expression"
        ),
        "remove_missing": _YES_OR_NO,
    },
    "sample": {
        "archive": Parameter(_is_path, "a folder", required=True),
        "model": _MODEL_ID,
        "per_class": Parameter(
            lambda value: _is_whole(value, 1, 100_000), "a whole number from 1 to 100 000", required=True
        ),
        "seed": Parameter(lambda value: _is_whole(value, 0, 2**32 - 1), "a whole number from 0 to 2^32 - 1"),
        "project": Parameter(_or_none(_is_path), "the folder of a project"),
    },
    "export": {
        "format": Parameter(lambda value: isinstance(value, str), "the name of a format", required=True),
        "path": Parameter(_is_path, "a file or folder", required=True),
        "padding": Parameter(
            lambda value: _is_number(value, 0.0, MOST_PADDING), f"seconds or pixels from 0 to {MOST_PADDING:g}"
        ),
        "rate": Parameter(lambda value: _is_whole(value, *RATES), f"samples per second from {RATES[0]} to {RATES[1]}"),
        "what": _choice("confirmed", "accepted", "predicted", "all"),
        "min_probability": Parameter(lambda value: _is_number(value, 0.0, 1.0), "a number from 0 to 1"),
        "bags": _BAGS,
        "classes": Parameter(lambda value: _is_list(value, lambda each: isinstance(each, str)), "a list of classes"),
        "since": _DAY,
        "until": _DAY,
        "site": Parameter(lambda value: isinstance(value, str) and len(value) < 1000, "a part of the path"),
    },
    "pack": {"path": Parameter(_is_path, "a file", required=True), "media": _YES_OR_NO},
}
"""Kind of job -> its parameters."""


def check_params(kind: Any, params: Any) -> None:
    """Raise `BagtagError` for parameters that a kind of job does not take.

    Raises
    ------
    BagtagError
        The kind or a name is unknown, a parameter is missing, or a value is of another type or out of range.
    """
    if not isinstance(kind, str) or kind not in PARAMETERS:
        raise BagtagError(f"There is no job called {short_repr(kind)}; there are {', '.join(PARAMETERS)}.")
    if not isinstance(params, dict):
        raise BagtagError(f"The parameters of the job {kind!r} must be names with values, not {short_repr(params)}.")
    known = PARAMETERS[kind]
    for name, value in params.items():
        if name not in known:
            accepted = f"it takes {', '.join(known)}" if known else "it takes none"
            raise BagtagError(f"The job {kind!r} has no parameter {short_repr(name)}; {accepted}.")
        if not known[name].accepts(value):
            raise BagtagError(
                f"The {name} of the job {kind!r} must be {known[name].description}, not {short_repr(value)}."
            )
    for name, one in known.items():
        if one.required and name not in params:
            raise BagtagError(f"The job {kind!r} needs {name}: {one.description}.")
    if kind in _FURTHER_CHECKS:
        _FURTHER_CHECKS[kind](params)


def _check_import(params: dict[str, Any]) -> None:
    check_windows(params.get("bag_length"), params.get("overlap", 0.0))


def _check_training(params: dict[str, Any]) -> None:
    from miml_core.models.parameters import make_model

    if params.get("model") is not None or params.get("params"):
        make_model(params.get("model") or DEFAULT_MODEL, params.get("params") or {})


def _check_export(params: dict[str, Any]) -> None:
    if params["format"] not in FORMATS:
        raise BagtagError(f"There is no format called {short_repr(params['format'])}; there are {', '.join(FORMATS)}.")


_FURTHER_CHECKS = {"import": _check_import, "train": _check_training, "export": _check_export}
"""Checks that need several parameters, or the lists of models and formats."""
