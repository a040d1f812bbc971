"""Make models from names and parameters that come from a file or a database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from miml_core.errors import BagtagError, short_repr
from miml_core.models.parameter_checks import plain_parameters

if TYPE_CHECKING:
    from miml_core.models.base import Model


def make_model(name: Any, params: Any) -> Model:
    """Return a new, unfitted model.

    Parameters
    ----------
    name : str
        One of `miml_core.models.MODELS`.
    params : dict
        Parameters of its constructor. They may come from a project of somebody else: unknown names, values of another
        type and numbers out of range are refused with a `BagtagError`.

    >>> make_model("ored-lr", {"alpha": 0.1}).alpha
    0.1
    """
    from miml_core.models import MODELS

    if not isinstance(name, str) or name not in MODELS:
        raise BagtagError(f"There is no model called {short_repr(name)}; there are {', '.join(MODELS)}.")
    if not isinstance(params, Mapping):
        raise BagtagError(f"The parameters of the model {name!r} must be names with values, not {short_repr(params)}.")
    kind = MODELS[name]
    return kind(**plain_parameters(kind, kind.current_names(params)))
