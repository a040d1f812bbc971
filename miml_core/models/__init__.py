"""One algorithm a file, all behind the contract of `base.Model`."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from miml_core.models.base import Model, Progress, load_model

_WHERE = {
    "ored-lr": ("miml_core.models.ored_lr", "ORedLR"),
    "sim": ("miml_core.models.sim", "SIM"),
    "mimlfast": ("miml_core.models.mimlfast", "MIMLFast"),
    "mimm": ("miml_core.models.mimm", "MIMM"),
    "gp-probit": ("miml_core.models.gp_probit", "GPProbit"),
    "majority": ("miml_core.models.baselines", "Majority"),
    "candidate-em": ("miml_core.models.baselines", "CandidateEM"),
    "supervised-lr": ("miml_core.models.baselines", "SupervisedLR"),
}


class _Models(Mapping[str, type[Model]]):
    """Name -> model class; an algorithm is imported when first asked for."""

    def __getitem__(self, name: str) -> type[Model]:
        module, attribute = _WHERE[name]
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(_WHERE)

    def __len__(self) -> int:
        return len(_WHERE)


MODELS: Mapping[str, type[Model]] = _Models()

__all__ = ["MODELS", "Model", "Progress", "load_model"]
