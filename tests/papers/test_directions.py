"""Directions that the papers' players draw many at a time are those that the learners draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smidgen.randomness import DIRECTION, stream_key, unit_vector
from smidgen_papers.compiled.directions import directions_scratch, unit_directions
from smidgen_papers.compiled.kernel import kernel


@kernel
def draw_together(key: Any, number: int, dim: int, scratch: Any) -> Any:
    out, words, scratch = scratch
    unit_directions(key, np.uint64(number), dim, out, words, scratch)
    return out


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 8, 9, 15, 16, 17, 20, 33, 100])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_directions_drawn_together_are_those_drawn_one_by_one(dim: int, count: int) -> None:
    scratch = directions_scratch(dim, count)
    for number in (1, 77):  # the scratch is used again
        together = draw_together(stream_key(9, DIRECTION), number, dim, scratch)
        for k in range(count):
            np.testing.assert_array_equal(together[k, :dim], unit_vector(9, number + k, dim, stream=DIRECTION))
        assert not together[:, dim:].any()
