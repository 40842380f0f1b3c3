"""Places in a ranking by counting, against the plain twin and against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen._kernel import kernel
from smidgen.vector import places
from smidgen.vector.places import before


@kernel
def _counts(scores: Any, out: Any) -> None:
    for i in range(scores.shape[0]):
        for first in range(0, scores.shape[0], 8):
            out[i] += before(scores, first, i)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 16, 23, 40])
@pytest.mark.parametrize("kinds", [1, 3, 1000])
def test_as_many_come_before_a_score_as_in_a_stable_sort(n: int, kinds: int) -> None:
    scores = np.random.default_rng(n).integers(0, kinds, size=n + 8).astype(np.float64)[:n]
    scores[0] = np.inf
    counted, twin = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _counts(scores, counted)
    for i in range(n):
        twin[i] = sum(places.before(scores, first, i) for first in range(0, n, 8))
    np.testing.assert_array_equal(counted, twin)
    np.testing.assert_array_equal(np.argsort(counted), np.argsort(-scores, kind="stable"))
