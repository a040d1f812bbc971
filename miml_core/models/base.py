"""The contract every model keeps, and how a model is saved.

A model learns from a `BagSet` and answers three questions: what is a new segment (`predict_proba`), what is each
segment of a bag whose tags are known (`annotate`), and which tags does a bag have (`predict_tags`).
"""

from __future__ import annotations

import inspect
import json
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.array_files import read_arrays
from miml_core.bags import BagSet
from miml_core.errors import BagtagError

Progress = Callable[[int, int, Mapping[str, float]], Any]
"""Called as `progress(step, of, info)`; a true answer asks the fit to stop and keep what it has learnt."""

_FORMAT = "bagtag-model-2"
_MOST_BYTES = 2**30
_NOT_WHOLE = (OSError, ValueError, KeyError, TypeError, EOFError, AttributeError, MemoryError, zipfile.BadZipFile)
"""What reading a file that is no model, or was made to look like one, can raise."""


class Model(ABC):
    """A multi-instance multi-label model.

    Follows scikit-learn's habits: keyword parameters stored under their own names, fitted attributes ending in an
    underscore, the same seed giving the same numbers. Fitted attributes are arrays or JSON values, nothing else, so
    that `save` and `load_model` need no pickle; a model with other parts overrides `_state` and `_restore`.
    """

    name: ClassVar[str]
    handles_missing: ClassVar[bool] = False

    classes_: list[str]
    n_features_: int

    # what a model does

    @abstractmethod
    def fit(self, bags: BagSet, *, progress: Progress | None = None, warm_start: Model | None = None) -> Self:
        """Learn from tags (and from labels, where a person corrected); `warm_start` is an earlier fit to go on from."""

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """(N, C) probabilities of new segments, no tags known; a last column more with a background class."""

    @abstractmethod
    def annotate(self, bags: BagSet) -> NDArray[np.float64]:
        """(N, C) probabilities given each bag's tags and labels; a last column more with a background class."""

    @abstractmethod
    def predict_tags(self, bags: BagSet) -> NDArray[np.float64]:
        """(B, C) probability, or score, of each tag; the bags' own tags are not looked at."""

    @property
    def has_background(self) -> bool:
        """Whether the probabilities have a last column for 'none of the classes'."""
        return bool(getattr(self, "background", False))

    # parameters

    def get_params(self) -> dict[str, Any]:
        """The constructor's parameters with their values."""
        names = inspect.signature(type(self).__init__).parameters
        return {name: getattr(self, name) for name in names if name != "self"}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self.get_params().items())})"

    # checks shared by all models

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise BagtagError(f"This {self.name} model has not been trained yet; call fit first.")

    def _check_features(self, X: ArrayLike) -> NDArray[np.float64]:
        self._check_fitted()
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features_:
            raise BagtagError(
                f"The model was trained on {self.n_features_} features a segment, not {X.shape}; train it again."
            )
        if not self.handles_missing and np.isnan(X).any():
            raise BagtagError(f"The {self.name} model needs every feature of every segment; some are missing.")
        return X

    def _check_bags(self, bags: BagSet) -> None:
        self._check_features(bags.X)
        if bags.classes != self.classes_:
            raise BagtagError("The classes have changed since the model was trained; train it again.")

    # files

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name.endswith("_") and not name.startswith("_")}

    def _restore(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def save(self, path: str | Path) -> None:
        """Write the model to one `.npz` file of arrays and JSON; the file appears whole or not at all."""
        self._check_fitted()
        arrays, values = {}, {}
        for name, value in self._state().items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            else:
                values[name] = value
        header = {"format": _FORMAT, "model": self.name, "params": self.get_params(), "values": values}
        arrays["__header__"] = np.frombuffer(json.dumps(header, default=_plain).encode(), dtype=np.uint8)
        path = Path(path)
        partial = path.with_name(path.name + ".part")
        partial.unlink(missing_ok=True)  # may be a link
        with partial.open("xb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)


def load_model(path: str | Path) -> Model:
    """Read a model that `Model.save` wrote."""
    from miml_core.models.parameters import make_model

    path = Path(path)
    try:
        arrays = read_arrays(path, most_bytes=_MOST_BYTES)
        header = json.loads(arrays.pop("__header__").tobytes())
        if header["format"] != _FORMAT:
            raise KeyError("format")
        model = make_model(header["model"], header["params"])
        model._restore(_checked_state({**arrays, **header["values"]}))
    except FileNotFoundError:
        raise BagtagError(f"There is no model file {path}.") from None
    except _NOT_WHOLE as error:
        raise BagtagError(f"{path} is not a whole Bagtag model file; train again or choose another file.") from error
    return model


def _checked_state(state: dict[str, Any]) -> dict[str, Any]:
    """Only fitted attributes, of the types that `save` writes: a file may come from somebody else."""
    for name, value in state.items():
        if not name.endswith("_") or name.startswith("_"):
            raise ValueError(name)
        if isinstance(value, np.ndarray) and value.dtype.kind not in "biuf":
            raise ValueError(name)
    classes, n_features = state["classes_"], state["n_features_"]
    if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
        raise ValueError("classes_")
    if not isinstance(n_features, int) or n_features < 1:
        raise ValueError("n_features_")
    return state


def _plain(value: Any) -> Any:
    """NumPy numbers as JSON numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be saved as JSON")
