"""The counter-based generator: numpy's own Philox is the judge."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen._core.random import fill_uniforms, normals_of
from smidgen.randomness import COIN, DIRECTION, uniforms, unit_vector

words = st.integers(0, 2**64 - 1)


@given(words, words, st.integers(1, 2**64 - 1), st.integers(0, 30))
def test_uniforms_are_those_of_numpys_philox(k0: int, k1: int, number: int, count: int) -> None:
    key, ours = np.array([k0, k1], np.uint64), np.empty(count)
    fill_uniforms(key, number, ours)
    # numpy adds one to the counter before it draws, so this begins with block 0 of the number
    before = np.array([2**64 - 1, number - 1, 0, 0], np.uint64)
    theirs = np.random.Philox(key=key, counter=before).random_raw(count)
    np.testing.assert_array_equal(ours, (theirs >> np.uint64(11)) * 2.0**-53)


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


def test_directions_are_those_of_box_and_muller() -> None:
    for dim in (1, 2, 5, 8, 16, 17, 40):
        for number in (1, 2, 77):
            u = uniforms(9, number, dim + dim % 2, stream=DIRECTION).reshape(-1, 2)
            lengths, angles = np.sqrt(-2.0 * np.log1p(-u[:, 0])), 2.0 * np.pi * u[:, 1]
            normals = np.column_stack([lengths * np.cos(angles), lengths * np.sin(angles)]).reshape(-1)[:dim]
            expected = normals / np.linalg.norm(normals)
            np.testing.assert_allclose(unit_vector(9, number, dim, stream=DIRECTION), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("first", "second"),
    [(0, 0), (2**64 - 1, 2**64 - 1), (2**63, 2**62), (1 << 11, 3 << 62), (2**64 - 2**12, 2**61), (5, 7 << 61)],
)
def test_the_ends_of_the_uniforms_give_the_right_normals(first: int, second: int) -> None:
    """The smallest and the largest word, and the borders of quarter and eighth turns."""
    normals = np.empty(4)
    normals_of(np.array([first, second] * 2, np.uint64), normals)
    u, t = (first >> 11) * 2.0**-53, (second >> 11) * 2.0**-53
    length = math.sqrt(-2.0 * math.log1p(-u))
    expected = length * math.cos(2.0 * math.pi * t), length * math.sin(2.0 * math.pi * t)
    np.testing.assert_allclose(normals, expected * 2, rtol=1e-14, atol=1e-14)
