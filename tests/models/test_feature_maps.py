"""Scales and kernels: what they promise, on data that is kind and on data that is not."""

import numpy as np
import pytest

from miml_core.models.feature_maps import (
    CentreAndShrink,
    RandomFourier,
    RBFDictionary,
    Standardise,
    UnitRange,
    apply,
    kernel_delta,
    mean_and_spread,
    pack,
    unpack,
)

X = np.random.default_rng(0).normal(loc=[0, 50, -3], scale=[1, 10, 0.1], size=(200, 3))


def kernel(A, B, delta):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / delta)


def test_scales():
    Z = Standardise.fit(X)(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1)
    U = UnitRange.fit(X)(X)
    assert (U.min(axis=0) == 0).all()
    np.testing.assert_allclose(U.max(axis=0), 1)
    S = CentreAndShrink.fit(U)(U)
    np.testing.assert_allclose((S**2).sum(), 1)


@pytest.mark.parametrize("kind", [Standardise, UnitRange, CentreAndShrink])
def test_constant_features_become_zero(kind):
    constant = np.full((5, 2), 1e9)
    assert (kind.fit(constant)(constant) == 0).all()


def test_delta_is_the_mean_squared_distance_of_pairs():
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2).mean()
    assert kernel_delta(X) == pytest.approx(squared)
    assert kernel_delta(X, 0.5) == pytest.approx(squared / 2)
    assert kernel_delta(np.ones((3, 2))) == 1.0


def test_products_of_random_fourier_features_are_near_the_kernel():
    Z, delta = Standardise.fit(X)(X), 6.0
    lifted = RandomFourier.fit(Z, n_pairs=4000, gamma=1 / delta)(Z)
    assert np.abs(lifted @ lifted.T - kernel(Z, Z, delta)).max() < 0.1
    np.testing.assert_allclose((lifted**2).sum(axis=1), 1)


def test_products_over_a_dictionary_are_the_kernel_itself():
    Z, delta = Standardise.fit(X)(X), 6.0
    lifted = RBFDictionary.fit(Z, n_centres=200, delta=delta)(Z)
    np.testing.assert_allclose(lifted @ lifted.T, kernel(Z, Z, delta), atol=1e-4)
    few = RBFDictionary.fit(Z, n_centres=100, delta=delta, most=10)(Z)
    assert few.shape == (200, 10)
    assert np.abs(few @ few.T - kernel(Z, Z, delta)).mean() < 0.05


def test_maps_are_packed_as_arrays_and_come_back():
    Z = Standardise.fit(X)(X)
    maps = [Standardise.fit(X), RBFDictionary.fit(Z, n_centres=20, delta=6.0), CentreAndShrink.fit(Z[:, :1])]
    state = pack(maps[:2], "map")
    assert all(isinstance(value, np.ndarray | list) for value in state.values())
    assert (apply(unpack(state, "map"), X) == apply(maps[:2], X)).all()


def test_mean_and_spread_are_those_of_numpy():
    mean, spread = mean_and_spread(X)
    np.testing.assert_array_equal(mean, X.mean(axis=0))
    np.testing.assert_array_equal(spread, X.std(axis=0))
    gaps = np.where(X > 60, np.nan, X)
    mean, spread = mean_and_spread(gaps)
    np.testing.assert_array_equal(mean, np.nanmean(gaps, axis=0))
    np.testing.assert_array_equal(spread, np.nanstd(gaps, axis=0))


@pytest.mark.parametrize("exponent", [-1000, -500, -40, 0, 40, 500, 980])
def test_mean_and_spread_of_any_unit(exponent):
    mean, spread = mean_and_spread(np.ldexp(X, exponent))
    np.testing.assert_allclose(np.ldexp(mean, -exponent), X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(spread, -exponent), X.std(axis=0), rtol=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e-20, 1e9, 1e250, 1e-250])
def test_many_equal_values_are_constant_whatever_their_sum_is_rounded_to(value):
    assert mean_and_spread(np.full((100_000, 1), value))[1] == 0


@pytest.mark.parametrize("kind", [Standardise, UnitRange])
def test_scaled_features_are_limited(kind):
    scale = kind.fit(X)
    far = scale(np.array([[1e300, -1e300, 50.0]]))
    assert np.abs(far).max() == 1e6
    np.testing.assert_array_equal(scale(X), np.clip(scale(X), -1e6, 1e6))
