"""Records of users: rows of the first page's table, measured quickly."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the benchmarks are in the checkout only")

from benchmarks import people

SEEDS = 3


@pytest.mark.parametrize("name", people.RANKERS)
def test_raw_units_rank_as_well_as_standardised_ones(name: str) -> None:
    ours, expert = (
        people.mean(lambda seed, raw=raw: people.rank(name, seed, raw, 240), SEEDS) for raw in (True, False)
    )
    assert ours >= expert - 0.06


def test_raw_units_are_labelled_as_well() -> None:
    ours, expert = (people.mean(lambda seed, raw=raw: people.label(seed, raw), SEEDS) for raw in (True, False))
    assert ours >= expert - 0.03


def test_raw_units_are_filtered_as_well_without_a_constant_by_hand() -> None:
    ours, expert = (people.mean(lambda seed, raw=raw: people.filtering(seed, raw)[0], SEEDS) for raw in (True, False))
    assert ours >= expert - 0.03
    assert ours >= 0.75


def test_the_recommended_filter_is_as_precise_and_misses_little() -> None:
    precision, recall = np.mean([people.advised(seed) for seed in range(people.SEEDS)], axis=0)
    assert precision >= 0.75
    assert recall >= 0.95


def test_empty_records_learn_the_majority_label() -> None:
    assert people.mean(people.majority, SEEDS) > 0.95
