"""The exact posterior against enumeration, and against the paper's two algorithms written down plainly."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miml_core import BACKGROUND, UNKNOWN, BagSet, BagtagError
from miml_core.posterior import bag_posterior, tag_probabilities, training_posterior


def log_softmax(scores):
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def enumerate_labellings(log_prior, tags, labels, leak):
    """p(label | tags) by summing over every labelling; a tag no segment carries costs a factor `leak`."""
    n, n_columns = log_prior.shape
    required = [c for c in range(len(tags)) if tags[c] > 0]
    posterior, total = np.zeros((n, n_columns)), 0.0
    for labelling in itertools.product(*(_choices(label, tags, n_columns) for label in labels)):
        p = np.exp(sum(log_prior[i, c] for i, c in enumerate(labelling) if c is not None))
        p *= leak ** sum(c not in labelling for c in required)
        total += p
        for i, c in enumerate(labelling):
            if c is not None:
                posterior[i, c] += p
    return posterior, total


def _choices(label, tags, n_columns):
    if label == UNKNOWN:
        return [c for c in range(n_columns) if c == len(tags) or tags[c] >= 0]
    if label == BACKGROUND:
        return [len(tags)] if n_columns > len(tags) else [None]
    return [label] if tags[label] >= 0 else []


def forward_algorithm(prior, required):
    """The paper's Algorithm 1: for each segment, the chain over the others (Propositions 1 and 2)."""
    n = len(prior)
    joint = np.zeros_like(prior)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        reached = _chain(prior[others], required)
        for c in required:
            whole, less = frozenset(required), frozenset(required) - {c}
            joint[i, c] = prior[i, c] * (reached.get(whole, 0.0) + reached.get(less, 0.0))
    return joint


def _chain(prior, required):
    """Proposition 1: probability of each union of labels after the given segments; eqs. 14 and 15."""
    reached = {frozenset(): 1.0}
    for row in prior:
        after = {}
        for subset, p in reached.items():
            for c in required:
                union = subset | {c}
                after[union] = after.get(union, 0.0) + p * row[c]
        reached = after
    return reached


def fast_algorithm(prior, required):
    """The paper's Algorithm 2: one chain, then each segment taken out again by substitution (Proposition 3)."""
    subsets = [frozenset(s) for k in range(1, len(required) + 1) for s in itertools.combinations(required, k)]
    reached = _chain(prior, required)
    u = np.array([reached.get(subset, 0.0) for subset in subsets])
    joint = np.zeros_like(prior)
    for i, row in enumerate(prior):
        A = np.zeros((len(subsets), len(subsets)))
        for m, target in enumerate(subsets):
            for k, source in enumerate(subsets):
                if source == target:
                    A[m, k] = sum(row[c] for c in target)
                elif source < target and len(target) == len(source) + 1:
                    A[m, k] = row[next(iter(target - source))]
        v = dict(zip(subsets, np.linalg.solve(A, u)))
        for c in required:
            whole, less = frozenset(required), frozenset(required) - {c}
            joint[i, c] = row[c] * (v[whole] + v.get(less, 0.0))
    return joint


@st.composite
def bags(draw):
    n_segments, n_classes = draw(st.integers(0, 7)), draw(st.integers(1, 5))
    background, leak = draw(st.booleans()), draw(st.sampled_from([0.0, 0.001, 0.3]))
    tags = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n_classes, max_size=n_classes)))
    possible = [UNKNOWN, UNKNOWN, BACKGROUND, *(c for c in range(n_classes) if tags[c] >= 0 or draw(st.booleans()))]
    labels = np.array([draw(st.sampled_from(possible)) for _ in range(n_segments)], dtype=int)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = draw(st.sampled_from([0.5, 3.0, 30.0])) * rng.standard_normal((n_segments, n_classes + background))
    return log_softmax(scores), tags, labels, leak


@settings(max_examples=300, deadline=None)
@given(bags())
def test_equals_enumeration(bag):
    log_prior, tags, labels, leak = bag
    expected, total = enumerate_labellings(log_prior, tags, labels, leak)
    if total == 0.0:
        with pytest.raises(BagtagError, match=r"[Bb]ag 0"):
            bag_posterior(log_prior, [0, len(log_prior)], tags[None], labels, leak=leak)
        return
    found = bag_posterior(log_prior, [0, len(log_prior)], tags[None], labels, leak=leak)
    np.testing.assert_allclose(found.probabilities, expected / total, atol=1e-10)
    assert found.log_likelihood[0] == pytest.approx(np.log(total), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("algorithm", [forward_algorithm, fast_algorithm])
@pytest.mark.parametrize(("n", "n_required"), [(2, 2), (4, 3), (6, 4), (3, 1)])
def test_equals_the_paper_s_algorithms(algorithm, n, n_required):
    rng = np.random.default_rng(n)
    log_prior = log_softmax(rng.standard_normal((n, 6)))
    tags = np.array([[1] * n_required + [-1] * (6 - n_required)])
    joint = algorithm(np.exp(log_prior), list(range(n_required)))
    found = bag_posterior(log_prior, [0, n], tags)
    np.testing.assert_allclose(found.probabilities, joint / joint.sum(axis=1, keepdims=True), atol=1e-10)
    assert found.log_likelihood[0] == pytest.approx(np.log(joint[0].sum()))


def test_two_thousand_segments_neither_underflow_nor_overflow():
    rng = np.random.default_rng(0)
    log_prior = log_softmax(4 * rng.standard_normal((2000, 8)))
    found = bag_posterior(log_prior, [0, 2000], [[1] * 5 + [-1] * 3], leak=0.01)
    assert np.isfinite(found.log_likelihood).all()
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    assert found.log_likelihood[0] < -500


def test_tags_less_likely_than_floats_reach_are_still_exact():
    """p(c) = e^-900 everywhere: ordinary arithmetic has no such number."""
    log_prior = np.full((4, 3), -900.0)
    log_prior[:, 0] = 0.0
    found = bag_posterior(log_prior, [0, 4], [[1, 1, 1]])
    np.testing.assert_allclose(found.probabilities, np.tile([0.5, 0.25, 0.25], (4, 1)))
    assert found.log_likelihood[0] == pytest.approx(-1800 + np.log(12))


def test_large_bags_keep_few_rows_and_give_the_same_result():
    """In large tables only some forward rows are kept; the result is the same as that of the halves of a tree."""
    rng = np.random.default_rng(1)
    log_prior = log_softmax(rng.standard_normal((300, 13)))
    whole = bag_posterior(log_prior, [0, 300], [[1] * 13])
    backwards = bag_posterior(log_prior[::-1], [0, 300], [[1] * 13])
    np.testing.assert_allclose(whole.probabilities, backwards.probabilities[::-1], atol=1e-12)
    np.testing.assert_allclose(whole.probabilities.sum(axis=1), 1)


def test_the_order_of_segments_and_of_bags_does_not_matter():
    rng = np.random.default_rng(2)
    log_prior = log_softmax(rng.standard_normal((9, 4)))
    tags = np.array([[1, 0, 1, -1], [0, 1, -1, 1]])
    there = bag_posterior(log_prior, [0, 5, 9], tags, leak=0.1)
    order = np.array([8, 6, 7, 5, 3, 0, 4, 2, 1])
    again = bag_posterior(log_prior[order], [0, 4, 9], tags[::-1], leak=0.1)
    np.testing.assert_allclose(again.probabilities, there.probabilities[order], atol=1e-12)
    np.testing.assert_allclose(again.log_likelihood, there.log_likelihood[::-1])


def test_the_gradient_is_posterior_minus_prior():
    rng = np.random.default_rng(3)
    scores = rng.standard_normal((5, 4))
    tags, labels = [[1, 0, 1]], [-1, 2, -1, BACKGROUND, -1]

    def value(s):
        return bag_posterior(log_softmax(s), [0, 5], tags, labels, leak=0.05).log_likelihood[0]

    gradient = bag_posterior(log_softmax(scores), [0, 5], tags, labels, leak=0.05).probabilities
    gradient = gradient - np.exp(log_softmax(scores))
    step = 1e-6
    for i, c in np.ndindex(scores.shape):
        bump = np.zeros_like(scores)
        bump[i, c] = step
        assert gradient[i, c] == pytest.approx((value(scores + bump) - value(scores - bump)) / (2 * step), abs=1e-7)


def test_too_many_tags_are_approximated_with_a_warning():
    rng = np.random.default_rng(4)
    log_prior = log_softmax(rng.standard_normal((60, 25)))
    with pytest.warns(UserWarning, match="more than 20 tags"):
        found = bag_posterior(log_prior, [0, 60], [[1] * 25])
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1)
    small, tags = log_softmax(rng.standard_normal((30, 8))), [[1] * 8]
    exact = bag_posterior(small, [0, 30], tags)
    with pytest.warns(UserWarning, match="more than 6 tags"):
        rough = bag_posterior(small, [0, 30], tags, max_exact=6)
    assert rough.log_likelihood[0] >= exact.log_likelihood[0]
    assert np.abs(rough.probabilities - exact.probabilities).max() < 0.1


def test_training_is_exact_while_that_is_affordable_and_never_hangs():
    rng = np.random.default_rng(4)
    log_prior = log_softmax(rng.normal(size=(60, 18)))
    few = BagSet(np.zeros((60, 1)), [0, 60], np.where(np.arange(18) < 9, 1, -1)[None], list("abcdefghijklmnopqr"))
    exact = bag_posterior(log_prior, few.offsets, few.tags)
    assert training_posterior(log_prior, few, leak=0.0).probabilities == pytest.approx(exact.probabilities)
    many = few.replace(tags=np.ones((1, 18), np.int8))
    with pytest.warns(UserWarning, match="1 bag has .*its posterior is approximate"):
        rough = training_posterior(log_prior, many, leak=0.0)
    assert rough.probabilities.sum(axis=1) == pytest.approx(1)


def test_what_cannot_be_is_refused_by_bag():
    prior = np.log(np.full((3, 2), 0.5))
    with pytest.raises(BagtagError, match=r"[Bb]ag 1 .*2 tags"):
        bag_posterior(prior, [0, 2, 3], [[1, 1], [1, 1]])
    with pytest.raises(BagtagError, match=r"[Bb]ag 0 .*background"):
        bag_posterior(prior, [0, 3], [[-1, -1]])
    with pytest.raises(BagtagError, match="leak"):
        bag_posterior(prior, [0, 3], [[1, 1]], leak=1.5)


def test_a_label_of_a_class_that_the_bag_does_not_have_is_refused():
    prior = np.log(np.full((3, 2), 0.5))
    with pytest.raises(BagtagError, match="Segment 1 of bag 1 is labelled as class 0, but that bag"):
        bag_posterior(prior, [0, 1, 3], [[1, -1], [-1, 1]], [0, UNKNOWN, 0], leak=0.1)


def test_a_bag_without_segments_has_its_tags_by_the_leak_alone():
    rng = np.random.default_rng(5)
    log_prior = log_softmax(rng.standard_normal((4, 3)))
    offsets, tags = [0, 0, 2, 2, 4, 4], [[1, 1, -1], [1, 0, 1], [-1, -1, -1], [0, 1, 0], [0, 1, 0]]
    found = bag_posterior(log_prior, offsets, tags, leak=0.2)
    np.testing.assert_allclose(np.exp(found.log_likelihood[[0, 2, 4]]), [0.04, 1.0, 0.2])
    filled = bag_posterior(log_prior, [0, 2, 4], [tags[1], tags[3]], leak=0.2)
    np.testing.assert_array_equal(found.probabilities, filled.probabilities)
    np.testing.assert_array_equal(found.log_likelihood[[1, 3]], filled.log_likelihood)
    with pytest.raises(BagtagError, match="Bag 0 has 2 tags but only 0 segments"):
        bag_posterior(log_prior, offsets, tags)
    assert bag_posterior(np.zeros((0, 3)), [0, 0], [[0, -1, 0]]).log_likelihood.tolist() == [0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("tags", [[1, 1, 0], [1, -1, 0], [0, 0, 0]])
def test_probabilities_that_are_no_numbers_are_refused(bad, tags):
    log_prior = np.log(np.full((4, 3), 1 / 3))
    log_prior[2, 1] = bad
    with pytest.raises(BagtagError, match="probabilities of bag 1 are not numbers"):
        bag_posterior(log_prior, [0, 2, 4], [[0, 0, 0], tags])


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tags": [[257, 1]]}, "row 0 has 257"),
        ({"tags": np.array([[255, 1]], dtype=np.uint8)}, "row 0 has 255"),
        ({"tags": [[-128, 1]]}, "Tags must be"),
        ({"tags": [[0.5, 1]]}, "row 0 has 0.5"),
        ({"tags": [1, 1]}, "do not fit"),
        ({"labels": [0.7, -1]}, "row 0 has 0.7"),
        ({"labels": [-3, -1]}, "labels one of 2 classes"),
        ({"labels": [2, -1]}, "labels one of 2 classes"),
        ({"labels": ["a", "b"]}, "Labels must be numbers"),
        ({"offsets": [0, 1.5]}, "row 1 has 1.5"),
        ({"log_prior": [0.5, 0.5]}, "do not fit"),
        ({"log_prior": [[0.5, 0.5], [0.5]]}, "rows of equal length"),
    ],
)
def test_arrays_that_a_cast_would_change_are_refused(changes, expected):
    values = {"log_prior": np.log(np.full((2, 2), 0.5)), "offsets": [0, 2], "tags": [[1, 1]], "labels": [-1, -1]}
    with pytest.raises(BagtagError, match=expected):
        bag_posterior(**{**values, **changes}, leak=0.1)


def test_tag_probabilities_are_one_minus_the_chance_of_none():
    prior = np.array([[0.5, 0.5, 0.0], [0.9, 0.0, 0.1], [0.0, 1.0, 0.0]])
    found = tag_probabilities(prior, [0, 2, 3], 2)
    np.testing.assert_allclose(found, [[0.95, 0.5], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(tag_probabilities(prior, [0, 2, 3], 2, leak=0.5)[1, 0], 0.5)


def test_a_bag_without_segments_has_tag_probabilities_by_the_leak_alone():
    prior = np.array([[0.5, 0.5, 0.0], [0.9, 0.0, 0.1], [0.0, 1.0, 0.0]])
    filled = tag_probabilities(prior, [0, 2, 3], 2, leak=0.1)
    found = tag_probabilities(prior, [0, 0, 2, 2, 3, 3], 2, leak=0.1)
    np.testing.assert_array_equal(found[[1, 3]], filled)
    np.testing.assert_allclose(found[[0, 2, 4]], 0.1)
    np.testing.assert_allclose(tag_probabilities(np.zeros((0, 3)), [0, 0], 2), 0.0)


def test_a_tag_that_is_impossible_has_probability_zero_without_a_sign():
    assert not np.signbit(tag_probabilities([[0.0, 1.0]], [0, 1, 1], 2, leak=0)).any()


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({"n_classes": 3}, "shape \\(2, 2\\) do not fit 3 classes"),
        ({"n_classes": 0}, "number of classes must be a whole number of at least 1, not 0"),
        ({"n_classes": "a"}, "number of classes must be a whole number of at least 1, not 'a'"),
        ({"n_classes": 1.5}, "number of classes must be a whole number"),
        ({"prior": [0.5, 0.5]}, "shape \\(2,\\) do not fit"),
        ({"prior": [["a", "b"]]}, "Probabilities must be numbers"),
        ({"prior": [[0.5, 0.5], [np.nan, 0.0]], "offsets": [0, 1, 2]}, "probabilities of bag 1 are not all between"),
        ({"prior": [[2.0, 0.0], [0.0, 1.0]]}, "probabilities of bag 0 are not all between 0 and 1"),
        ({"prior": [[-0.5, 0.0], [0.0, 1.0]]}, "probabilities of bag 0 are not all between 0 and 1"),
        ({"offsets": [0, 5]}, "do not fit 2 classes and bags that begin and end at \\[0, 5\\]"),
        ({"offsets": [0, 1]}, "begin and end at \\[0, 1\\]"),
        ({"offsets": [0, 2, 1, 2]}, "begin and end at"),
        ({"offsets": []}, "begin and end at"),
        ({"offsets": [0, 0.5]}, "Offsets must be whole numbers"),
    ],
)
def test_tag_probabilities_refuse_what_does_not_fit(changes, expected):
    with pytest.raises(BagtagError, match=expected):
        tag_probabilities(**{"prior": [[0.5, 0.5], [0.2, 0.8]], "offsets": [0, 2], "n_classes": 2} | changes)


@pytest.mark.parametrize("leak", ["a", None, [0.1], 1, -0.1, np.nan])
def test_a_leak_that_is_no_probability_is_refused(leak):
    with pytest.raises(BagtagError, match="The leak must be a number of at least 0 and below 1, not"):
        bag_posterior(np.log([[0.5, 0.5]]), [0, 1], [[1, -1]], leak=leak)
    with pytest.raises(BagtagError, match="The leak must be a number of at least 0 and below 1, not"):
        tag_probabilities([[0.5, 0.5]], [0, 1], 2, leak)


def test_a_leak_may_be_any_number():
    wanted = tag_probabilities([[0.5, 0.5]], [0, 1], 2, 0.25)
    np.testing.assert_array_equal(tag_probabilities([[0.5, 0.5]], [0, 1], 2, np.float32(0.25)), wanted)
