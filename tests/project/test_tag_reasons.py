"""Which segment explains each tag of a bag."""

from __future__ import annotations

import numpy as np
import pytest

from miml_core.bags import BACKGROUND, BagSet
from miml_core.models import MODELS
from miml_core.project import Project, TagReason
from miml_core.project.learning.model_outputs import predict
from tests.project.conftest import store_run

WREN, ROBIN, OWL = 1, 2, 3


def posterior(n: int) -> np.ndarray:
    """Bag 1: segment 2 is the likeliest Wren, segment 4 the likeliest Robin; bag 2 the same again."""
    wren = [0.5, 0.9, 0.3, 0.1, 0.2]
    robin = [0.4, 0.1, 0.2, 0.7, 0.3]
    rest = [1 - w - r for w, r in zip(wren, robin)]
    return np.tile(np.column_stack([wren, robin, np.zeros(5), rest]), (n // 5, 1))


def reasons(project: Project, bag_id: int = 1) -> dict[int, int]:
    return {reason.class_id: reason.segment_id for reason in project.review.tag_reasons(bag_id)}


@pytest.fixture
def tagged(small: Project) -> Project:
    small.edits.tag(1, WREN)
    small.edits.tag(1, ROBIN)
    return small


def test_the_likeliest_segment_explains_a_tag(tagged: Project) -> None:
    assert tagged.review.tag_reasons(1) == []
    store_run(tagged, posterior)
    assert reasons(tagged) == {WREN: 2, ROBIN: 4}
    assert tagged.review.tag_reasons(1)[0].probability == pytest.approx(0.9, rel=1e-3)
    assert reasons(tagged, 2) == {}, "a bag without tags has nothing to explain"
    tagged.edits.tag(1, OWL)
    tagged.edits.tag(1, ROBIN, -1)
    assert reasons(tagged) == {WREN: 2}, "an absent tag has no reason, nor one that no segment could be"


def test_segments_the_model_cannot_distinguish_explain_nothing(tagged: Project) -> None:
    store_run(tagged, lambda n: np.tile([0.4, 0.6, 0.0, 0.0], (n, 1)))
    assert reasons(tagged) == {ROBIN: 1}


def test_labels_of_people_come_before_the_model(tagged: Project) -> None:
    store_run(tagged, posterior)
    tagged.edits.set_label(2, BACKGROUND)
    tagged.edits.delete(4)
    assert reasons(tagged) == {WREN: 1, ROBIN: 1}
    tagged.edits.set_label(1, ROBIN)
    assert reasons(tagged) == {WREN: 3, ROBIN: 1}


def test_a_model_may_name_its_own_reasons(tagged: Project) -> None:
    named = [np.array([[0, 2, 1, 5]]), np.empty((0, 4))]
    store_run(tagged, posterior, keys=named)
    wren, robin = tagged.review.tag_reasons(1)
    assert (wren.segment_id, wren.concept, wren.n_concepts) == (3, 2, 5)
    assert (robin.segment_id, robin.concept, robin.n_concepts) == (4, 1, 1)
    tagged.edits.set_label(3, ROBIN)
    assert reasons(tagged)[WREN] == 2, "the named one is something else: the likeliest of the others"
    assert tagged.review.tag_reasons(1)[0].n_concepts == 1


def test_merged_classes_share_a_reason(tagged: Project) -> None:
    store_run(tagged, posterior, keys=[np.array([[0, 2, 1, 5], [1, 3, 0, 5]]), np.empty((0, 4))])
    tagged.edits.merge_classes([ROBIN], WREN)
    (reason,) = tagged.review.tag_reasons(1)
    assert reason == TagReason(WREN, 4, pytest.approx(0.8, rel=1e-3), 1, 5)


@pytest.fixture(scope="module")
def bags() -> BagSet:
    """Twelve bags of three segments; class a is on the left, class b on the right."""
    rng = np.random.default_rng(0)
    side = rng.choice([-3.0, 3.0], size=36)
    X = np.column_stack([side + rng.normal(size=36), rng.normal(size=36)])
    tags = np.array([[1 if (part < 0).any() else -1, 1 if (part > 0).any() else -1] for part in side.reshape(12, 3)])
    return BagSet(X, np.arange(0, 37, 3), tags, ["a", "b"])


def test_a_run_stores_the_outputs_of_its_model(bags: BagSet) -> None:
    plain = predict(MODELS["ored-lr"]().fit(bags), bags)
    assert plain.informative is None and plain.keys is None
    gaussian = MODELS["gp-probit"]().fit(bags)
    np.testing.assert_allclose(predict(gaussian, bags).informative, gaussian.informativeness(bags.X))
    fast = MODELS["mimlfast"]().fit(bags)
    keys = predict(fast, bags).keys
    assert keys is not None
    for bag, tagged in enumerate(bags.tags):
        np.testing.assert_array_equal(keys[bag][:, 0], np.flatnonzero(tagged > 0))
        rows = keys[bag][:, 1] + bags.offsets[bag]
        np.testing.assert_array_equal(rows, fast.key_instances(bags)[bag, tagged > 0])
        np.testing.assert_array_equal(keys[bag][:, 2], fast.sub_concepts(bags)[bag, tagged > 0])
        assert (keys[bag][:, 3] == fast.K_).all() and (keys[bag][:, 2] < fast.K_).all()
