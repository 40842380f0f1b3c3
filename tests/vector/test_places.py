"""Places in a ranking by counting, against the plain twin and against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._kernel import kernel
from smidgen.vector import places
from smidgen.vector.places import rank_eight


@kernel
def _ranked(scores: Any, start: int, end: int, order: Any) -> None:
    for first in range(start, end, 8):
        rank_eight(scores, first, start, end, order)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 23, 40])
@pytest.mark.parametrize("kinds", [1, 3, 1000])
@pytest.mark.parametrize("start", [0, 32])
def test_a_run_is_ranked_as_by_a_stable_sort_and_nothing_else_is_written(n: int, kinds: int, start: int) -> None:
    scores = np.random.default_rng(n).integers(0, kinds, size=start + n + 8).astype(np.float64)
    scores[start], scores[start + n // 2], end = np.inf, -np.inf, start + n
    order, twin = np.full((2, len(scores)), -1)
    _ranked(scores, start, end, order)
    for first in range(start, end, 8):
        places.rank_eight(scores, first, start, end, twin)
    np.testing.assert_array_equal(order, twin)
    np.testing.assert_array_equal(order[start:end], start + np.argsort(-scores[start:end], kind="stable"))
    assert (np.delete(order, np.arange(start, end)) == -1).all()
