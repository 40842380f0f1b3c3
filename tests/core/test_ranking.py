"""Rankings, simulated users and eight numbers at a time in the compiled core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reference
from smidgen._core import math as core_math
from smidgen._core.rank import draw_with_chance, exchange_pairs, log_probability, pair_coefficients, preferred_pairs
from smidgen._core.ranking import best_available, first_fault, rank_finite, write_difference, write_merged, write_ranked
from smidgen._core.users import write_clicks, write_expected, write_strict
from smidgen.randomness import stream_key
from smidgen.users.base import CLICKING, EXPECTED, CompiledUser

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1003])
def test_eight_at_a_time_has_the_same_bits(n: int) -> None:
    one, eight = np.empty(n), np.empty(n)
    for x in (RNG.uniform(-750, 720, n), RNG.uniform(-1, 1, n), np.resize([np.inf, -np.inf, 0.0, -0.0, -745.13], n)):
        core_math.exp(x, one)
        core_math.exp_lanes(x, eight)
        assert one.tobytes() == eight.tobytes()
    for x in (np.exp(RNG.uniform(-700, 700, n)), RNG.uniform(0.3, 3, n), np.resize([1.0, 2.0**-1022, 1.7e308], n)):
        core_math.log(x, one)
        core_math.log_lanes(x, eight)
        assert one.tobytes() == eight.tobytes()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 31, 32, 33, 40, 64, 65, 200])
@pytest.mark.parametrize("kinds", [1, 3, 1000])
def test_documents_are_ranked_as_by_a_stable_sort(n: int, kinds: int) -> None:
    scores = RNG.integers(0, kinds, n).astype(np.float64)
    scores[: n // 4], scores[n - n // 4 :] = np.inf, -np.inf
    order = np.full(n, -1)
    assert write_ranked(scores, order)
    np.testing.assert_array_equal(order, np.argsort(-scores, kind="stable"))
    assert rank_finite(scores, order) == bool(np.isfinite(scores).all())
    if n:
        scores[n // 2] = np.nan
        assert not write_ranked(scores, order)


def test_differences_are_those_of_the_slow_twin() -> None:
    for _ in range(100):
        n, top = int(RNG.integers(1, 50)), int(RNG.integers(1, 8))
        docs, better, shown = RNG.normal(size=(n, 3)), RNG.permutation(n), RNG.permutation(n)
        discounts = np.array([reference.discount(i + 1) for i in range(min(top, n))])
        expected = reference.ranking_phi(docs, better, top) - reference.ranking_phi(docs, shown, top)
        out, touched, weights = np.empty(3), np.empty(2 * len(discounts), np.int64), np.empty(2 * len(discounts))
        assert write_difference(docs, better, shown, discounts, out)
        np.testing.assert_allclose(out, expected, atol=1e-12)
        assert write_merged(better, shown, discounts, n, touched, weights)
        np.testing.assert_allclose(weights @ docs[touched], expected, atol=1e-12)
        assert first_fault(better, n) == -1
        better[0] = n
        assert first_fault(better, n) == 0
        assert not write_difference(docs, better, shown, discounts, out)


def test_an_expected_answer_draws_as_numpy_does() -> None:
    """If all documents are equal, the answer is one of the random rankings."""
    for n in (1, 2, 3, 7, 20, 100):
        for randoms in (1, 2, 5):
            user = CompiledUser(EXPECTED, randoms=randoms)
            ours, numpys = np.random.default_rng(n), np.random.default_rng(n)
            others = [numpys.permutation(n) for _ in range(randoms)]
            numpys.random()
            better = np.empty(n, np.int64)
            write_expected(np.ones(n), np.arange(n), np.ones(n), user, ours, better)
            np.testing.assert_array_equal(better, others[numpys.integers(0, randoms)])
            assert ours.bit_generator.state == numpys.bit_generator.state


def test_clicks_take_two_numbers_for_each_document_that_is_looked_at() -> None:
    user = CompiledUser(CLICKING, depth=4, attract=np.array([[0.5]]), stop=np.array([[0.3]]))
    for seed in range(50):
        ours, numpys = np.random.default_rng(seed), np.random.default_rng(seed)
        shown, clicked, expected = RNG.permutation(6), np.empty(6, np.int64), []
        draws = numpys.random((2, 4))
        for document, hit, stop in zip(shown, *draws, strict=False):
            expected += [document] if hit < 0.5 else []
            if hit < 0.5 and stop < 0.3:
                break
        count = write_clicks(user, shown, np.zeros(6), ours, clicked)
        assert clicked[:count].tolist() == expected
        assert ours.bit_generator.state == numpys.bit_generator.state


ORDER, ONES, OUT = np.arange(3), np.ones(3), np.empty(3, np.int64)


class Mine(np.random.Generator):
    """A generator of another class."""


@pytest.mark.parametrize("rng", [None, 5, np.random.PCG64(), Mine(np.random.PCG64()), np.random.PCG64().capsule])
def test_a_generator_is_numpys_own(rng: Any) -> None:
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator, not"):
        write_clicks(CompiledUser(CLICKING), ORDER, ONES, rng, OUT)


def calls(rng: np.random.Generator) -> list[tuple[Any, tuple[Any, ...]]]:
    """Entry points with documents, places or labels that are not there."""
    twice, beyond, key = np.array([0, 1, 1]), np.array([0, 1, 3]), stream_key(0, 0)
    return [
        (write_strict, (ONES, twice, ONES, 0.5, OUT)),
        (write_strict, (ONES, ORDER, np.ones(4), 0.5, OUT)),
        (write_expected, (ONES, ORDER, ONES, CompiledUser(EXPECTED, randoms=2**40), rng, OUT)),
        (write_clicks, (CompiledUser(CLICKING), ORDER, 5.0 * ONES, rng, OUT)),
        (write_clicks, (CompiledUser(CLICKING), ORDER, np.nan * ONES, rng, OUT)),
        (write_clicks, (CompiledUser(CLICKING, attract=np.ones((0, 1))), ORDER, ONES, rng, OUT)),
        (log_probability, (ONES, beyond, 2)),
        (draw_with_chance, (ONES, key[:1], 0, 1, OUT)),
        (pair_coefficients, (ONES, ORDER, ORDER, 4, True, 1.0, np.empty(10))),
        (pair_coefficients, (ONES, ORDER, ORDER, 3, True, 1.0, np.empty(9))),
        (preferred_pairs, (ORDER, np.zeros(3, np.int64), ORDER[::-1].copy(), False, np.empty((3, 2), np.int64))),
        (exchange_pairs, (beyond, ORDER, ORDER, OUT)),
        (best_available, (np.empty(0), np.empty(0, np.bool_))),
    ]


@pytest.mark.parametrize("number", range(13))
def test_what_is_not_there_is_refused(number: int) -> None:
    function, arguments = calls(np.random.default_rng(0))[number]
    with pytest.raises(ValueError, match=r"\w"):
        function(*arguments)
