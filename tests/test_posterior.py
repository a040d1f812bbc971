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
    return [label]


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
    n_segments, n_classes = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    background, leak = draw(st.booleans()), draw(st.sampled_from([0.0, 0.001, 0.3]))
    tags = np.array(draw(st.lists(st.sampled_from([-1, 0, 1]), min_size=n_classes, max_size=n_classes)))
    possible = [UNKNOWN, UNKNOWN, BACKGROUND, *(c for c in range(n_classes) if tags[c] >= 0)]
    labels = np.array([draw(st.sampled_from(possible)) for _ in range(n_segments)])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = draw(st.sampled_from([0.5, 3.0, 30.0])) * rng.standard_normal((n_segments, n_classes + background))
    return log_softmax(scores), tags, labels, leak


@settings(max_examples=300, deadline=None)
@given(bags())
def test_equals_enumeration(bag):
    log_prior, tags, labels, leak = bag
    if (tags < 0).all() and log_prior.shape[1] == len(tags) and (labels == UNKNOWN).any():
        expected, total = None, 0.0
    else:
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
    with pytest.warns(UserWarning, match="their posterior is approximate"):
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


def test_tag_probabilities_are_one_minus_the_chance_of_none():
    prior = np.array([[0.5, 0.5, 0.0], [0.9, 0.0, 0.1], [0.0, 1.0, 0.0]])
    found = tag_probabilities(prior, [0, 2, 3], 2)
    np.testing.assert_allclose(found, [[0.95, 0.5], [0.0, 1.0]], atol=1e-12)
    np.testing.assert_allclose(tag_probabilities(prior, [0, 2, 3], 2, leak=0.5)[1, 0], 0.5)
