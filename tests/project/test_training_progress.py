"""What a running training shows: whether it chooses parameters or trains, and the curves of its last phase."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from miml_core.bags import BagSet
from miml_core.models.parameters import make_model
from miml_core.project import Project
from miml_core.project.jobs.context import JobContext

pytestmark = pytest.mark.usefixtures("forked")


@pytest.fixture
def context(project: Project, monkeypatch: pytest.MonkeyPatch) -> JobContext:
    """A training job that no worker runs."""
    monkeypatch.setattr("miml_core.project.jobs.queue._launch", lambda store, job_id: None)
    return JobContext(project.store, project.jobs.start("train").id)


@pytest.fixture
def bags() -> BagSet:
    """A hundred bags of three segments; each class has a feature of its own."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, size=300)
    tags = np.zeros((100, 3), dtype=np.int8)
    tags[np.repeat(np.arange(100), 3), labels] = 1
    return BagSet(np.eye(3)[labels] + 0.1 * rng.normal(size=(300, 3)), np.arange(0, 301, 3), 2 * tags - 1, list("abc"))


@pytest.mark.parametrize(
    ("name", "params", "expected"),
    [
        ("ored-lr", {}, ["training", "choosing parameters", "training"]),
        ("sim", {}, ["choosing parameters", "training", "calibrating probabilities"]),
        ("sim", {"lam": 0.1}, ["training", "calibrating probabilities"]),
        ("mimlfast", {"K": "auto"}, ["choosing parameters", "training", "calibrating probabilities"]),
        ("mimlfast", {"K": 2}, ["training", "calibrating probabilities"]),
        ("mimm", {}, ["training", "calibrating probabilities"]),
    ],
)
def test_the_message_names_what_the_fit_does(
    context: JobContext,
    bags: BagSet,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    params: dict[str, Any],
    expected: list[str],
) -> None:
    reported: list[str] = []
    monkeypatch.setattr(context, "report", lambda step, of, message: reported.append(message))
    make_model(name, params).fit(bags, progress=context.fit_progress)
    assert [message for message, _ in itertools.groupby(reported)] == expected


def test_curves_are_those_of_the_last_phase(context: JobContext) -> None:
    for loss in (0.9, 0.8):
        context.fit_progress(1, 4, {"loss": loss, "choosing": 1})
    for loss in (0.5, 0.4):
        context.fit_progress(3, 4, {"loss": loss})
    context.fit_progress(4, 4, {"calibrating": 1})
    assert context.info["curves"] == {"loss": [0.5, 0.4]}
