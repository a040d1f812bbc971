"""The interface of every model, and the files that models are saved to.

A model is a scikit-learn estimator that is fitted to a `BagSet` instead of a matrix. After `fit` it predicts the class
of new segments (`predict_proba`), of the segments of a bag with known tags (`annotate`), and the tags of bags
(`predict_tags`). CONTRIBUTING.md has a worked example of a new model.
"""

from __future__ import annotations

import copy
import json
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from miml_core.array_files import read_arrays
from miml_core.atomic_files import atomic_writer
from miml_core.bag_arrays import LARGEST_FEATURE, TOO_LARGE, number_array
from miml_core.bags import BagSet
from miml_core.errors import BagtagError
from miml_core.models import MODELS
from miml_core.models.calibration import calibrate_tags
from miml_core.models.fit_progress import Progress
from miml_core.models.fitting import NotTrainedError, safe_fit
from miml_core.models.old_names import accept_old_names, current_names
from miml_core.models.parameter_checks import ParameterChecks, plain_parameters
from miml_core.models.parameters import make_model
from miml_core.models.temperatures import Calibration, Temperatures, soften
from miml_core.plurals import counted

if TYPE_CHECKING:

    class BaseEstimator:
        """What the models use of scikit-learn's class, which has no type annotations."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        @classmethod
        def _get_param_names(cls) -> list[str]: ...

else:
    from sklearn.base import BaseEstimator

RandomState = int | np.random.Generator | np.random.RandomState | None

_FORMAT = "bagtag-model-2"
_MOST_BYTES = 2**30
_INVALID_FILE = (OSError, ValueError, KeyError, TypeError, RecursionError, zipfile.BadZipFile)
"""Errors of reading a file that is damaged, is no model, or only looks like one (RecursionError: nested JSON). A lack
of memory is none of these: `read_arrays` limits what a file can ask for."""


class Model(ParameterChecks, BaseEstimator, ABC):
    """Base class of all multi-instance multi-label models.

    A scikit-learn estimator: the constructor only stores its keyword parameters, `fit` checks them, and fitted
    attributes end in an underscore. `sklearn.base.clone`, `get_params` and `set_params` work as usual, a second `fit`
    keeps nothing of the first, and an integer `random_state` gives the same numbers each time.

    Fitted attributes are arrays or JSON values, so that `save` and `load_model` need no pickle; a model with other
    attributes overrides `_state` and `_restore`.

    Probabilities are calibrated (`temperatures.py`): of the segments whose best class has the probability .8, about
    eight of ten are right. Files of models that were saved without these attributes have the values below.

    Attributes
    ----------
    predict_temperature_, annotate_temperature_ : float
        What the logits of `predict_proba` and `annotate` are divided by; 1 is not calibrated.
    confused_ : float
        Share of these probabilities that is divided equally among the possible classes; 0 is not calibrated.
    tag_calibration_ : (2,) float
        Slope and offset that the logits of `predict_tags` get.
    sure_from_ : float
        A segment whose best class is less probable than this is better shown as "uncertain": its label would be wrong
        more often than right.

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from miml_core.models import MODELS
    >>> model = MODELS["ored-lr"](alpha=1.0)
    >>> model
    ORedLR(alpha=1.0)
    >>> clone(model).set_params(alpha=2.0, background=True)
    ORedLR(alpha=2.0, background=True)
    """

    name: ClassVar[str]
    """Key of the model in `MODELS`."""
    handles_missing: ClassVar[bool] = False
    """Whether features may be NaN."""

    classes_: list[str]
    n_features_: int
    predict_temperature_: float = 1.0
    annotate_temperature_: float = 1.0
    confused_: float = 0.0
    tag_calibration_: Sequence[float] = (1.0, 0.0)
    sure_from_: float = 0.5
    is_fold: bool = False
    """Whether this is a fit to a part of the bags by which another one is calibrated (`cross_fit.py`)."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            cls.__init__ = accept_old_names(cls.__init__)  # type: ignore[method-assign]
        if "fit" in vars(cls):
            cls.fit = safe_fit(cls.fit)  # type: ignore[method-assign]

    # fit and predict

    @abstractmethod
    def fit(
        self, bags: BagSet, y: object = None, *, progress: Progress | None = None, warm_start: Model | None = None
    ) -> Self:
        """Fit the model to tagged bags.

        Parameters
        ----------
        bags : BagSet
            Tags, and labels of the segments that people corrected.
        y : object
            Ignored, as in scikit-learn: the tags are in the bags.
        progress : callable, optional
            Called as `progress(step, of, info)`; if it returns a true value, the fit stops and keeps what it has.
        warm_start : Model, optional
            An earlier fit to continue from. It is ignored where its parameters or bags differ too much.

        Returns
        -------
        Model
            The model itself.
        """

    @abstractmethod
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the class probabilities of new segments, without knowing any tags.

        Parameters
        ----------
        X : (N, d) float

        Returns
        -------
        (N, C) or (N, C + 1) float
            The last of C + 1 columns is the background ("none of the classes").
        """

    @abstractmethod
    def annotate(self, bags: BagSet) -> NDArray[np.float64]:
        """Return the class probabilities of segments, given the tags and labels of their bags.

        Returns
        -------
        (N, C) or (N, C + 1) float
            The last of C + 1 columns is the background ("none of the classes").
        """

    @abstractmethod
    def predict_tags(self, bags: BagSet) -> NDArray[np.float64]:
        """Return the probability, or a score, of each tag; the bags' own tags are not used.

        Returns
        -------
        (B, C) float
        """

    @property
    def has_background(self) -> bool:
        """Whether the probabilities have a last column for "none of the classes"."""
        return bool(getattr(self, "background", False))

    # parameters

    @classmethod
    def current_names(cls, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return parameters with the names of `OLD_NAMES` replaced; a current name wins over its old one.

        Examples
        --------
        >>> from miml_core.models import MODELS
        >>> MODELS["gp-probit"].current_names({"n_iter": 10, "seed": 3, "leak": 0.01})
        {'max_iter': 10, 'random_state': 3, 'leak': 0.01}
        """
        return current_names(params, cls._get_param_names())

    def _check_parameters(self) -> None:
        """Raise a `BagtagError` if a parameter has a value that `fit` cannot use."""

    # helpers for fit

    def _begin_fit(self, warm_start: Model | None) -> Model | None:
        """Check the parameters and remove the earlier fit; return the fitted model to continue from, if any."""
        self._check_parameters()
        plain_parameters(type(self), self.get_params())
        earlier = copy.copy(warm_start) if warm_start is self else warm_start
        for name in self._fitted_names():
            delattr(self, name)
        return earlier if earlier is not None and hasattr(earlier, "classes_") else None

    def _fitted_names(self) -> list[str]:
        return [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]

    # calibration

    @property
    def calibration(self) -> Calibration:
        """The calibration of the model's probabilities."""
        temperatures = Temperatures(self.predict_temperature_, self.annotate_temperature_, self.confused_)
        return Calibration(temperatures, (self.tag_calibration_[0], self.tag_calibration_[1]))

    def set_calibration(self, calibration: Calibration) -> None:
        """Use the calibration of another fit with the same parameters, or one found in another way."""
        self.predict_temperature_ = calibration.temperatures.new
        self.annotate_temperature_ = calibration.temperatures.given_tags
        self.confused_ = calibration.temperatures.confused
        self.tag_calibration_ = list(calibration.tag_curve)

    def _calibrated(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return calibrated probabilities of new segments."""
        return soften(probabilities, self.predict_temperature_, self.confused_)

    def _calibrated_given_tags(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return calibrated probabilities of segments of bags with known tags."""
        return soften(probabilities, self.annotate_temperature_, self.confused_)

    def _calibrated_tags(self, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
        return calibrate_tags(probabilities, self.tag_calibration_)

    # checks before a prediction

    def _check_fitted(self) -> None:
        if not hasattr(self, "classes_"):
            raise NotTrainedError(f"This {self.name} model has not been trained yet; call fit first.")

    def _check_features(self, X: ArrayLike) -> NDArray[np.float64]:
        self._check_fitted()
        X = number_array(X, "Features")
        if X.ndim != 2 or X.shape[1] != self.n_features_:
            raise BagtagError(
                f"The model was trained on {counted(self.n_features_, 'feature')} per segment, but the array has shape "
                f"{X.shape}; "
                "train it again."
            )
        self._check_values(X)
        return X

    def _check_values(self, X: NDArray[np.float64]) -> None:
        if (np.abs(X) <= LARGEST_FEATURE).all():
            return
        if np.isinf(X).any():
            raise BagtagError("Some features are infinite; compute the features of these segments again.")
        largest = np.fmax.reduce(np.abs(X), axis=None)
        if largest > LARGEST_FEATURE:
            raise BagtagError(f"A feature has the absolute value {largest:g}, {TOO_LARGE}.")
        if not self.handles_missing:
            raise BagtagError(f"The {self.name} model needs every feature of every segment; some are missing.")

    def _check_training_bags(self, bags: BagSet) -> None:
        """Refuse anything but bags whose features the model can use."""
        _require_bag_set(bags)
        self._check_values(bags.X)

    def _check_bags(self, bags: BagSet) -> None:
        _require_bag_set(bags)
        self._check_features(bags.X)
        if bags.classes != self.classes_:
            raise BagtagError("The classes have changed since the model was trained; train it again.")

    # files

    def _state(self) -> dict[str, Any]:
        """Return the fitted attributes as arrays and JSON values."""
        return {name: getattr(self, name) for name in self._fitted_names()}

    def _restore(self, state: dict[str, Any]) -> None:
        """Set the fitted attributes that `_state` returned."""
        vars(self).update(state)

    def save(self, path: str | Path) -> None:
        """Write the fitted model to one `.npz` file of arrays and JSON; the file appears complete or not at all.

        A `random_state` that is a generator is saved as None. `load_model` has an example.
        """
        self._check_fitted()
        if MODELS.get(self.name) is not type(self):
            raise BagtagError(
                f"{type(self).__name__} is not one of MODELS, so its file could not be loaded; CONTRIBUTING.md "
                "describes how to add it."
            )
        arrays, values = {}, {}
        for name, value in self._state().items():
            if isinstance(value, np.ndarray):
                arrays[name] = value
            else:
                values[name] = value
        params = plain_parameters(type(self), self.get_params())
        header = {"format": _FORMAT, "model": self.name, "params": params, "values": values}
        arrays["__header__"] = np.frombuffer(json.dumps(header, default=_to_json).encode(), dtype=np.uint8)
        with atomic_writer(path) as file:
            np.savez(file, allow_pickle=False, **arrays)


def load_model(path: str | Path | BinaryIO) -> Model:
    """Read a model that `Model.save` wrote, also with an earlier version.

    Examples
    --------
    >>> import tempfile
    >>> from miml_core import BagSet
    >>> from miml_core.models import MODELS
    >>> bags = BagSet([[0.0], [1.0]], [0, 1, 2], [[1, -1], [-1, 1]], ["wren", "robin"])
    >>> model = MODELS["ored-lr"](alpha=1.0).fit(bags)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.npz")
    ...     loaded = load_model(f"{folder}/model.npz")
    >>> loaded
    ORedLR(alpha=1.0)
    >>> bool((loaded.predict_proba(bags.X) == model.predict_proba(bags.X)).all())
    True
    """
    path = Path(path) if isinstance(path, str | Path) else path
    try:
        arrays = read_arrays(path, most_bytes=_MOST_BYTES)
        header = json.loads(arrays.pop("__header__").tobytes())
        if header["format"] != _FORMAT:
            raise KeyError("format")
        model = make_model(header["model"], header["params"])
        model._restore(_checked_state({**arrays, **header["values"]}))
    except FileNotFoundError:
        raise BagtagError(f"There is no model file {path}.") from None
    except _INVALID_FILE as error:
        reason = f": {error}" if isinstance(error, BagtagError) else "."
        raise BagtagError(
            f"{path} is not a complete Bagtag model file{reason} Train again, or choose another file."
        ) from error
    return model


def _checked_state(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state if it only has fitted attributes of the types that `save` writes: files may be foreign."""
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


def draw_seed(random_state: RandomState) -> int:
    """Return the integer from which all random numbers of one fit are generated.

    An integer is returned as it is, so that it gives the same fit each time. From a generator one number is drawn, so
    that successive fits differ; None uses a generator seeded by the operating system.

    Examples
    --------
    >>> draw_seed(7)
    7
    >>> rng = np.random.default_rng(0)
    >>> draw_seed(rng) == draw_seed(rng)
    False
    """
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise BagtagError(
        f"random_state must be a whole number of at least 0, a NumPy generator or None, not {random_state!r}."
    )


def _require_bag_set(bags: object) -> None:
    if not isinstance(bags, BagSet):
        raise BagtagError(f"The bags must be a BagSet, not an object of type {type(bags).__name__}.")


def _to_json(value: Any) -> Any:
    """Return NumPy numbers as JSON numbers."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be saved as JSON")
