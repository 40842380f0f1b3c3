"""What people bring: the rows of the first page's table that records mend, measured quickly."""

from __future__ import annotations

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
    ours, expert = (people.mean(lambda seed, raw=raw: people.filtering(seed, raw), SEEDS) for raw in (True, False))
    assert ours >= expert - 0.03
    assert ours >= 0.75


def test_the_recommended_filter_is_not_far_behind_one_that_explores_less() -> None:
    assert people.mean(people.advised, SEEDS) > 0.65


def test_empty_records_learn_the_majority_label() -> None:
    assert people.mean(people.majority, SEEDS) > 0.95
