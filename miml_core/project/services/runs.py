"""The runs of models in a project, and their predictions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from miml_core.project.jobs import queue, repredict
from miml_core.project.learning import predicting, training_runs
from miml_core.project.learning.model_outputs import ModelOutputs
from miml_core.project.queries import runs
from miml_core.project.records import Run
from miml_core.project.services.service import Service

if TYPE_CHECKING:
    from miml_core.models.base import Model
    from miml_core.project.queries.bagset import BagSetIndex


class Runs(Service):
    """`project.runs`.

    Examples
    --------
    >>> from miml_core.demo.example import example_project
    >>> with example_project() as project:
    ...     run = project.runs.current()
    ...     model = project.runs.load_model()
    ...     bags, index = project.bags.bagset()
    >>> run.id, run.model, model.classes_
    (1, 'ored-lr', ['Wren', 'Robin'])
    >>> model.annotate(bags).argmax(axis=1).tolist()
    [0, 1, 0, 1]
    """

    def list(self) -> builtins.list[Run]:
        """Return all runs, the latest first."""
        with self._store.read() as connection:
            return runs.list_runs(connection)

    def get(self, run_id: int) -> Run:
        """Return one run; raises `Gone` when there is none."""
        with self._store.read() as connection:
            return runs.get_run(connection, run_id)

    def current(self) -> Run | None:
        """Return the run whose predictions are shown."""
        with self._store.read() as connection:
            return runs.get_current_run(connection)

    def choose(self, run_id: int) -> Run:
        """Make a finished run the current one; its predictions are shown from now on."""
        if training_runs.choose(self._store, run_id):
            queue.start(self._store, "predict", {"run": run_id}, self._annotator)
        else:
            repredict.note_stale(self._store)
        return self.get(run_id)

    def remove(self, run_id: int) -> None:
        """Remove a run that is not the current one, with its predictions and its model file."""
        training_runs.remove(self._store, run_id)

    def load_model(self, run_id: int | None = None) -> Model:
        """Return the model of a run (by default the current one)."""
        return training_runs.load_model(self._store, run_id)

    def write_predictions(
        self,
        run_id: int,
        index: BagSetIndex,
        posterior: NDArray[np.floating],
        free: NDArray[np.floating],
        tag_probabilities: NDArray[np.floating] | None = None,
        informative: NDArray[np.floating] | None = None,
        keys: builtins.list[NDArray[np.int32]] | None = None,
    ) -> int:
        """Store predictions of a whole BagSet; return how many segments they are of.

        Parameters
        ----------
        index : BagSetIndex
            As `project.bags.bagset` returned it.
        posterior : (N, C) or (N, C + 1)
            `model.annotate(bags)`; a last column beyond the classes is the background.
        free : the same shape
            `model.predict_proba(bags.X)`: no tags known.
        tag_probabilities : (B, C), optional
            `model.predict_tags(bags)`, kept for suggestions.
        informative : (N,), optional
            `model.informativeness(bags.X)`, for the review order of that name.
        keys : optional
            Key instances of the tags, as in `ModelOutputs.keys`.
        """
        outputs = ModelOutputs(posterior, free, tag_probabilities, informative, keys)
        return predicting.write(self._store, run_id, index, outputs)

    def predict_bag(self, bag_id: int) -> int:
        """Predict one bag again with the current run; return how many segments were predicted.

        It is 0 if there is no run or no segment has features, or if somebody changes the bag meanwhile; it is then
        predicted soon, or when the project is closed.
        """
        n_segments = predicting.predict_bag(self._store, bag_id)
        if n_segments is None:
            repredict.note_bags(self._store, [bag_id])
        return n_segments or 0
