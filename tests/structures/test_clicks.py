"""From clicks to better rankings, against the slow judge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from smidgen import ExtendedRanking, from_chain, from_clicks
from smidgen.errors import InvalidFeatures, InvalidFeedback, SmidgenError

shown_rankings = st.integers(1, 10).flatmap(lambda n: st.permutations(range(n)))


@st.composite
def clicked_rankings(draw: Any) -> tuple[list[int], list[int]]:
    """A shown ranking and clicks on it, some documents perhaps more than once."""
    shown = draw(shown_rankings)
    return shown, draw(st.lists(st.sampled_from(shown), max_size=12))


class TestFromClicks:
    @given(clicked_rankings())
    def test_against_the_judge(self, case: tuple[list[int], list[int]]) -> None:
        shown, clicked = case
        better = from_clicks(shown, clicked)
        assert better.tolist() == reference.from_clicks(shown, clicked)
        assert from_clicks(np.array(shown, dtype=np.int32), iter(clicked)).tolist() == better.tolist()
        assert from_clicks(np.array(shown), np.array(clicked, dtype=np.int64)).tolist() == better.tolist()

    @given(clicked_rankings())
    def test_clicking_the_same_again_changes_nothing(self, case: tuple[list[int], list[int]]) -> None:
        shown, clicked = case
        better = from_clicks(shown, clicked)
        np.testing.assert_array_equal(from_clicks(better, clicked), better)

    def test_without_clicks_a_copy_of_what_was_shown(self) -> None:
        shown = np.array([2, 0, 1])
        better = from_clicks(shown, [])
        assert better.tolist() == [2, 0, 1]
        assert not np.shares_memory(better, shown)

    def test_documents_need_not_be_numbered_from_zero(self) -> None:
        """A page of ten results of a longer list, say."""
        assert from_clicks([31, 5, 12], [12]).tolist() == [12, 31, 5]

    @pytest.mark.parametrize(
        "clicked",
        [
            pytest.param([3], id="not shown"),
            pytest.param([-1], id="negative"),
            pytest.param([1.0], id="a float"),
            pytest.param([True], id="a bool"),
            pytest.param([np.True_], id="a numpy bool"),
            pytest.param(["1"], id="a string"),
            pytest.param("12", id="a string of digits"),
            pytest.param([None], id="None inside"),
            pytest.param([[0, 1]], id="nested"),
            pytest.param([np.array([0, 1])], id="an array inside"),
            pytest.param(1, id="a number"),
            pytest.param(None, id="None"),
        ],
    )
    def test_clicks_that_cannot_be(self, clicked: Any) -> None:
        with pytest.raises(InvalidFeedback):
            from_clicks([0, 1, 2], clicked)

    @pytest.mark.parametrize(
        "shown",
        [
            pytest.param([0, 1, 1], id="a document twice"),
            pytest.param([0.0, 1.0], id="floats"),
            pytest.param([True, False], id="bools"),
            pytest.param(["a", "b"], id="strings"),
            pytest.param([[0, 1], [2, 3]], id="two dimensions"),
            pytest.param([[0, 1], [2]], id="ragged"),
            pytest.param(0, id="a number"),
            pytest.param(None, id="None"),
        ],
    )
    def test_rankings_that_cannot_be(self, shown: Any) -> None:
        with pytest.raises(InvalidFeedback):
            from_clicks(shown, [])
        with pytest.raises(SmidgenError):
            from_chain(shown, [], later=np.eye(2))


class TestFromChain:
    @given(clicked_rankings(), st.integers(0, 12))
    def test_without_later_documents_it_is_one_list_of_clicks(
        self, case: tuple[list[int], list[int]], cut: int
    ) -> None:
        shown, clicked = case
        better = from_chain(shown, [clicked[:cut], clicked[cut:], []])
        assert isinstance(better, np.ndarray)
        assert better.tolist() == reference.from_clicks(shown, clicked)

    def test_all_clicks_of_the_chain_come_first_in_their_order(self) -> None:
        better = from_chain([2, 0, 1], [[1], [4, 1], [3]], later=np.eye(2))
        assert isinstance(better, ExtendedRanking)
        assert better.order.tolist() == [1, 4, 3, 2, 0]
        np.testing.assert_array_equal(better.docs, np.eye(2))

    def test_the_features_of_later_documents_are_copied(self) -> None:
        later = np.eye(2)
        better = from_chain([0, 1], [[2]], later=later)
        later[...] = 7.0
        np.testing.assert_array_equal(better.docs, np.eye(2))

    def test_clicks_on_later_documents_need_their_features(self) -> None:
        with pytest.raises(InvalidFeedback, match="later=features"):
            from_chain([0, 1, 2], [[1], [3]])

    @pytest.mark.parametrize(
        ("shown", "clicks", "later", "error"),
        [
            pytest.param([0, 1], [[4]], np.eye(2), InvalidFeedback, id="beyond the chain"),
            pytest.param([0, 1], [[-1]], np.eye(2), InvalidFeedback, id="negative"),
            pytest.param([0, 1], [[True]], np.eye(2), InvalidFeedback, id="a bool"),
            pytest.param([0, 2], [[1]], np.eye(2), InvalidFeedback, id="the first ranking has a hole"),
            pytest.param([0, 1], [2], np.eye(2), InvalidFeedback, id="clicks not by query"),
            pytest.param([0, 1], [1], None, InvalidFeedback, id="clicks not by query, no later documents"),
            pytest.param([0, 1], [[2]], np.ones(2), InvalidFeatures, id="later is no matrix"),
            pytest.param([0, 1], [[2]], [[np.nan, 0.0]], InvalidFeatures, id="later holds nan"),
        ],
    )
    def test_refused(self, shown: Any, clicks: Any, later: Any, error: type[SmidgenError]) -> None:
        with pytest.raises(error):
            from_chain(shown, clicks, later=later)
