"""Lengths of rows of many matrices at once."""

from __future__ import annotations

import numpy as np
import pytest

from smidgen.features.rows import longest, longest_of_each


@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e170])
def test_lengths_of_many_are_those_of_each(scale: float) -> None:
    rng = np.random.default_rng(1)
    for dim in (1, 3, 10, 33):
        many = [rng.normal(size=(int(rng.integers(1, 12)), dim)) * scale for _ in range(20)]
        many[3][:] = 0.0
        starts = np.cumsum([0, *map(len, many)])
        assert longest_of_each(np.concatenate(many), starts).tolist() == [longest(each) for each in many]
