"""What every model does around its own `fit`: check the bags before, and leave nothing half-fitted after."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from miml_core.bags import BagSet
from miml_core.errors import BagtagError

if TYPE_CHECKING:
    from miml_core.models.base import Model

    class NotFittedError(ValueError, AttributeError):
        """What scikit-learn's class is, which has no type annotations."""

else:
    from sklearn.exceptions import NotFittedError


class NotTrainedError(BagtagError, NotFittedError):
    """A prediction of a model that has not been fitted.

    Examples
    --------
    >>> from miml_core.models import MODELS
    >>> MODELS["majority"]().predict_proba([[0.0]])
    Traceback (most recent call last):
        ...
    miml_core.models.fitting.NotTrainedError: This majority model has not been trained yet; call fit first.
    """


def safe_fit(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return a `fit` that checks the bags first, and that leaves no half-fitted model if it is cancelled or fails.

    The earlier fit is kept if the new one was refused before it began (`Model._begin_fit`). The second argument, `y`,
    is accepted because scikit-learn passes it, for example in a pipeline, and ignored; a `fit` need not have it.
    """

    @functools.wraps(fit)
    def fit_or_nothing(self: Model, bags: BagSet, y: object = None, **options: Any) -> Any:
        self._check_training_bags(bags)
        before = _fitted_attributes(self)
        try:
            return fit(self, bags, **options)
        except BaseException:
            after = _fitted_attributes(self)
            if before.keys() != after.keys() or any(after[name] is not before[name] for name in after):
                for name in after:
                    delattr(self, name)
            raise

    return fit_or_nothing


def _fitted_attributes(model: Model) -> dict[str, Any]:
    return {name: getattr(model, name) for name in model._fitted_names()}
