"""The counter-based generator: numpy's own Philox is the judge."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from smidgen import randomness
from smidgen.randomness import COIN, DIRECTION, uniforms, unit_vector

words = st.integers(0, 2**64 - 1)


@given(words, words, st.integers(1, 2**64 - 1), words)
def test_philox_is_numpys(k0: int, k1: int, block: int, number: int) -> None:
    key = np.array([k0, k1], np.uint64)
    ours = np.empty(4, np.uint64)
    randomness.philox(key, np.uint64(block), np.uint64(number), ours)
    # numpy adds one to the counter before it draws
    theirs = np.random.Philox(key=key, counter=np.array([block - 1, number, 0, 0], np.uint64)).random_raw(4)
    np.testing.assert_array_equal(ours, theirs)


def test_draws_depend_on_seed_number_and_stream_and_on_nothing_else() -> None:
    base = uniforms(3, 5, 7, stream=COIN)
    np.testing.assert_array_equal(base, uniforms(3, 5, 7, stream=COIN))
    np.testing.assert_array_equal(base[:4], uniforms(3, 5, 4, stream=COIN))
    for other in (uniforms(4, 5, 7, stream=COIN), uniforms(3, 6, 7, stream=COIN), uniforms(3, 5, 7, stream=DIRECTION)):
        assert not np.isclose(base, other).any()


def test_uniforms_are_uniform() -> None:
    draws = np.concatenate([uniforms(0, number, 10, stream=COIN) for number in range(1, 5001)])
    assert draws.min() >= 0.0
    assert draws.max() < 1.0
    counts = np.histogram(draws, bins=20, range=(0, 1))[0]
    chi_square = ((counts - 2500) ** 2 / 2500).sum()
    assert chi_square < 43.8  # the 99.9 % quantile with 19 degrees of freedom


def test_unit_vectors_are_uniform_on_the_sphere() -> None:
    for dim in (1, 2, 3, 10):
        vectors = np.array([unit_vector(1, number, dim, stream=DIRECTION) for number in range(1, 4001)])
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-12)
        np.testing.assert_allclose(vectors.mean(axis=0), 0.0, atol=5 / np.sqrt(4000 * dim))
        np.testing.assert_allclose(vectors.T @ vectors / 4000, np.eye(dim) / dim, atol=0.06 / np.sqrt(dim))


def test_the_largest_seed_and_number_work() -> None:
    assert np.isfinite(unit_vector(2**64 - 1, 2**63 - 1, 5, stream=DIRECTION)).all()
