"""Support Instance Machines, inside: the paper's equations written out plainly, and what its solvers promise."""

import numpy as np
import pytest

from miml_core import BACKGROUND, UNKNOWN, BagSet
from miml_core.models import sim_solvers
from miml_core.models.sim import SIM
from miml_core.models.sim_solvers import Problem, cccp, heuristic
from tests.models.sim_bags import plain_support, random_bags

# the paper's equations, one pair of labels at a time


def plain_loss(problem, supports, W, *, moving=False):
    """Eq. 26 with 27, or eq. 25 with 29 where `moving`, or eq. 31 with 32: loss and subgradient by loops."""
    loss, V = 0.0, np.zeros_like(W)
    for bag in range(len(problem.tags)):
        present, absent = np.flatnonzero(problem.tags[bag] > 0), np.flatnonzero(problem.tags[bag] < 0)
        x = {c: supports[bag, c] for c in range(len(W))}
        if moving:
            x |= {k: plain_support(problem, bag, k, W) for k in absent}
        if problem.loss == "hamming":
            known = np.count_nonzero(problem.tags)
            for c, y in [(c, 1) for c in present] + [(c, -1) for c in absent]:
                if y * (W[c] @ x[c]) < 1:
                    loss += (1 - y * (W[c] @ x[c])) / known
                    V[c] -= y * x[c] / known
            continue
        n = sum((t > 0).any() and (t < 0).any() for t in problem.tags)
        for j in present:
            for k in absent:
                beta = 1.0 / (n * len(present) * len(absent))
                slack = 1.0 + W[k] @ x[k] - W[j] @ x[j]
                if slack > 0:
                    loss += beta * slack
                    V[j] -= beta * x[j]
                    V[k] += beta * x[k]
    return loss, V


def numerical_gradient(function, W, step=1e-6):
    gradient = np.zeros_like(W)
    for index in np.ndindex(*W.shape):
        up, down = W.copy(), W.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (function(up) - function(down)) / (2 * step)
    return gradient


def make_problem(bags, loss="rank", aggregate="softmax"):
    centred = bags.X - bags.X.mean(axis=0)
    return Problem.of(bags, centred / np.linalg.norm(centred), loss, aggregate)


@pytest.mark.parametrize("aggregate", ["max", "softmax"])
def test_support_instances_are_those_of_the_paper(aggregate):
    problem = make_problem(random_bags(1)[0], aggregate=aggregate)
    W = 10 * np.random.default_rng(2).standard_normal((4, 3))
    supports = problem.supports(W)
    for bag, c in np.argwhere(problem.tags != 0):
        np.testing.assert_allclose(supports[bag, c], plain_support(problem, bag, c, W), atol=1e-12)


def test_training_starts_from_the_mean_of_each_bag():
    bags, _ = random_bags(3, unknown=0, corrected=0)
    problem = make_problem(bags, aggregate="max")
    means = np.array([problem.X[bags.rows(bag)].mean(axis=0) for bag in range(bags.n_bags)])
    np.testing.assert_allclose(problem.average_supports(), np.repeat(means[:, None], 4, axis=1), atol=1e-12)


@pytest.mark.parametrize("loss", ["rank", "hamming"])
@pytest.mark.parametrize("moving", [False, True])
def test_loss_and_subgradient_against_loops_and_differences(loss, moving):
    problem = make_problem(random_bags(4)[0], loss, "max" if moving else "softmax")
    rng = np.random.default_rng(5)
    supports = problem.supports(10 * rng.standard_normal((4, 3)))
    at = problem.cccp_loss_at if moving else problem.loss_at
    for scale in (1.0, 10.0, 30.0):
        W = scale * rng.standard_normal((4, 3))
        value, V = at(supports, W)
        plain_value, plain_V = plain_loss(problem, supports, W, moving=moving)
        assert value == pytest.approx(plain_value, abs=1e-12)
        np.testing.assert_allclose(V, plain_V, atol=1e-12)
        np.testing.assert_allclose(V, numerical_gradient(lambda W: at(supports, W)[0], W), atol=1e-6)


def test_threads_and_blocks_do_not_change_the_numbers(monkeypatch):
    bags, _ = random_bags(6, n_bags=40)
    monkeypatch.setattr(sim_solvers, "_BLOCK_WORK", 60)
    weights = []
    for threads in ("1", "3"):
        monkeypatch.setenv("BAGTAG_THREADS", threads)
        weights.append(SIM(lam=1e-3, T=3, K=30).fit(bags).weights_)
    np.testing.assert_array_equal(*weights)


# the optimisers


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("lam", [1e-5, 1e-4, 1e-3])
def test_cccp_never_lets_the_objective_rise(seed, lam):
    problem = make_problem(random_bags(seed, n_bags=30)[0], aggregate="max")
    objectives = [1.0] + [iterate.objective for iterate in cccp(problem, lam, T=8, K=20, K_max=400)]
    assert (np.diff(objectives) <= 1e-12).all()
    assert objectives[-1] < 1.0


def test_cccp_ends_where_no_step_helps():
    problem = make_problem(random_bags(0, n_bags=30)[0], aggregate="max")
    iterates = list(cccp(problem, 1e-3, T=200, K=5, K_max=20))
    assert len(iterates) < 200 and iterates[-1].finished
    np.testing.assert_array_equal(iterates[-1].W, iterates[-2].W)


@pytest.mark.parametrize("lam", [1e-4, 1e-1, 10.0])
def test_weights_stay_in_the_ball(lam):
    problem = make_problem(random_bags(7)[0])
    for iterate in heuristic(problem, lam, T=4, K=3):
        assert np.linalg.norm(iterate.W) <= np.sqrt(2.0 / lam) * (1 + 1e-12)


def test_the_convex_problem_is_solved():
    """With the supports held and many steps, subgradient descent comes close to what a general solver finds."""
    from scipy.optimize import minimize

    problem = make_problem(random_bags(8)[0])
    held, lam = problem.average_supports(), 1e-3
    shape = (4, 3)

    def value(w):
        W = w.reshape(shape)
        return problem.loss_at(held, W)[0] + 0.5 * lam * (W**2).sum()

    best = min(minimize(value, np.zeros(12), method=m, options={"maxiter": 9000}).fun for m in ("Powell", "BFGS"))
    found = next(heuristic(problem, lam, T=1, K=3000))
    assert value(found.W.ravel()) <= best + 1e-3


# tags partly known, and corrections


def test_only_known_tags_make_pairs():
    X = [[1.0], [2.0], [3.0]]
    known = make_problem(BagSet(X, [0, 2, 3], [[1, -1, 0], [0, 0, 0]], ["a", "b", "c"]))
    assert known.weight.tolist() == [1.0, 0.0]
    W = np.array([[1.0], [2.0], [50.0]])
    value, V = known.loss_at(known.supports(W), W)
    assert value > 0 and V[2] == 0.0


def test_what_a_correction_means_to_the_loss():
    labels = [0, UNKNOWN, BACKGROUND, UNKNOWN]
    bags = BagSet(np.eye(4), [0, 4], [[0, 1, -1]], ["a", "b", "c"], labels)
    problem = Problem.of(bags, bags.X, "rank", "max")
    # the labelled segment is a bag of its own, and its class is now known of the bag it came from
    assert problem.tags.tolist() == [[1, 1, -1], [1, -1, -1]]
    np.testing.assert_array_equal(problem.X[4], bags.X[0])
    # it alone supports its class; it and the background support no other present class
    assert problem.candidate[:4].T.tolist() == [[1, 0, 0, 0], [0, 1, 0, 1], [0, 1, 0, 1]]
    # an absent class must be outscored on every segment
    W = np.zeros((3, 4))
    W[2] = [0, 0, 9, 0]
    np.testing.assert_array_equal(problem.supports(W)[0, 2], bags.X[2])


def test_a_tag_whose_segments_are_all_corrected_away_takes_no_part():
    bags = BagSet(np.eye(2), [0, 2], [[1, 1, -1]], ["a", "b", "c"], [0, 0])
    assert Problem.of(bags, bags.X, "rank", "max").tags[0].tolist() == [1, 0, -1]
