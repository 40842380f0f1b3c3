"""The user who goes by labels, to a depth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from smidgen import Choice, Ranking
from smidgen.errors import InvalidArgument, InvalidFeedback
from smidgen.users import NoisyDepth
from strategies import RankingProblem, ranking_problems


@given(ranking_problems(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_against_the_judge(p: RankingProblem, depth: int, random: Any) -> None:
    labels = [random.randint(0, 4) for _ in p.shown]
    better = NoisyDepth(labels=labels, depth=depth)(Ranking(p.docs, p.top), p.shown)
    assert better.tolist() == reference.noisy_depth(labels, p.shown, p.top, depth)


@given(ranking_problems(), st.integers(1, 12), st.randoms(use_true_random=False))
def test_what_lies_below_the_depth_stays(p: RankingProblem, depth: int, random: Any) -> None:
    labels = [random.random() for _ in p.shown]
    better = NoisyDepth(labels=labels, depth=depth)(Ranking(p.docs, p.top), p.shown)
    assert better.tolist()[depth:] == p.shown[depth:]
    assert sorted(better.tolist()) == sorted(p.shown)


def test_only_top_documents_move_up() -> None:
    user = NoisyDepth(labels=[0, 1, 2, 3, 4], depth=4)
    assert user(Ranking(np.eye(5), top=2), [0, 1, 2, 3, 4]).tolist() == [3, 2, 0, 1, 4]


def test_equal_labels_keep_the_order_shown() -> None:
    user = NoisyDepth(labels=[1, 1, 1, 1], depth=4)
    assert user(Ranking(np.eye(4), top=3), [2, 0, 3, 1]).tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("depth", [0, -1, 2.5, None, True])
def test_a_depth_that_is_no_count(depth: Any) -> None:
    with pytest.raises(InvalidArgument, match="depth"):
        NoisyDepth(labels=[0, 1], depth=depth)


def test_other_contexts_and_impossible_actions_are_refused() -> None:
    user = NoisyDepth(labels=[0, 1, 2], depth=2)
    with pytest.raises(InvalidArgument, match="rankings only"):
        user(Choice(np.eye(3)), 0)
    with pytest.raises(InvalidFeedback):
        user(Ranking(np.eye(3)), [0, 0, 1])


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.int8, np.float32])
def test_labels_of_any_type_rank_the_relevant_first(dtype: type) -> None:
    user = NoisyDepth(labels=np.array([0, 1, 0, 1], dtype=dtype), depth=4)
    np.testing.assert_array_equal(user(Ranking(np.eye(4), top=2), [0, 1, 2, 3]), [1, 3, 0, 2])
