"""Controls for a model's own parameters, made from its constructor and its documentation."""

from __future__ import annotations

import inspect
import re
import types
import typing
from dataclasses import dataclass
from typing import Any, Literal, Union

import streamlit as st

from miml_core.models import MODELS
from pages.widgets.text import plain
from pages.widgets.training.model_descriptions import proposed

_HIDDEN = {"self", "seed", "random_state", "n_threads", "verbose"}
_SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: ?: ?([^\n]*))?\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """The description of one parameter of a model."""

    name: str
    default: Any
    kinds: tuple[Any, ...]
    choices: tuple[Any, ...]
    doc: str | None

    @property
    def label(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def help(self) -> str | None:
        return plain(self.doc) if self.doc else None

    @property
    def takes_number(self) -> bool:
        return any(kind in (int, float) for kind in self.kinds)


def parameter_controls(model: str, *, key: str) -> None:
    """Draw a control for each parameter; `chosen_parameters` returns what they hold."""
    offered = proposed(model)
    with st.grid(3, min_column_width=180):
        for one in parameters(MODELS[model]):
            _control(one, offered.get(one.name, one.default), key=f"{key}.{model}.{one.name}")


def chosen_parameters(model: str, *, key: str) -> dict[str, Any]:
    """Return what differs from the constructor's default, or is proposed otherwise, as the controls stand now."""
    chosen = {}
    offered = proposed(model)
    for one in parameters(MODELS[model]):
        value = offered.get(one.name, one.default)
        if (control := f"{key}.{model}.{one.name}") in st.session_state:
            value = _value(one, st.session_state[control])
        if value != one.default or one.name in offered:
            chosen[one.name] = value
    return chosen


def parameters(model: type) -> list[Parameter]:
    """Return what the constructor takes, without what other controls decide."""
    constructor: Any = inspect.getattr_static(model, "__init__")
    hints = typing.get_type_hints(constructor)
    documented = _documented(model)
    found = []
    for name, one in inspect.signature(constructor).parameters.items():
        if name in _HIDDEN or one.default is inspect.Parameter.empty:
            continue
        kind, (type_words, doc) = hints.get(name, type(one.default)), documented.get(name, ("", None))
        found.append(Parameter(name, one.default, _parts(kind), _choices(kind, one.default, type_words), doc))
    return found


def _documented(model: type) -> dict[str, tuple[str, str | None]]:
    """Return name -> (type, description) of the class's documentation (numpydoc's `Parameters`)."""
    section = _SECTION.search(inspect.getdoc(model) or "")
    docs: dict[str, tuple[str, str | None]] = {}
    for entry in _ENTRY.finditer(section[1]) if section else ():
        for name in entry[1].split(","):
            docs[name.strip()] = (entry[2] or "", " ".join(entry[3].split()) or None)
    return docs


def _choices(kind: Any, default: Any, type_words: str) -> tuple[Any, ...]:
    """Return the values of a Literal, or those that the documentation of a text names in quotes."""
    if typing.get_origin(kind) is Literal:
        return typing.get_args(kind)
    if str not in _parts(kind) or {int, float} & {*_parts(kind)}:  # "auto" or a number
        return ()
    named = re.findall(r"[\"']([^\"']+)[\"']", type_words)
    none = [None] if type(None) in _parts(kind) else []
    return tuple(dict.fromkeys([default, *none, *named])) if named else ()


def _parts(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)


def _control(one: Parameter, offered: Any, *, key: str) -> None:
    if isinstance(one.default, bool):
        st.toggle(one.label, offered, help=one.help, key=key)
    elif one.choices:
        choices = list(one.choices)
        st.selectbox(
            one.label,
            choices,
            choices.index(offered),
            format_func=lambda choice: "none" if choice is None else str(choice),
            help=one.help,
            key=key,
        )
    elif isinstance(one.default, int):
        st.number_input(one.label, value=offered, step=1, help=one.help, key=key)
    elif isinstance(one.default, float):
        st.number_input(one.label, value=float(offered), format="%g", help=one.help, key=key)
    elif one.takes_number:
        st.number_input(one.label, value=None, placeholder="automatic", format="%g", help=one.help, key=key)
    else:
        st.text_input(one.label, str(one.default), disabled=True, help=one.help, key=key)


def _value(one: Parameter, entered: Any) -> Any:
    """Return what a control means, in the type that the constructor takes."""
    if isinstance(one.default, bool) or one.choices:
        return entered
    if isinstance(one.default, int):
        return int(entered)
    if isinstance(one.default, float):
        return float(entered)
    if one.takes_number and entered is not None:
        return float(entered) if float in one.kinds else int(entered)
    return one.default
