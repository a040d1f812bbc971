"""Multi-instance multi-label models, one algorithm per module, all with the interface of `base.Model`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from miml_core.models.fit_progress import Progress

if TYPE_CHECKING:
    from miml_core.models.base import Model as Model
    from miml_core.models.base import load_model as load_model

_CLASSES = {
    "ored-lr": ("miml_core.models.ored_lr", "ORedLR"),
    "sim": ("miml_core.models.sim", "SIM"),
    "mimlfast": ("miml_core.models.mimlfast", "MIMLFast"),
    "mimm": ("miml_core.models.mimm", "MIMM"),
    "gp-probit": ("miml_core.models.gp_probit", "GPProbit"),
    "majority": ("miml_core.models.baselines", "Majority"),
    "candidate-em": ("miml_core.models.baselines", "CandidateEM"),
    "supervised-lr": ("miml_core.models.baselines", "SupervisedLR"),
}


class _Models(Mapping[str, "type[Model]"]):
    """Mapping of names to model classes; a class is imported when it is first looked up.

    Examples
    --------
    >>> list(MODELS)  # doctest: +ELLIPSIS
    ['ored-lr', 'sim', 'mimlfast', 'mimm', 'gp-probit', ...]
    >>> MODELS["sim"](T=5)
    SIM(T=5)
    """

    def __getitem__(self, name: str) -> type[Model]:
        module, attribute = _CLASSES[name]
        return getattr(importlib.import_module(module), attribute)

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)


MODELS: Mapping[str, type[Model]] = _Models()
"""The models by name, for example `MODELS["ored-lr"]`."""

__all__ = ["MODELS", "Progress"]  # and, imported when they are first used: Model, load_model


def __getattr__(name: str) -> Any:
    """Import `base` when it is first used: it imports scikit-learn, which takes 1.8 s of processor time."""
    if name in ("Model", "load_model"):
        return getattr(importlib.import_module("miml_core.models.base"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
