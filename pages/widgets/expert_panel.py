"""Controls for a model's own parameters, made from its constructor and its documentation."""

from __future__ import annotations

import inspect
import re
import types
import typing
from typing import Any, Literal, Union

import streamlit as st

from miml_core.models import MODELS

_HIDDEN = {"self", "seed", "random_state", "n_threads", "verbose"}


def expert_panel(model: str, *, key: str) -> dict[str, Any]:
    """Draw a control for each parameter; answers those that differ from the default."""
    chosen = {}
    documented = parameter_docs(MODELS[model])
    with st.grid(3, min_column_width=200):
        for name, (kind, default) in parameters(MODELS[model]).items():
            value = _control(name, kind, default, documented.get(name), key=f"{key}.{model}.{name}")
            if value != default:
                chosen[name] = value
    return chosen


def parameters(model: type) -> dict[str, tuple[Any, Any]]:
    """Name -> (annotation, default) of what the constructor takes, without what other controls decide."""
    hints = typing.get_type_hints(model.__init__)
    signature = inspect.signature(model.__init__)
    return {
        name: (hints.get(name, type(one.default)), one.default)
        for name, one in signature.parameters.items()
        if name not in _HIDDEN and one.default is not inspect.Parameter.empty
    }


def parameter_docs(model: type) -> dict[str, str]:
    """Name -> what the class's documentation says of the parameter (numpydoc's `Parameters`)."""
    text = inspect.getdoc(model) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", text, re.DOTALL | re.MULTILINE)
    docs: dict[str, str] = {}
    if section:
        for entry in re.finditer(r"^(\w[\w, ]*?)(?: ?:[^\n]*)?\n((?:[ \t]+[^\n]*\n?|\n)*)", section[1], re.MULTILINE):
            for name in entry[1].split(","):
                docs[name.strip()] = " ".join(entry[2].split())
    return docs


def _control(name: str, kind: Any, default: Any, doc: str | None, *, key: str) -> Any:
    label = name.replace("_", " ").capitalize()
    options = _choices(kind)
    if isinstance(default, bool):
        return st.toggle(label, default, help=doc, key=key)
    if isinstance(default, int):
        return int(st.number_input(label, value=default, step=1, help=doc, key=key))
    if isinstance(default, float):
        return float(st.number_input(label, value=default, format="%g", help=doc, key=key))
    if options:
        return st.selectbox(label, options, options.index(default), help=doc, key=key)
    if _may_be_number(kind):
        placeholder = "automatic" if default in (None, "auto") else str(default)
        value = st.number_input(label, value=None, placeholder=placeholder, format="%g", help=doc, key=key)
        return default if value is None else _number(value, kind)
    st.text_input(label, str(default), disabled=True, help=doc, key=key)
    return default


def _choices(kind: Any) -> list[Any]:
    """The values of a Literal, unless a number may be given as well."""
    return list(typing.get_args(kind)) if typing.get_origin(kind) is Literal else []


def _may_be_number(kind: Any) -> bool:
    return any(part in (int, float) for part in _parts(kind))


def _number(value: float, kind: Any) -> float | int:
    return int(value) if float not in _parts(kind) else float(value)


def _parts(kind: Any) -> tuple[Any, ...]:
    return typing.get_args(kind) if typing.get_origin(kind) in (Union, types.UnionType) else (kind,)
