"""Choices against the slow judge, availability, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from smidgen import Choice, PreferencePerceptron
from smidgen.errors import InvalidArgument, InvalidFeedback, SmidgenError
from strategies import ChoiceProblem, choice_problems, sparse_forms

ITEMS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.6]])


def mask_of(available: list[int], n: int) -> list[bool]:
    return [item in available for item in range(n)]


class TestAgainstTheJudge:
    @given(choice_problems())
    def test_argmax_is_the_first_of_the_best_on_offer(self, p: ChoiceProblem) -> None:
        expected = reference.choice_argmax(p.items, p.w, p.available)
        assert Choice(p.items, p.available).argmax(p.w) == expected
        assert Choice(p.items, mask_of(p.available, len(p.items))).argmax(p.w) == expected

    @given(st.lists(st.sampled_from([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]), min_size=1, max_size=20))
    def test_without_a_mask_the_same_item_is_best(self, scores: list[float]) -> None:
        menu, given_scores = Choice(np.ones((len(scores), 1))), np.array(scores)
        assert menu.best(given_scores) == menu.only(np.ones(len(scores), bool)).best(given_scores)

    @given(choice_problems())
    def test_phi_is_the_row(self, p: ChoiceProblem) -> None:
        np.testing.assert_array_equal(Choice(p.items).phi(p.shown), p.items[p.shown])

    @given(choice_problems())
    def test_difference_is_that_of_the_rows(self, p: ChoiceProblem) -> None:
        menu = Choice(p.items, p.available)
        for better in p.available:
            expected = p.items[better] - p.items[p.shown]
            np.testing.assert_allclose(menu.difference(better, p.shown), expected, rtol=1e-15, atol=0.0)

    @given(choice_problems())
    def test_difference_of_an_item_to_itself_is_exactly_zero(self, p: ChoiceProblem) -> None:
        assert not Choice(p.items * 1e280).difference(p.shown, np.int64(p.shown)).any()

    @settings(max_examples=60)
    @given(choice_problems())
    def test_every_sparse_form_equals_dense_bit_for_bit(self, p: ChoiceProblem) -> None:
        dense = Choice(p.items, p.available)
        better = dense.argmax(p.w)
        for name, items in sparse_forms(p.items).items():
            menu = Choice(items, p.available)
            np.testing.assert_array_equal(menu.scores(p.w), dense.scores(p.w), name)
            assert menu.argmax(p.w) == better, name
            np.testing.assert_array_equal(menu.phi(p.shown), dense.phi(p.shown), name)
            np.testing.assert_array_equal(menu.difference(better, p.shown), dense.difference(better, p.shown), name)

    @given(choice_problems())
    def test_scores_are_those_of_all_items_on_offer_or_not(self, p: ChoiceProblem) -> None:
        assert Choice(p.items, p.available).scores(p.w).tolist() == reference.scores(p.items, p.w)


class TestAvailability:
    def test_only_and_without_share_the_features(self) -> None:
        menu = Choice(ITEMS)
        assert np.shares_memory(menu.only([0, 2]).items, menu.items)
        assert np.shares_memory(menu.without(1).items, menu.items)

    def test_without_takes_away_from_what_was_left(self) -> None:
        menu = Choice(ITEMS).without(0).without(2)
        assert menu.available.tolist() == [False, True, False]
        assert Choice(ITEMS).without(0, 2) == menu

    def test_only_replaces_what_was_left(self) -> None:
        assert Choice(ITEMS, [0]).only([1, 2]).available.tolist() == [False, True, True]

    def test_a_mask_is_copied(self) -> None:
        mask = np.array([True, False, True])
        menu = Choice(ITEMS, mask)
        mask[:] = True
        assert menu.available.tolist() == [True, False, True]
        assert mask.flags.writeable

    def test_items_are_copied_unless_read_only(self) -> None:
        items = ITEMS.copy()
        menu = Choice(items)
        items[...] = 7.0
        np.testing.assert_array_equal(menu.items, ITEMS)
        items.flags.writeable = False
        assert np.shares_memory(Choice(items).items, items)

    @pytest.mark.parametrize(
        "available",
        [
            pytest.param([], id="nothing"),
            pytest.param([False, False, False], id="all false"),
            pytest.param([True, False], id="a short mask"),
            pytest.param([3], id="out of range"),
            pytest.param([-1], id="negative"),
            pytest.param([0.0, 1.0], id="floats"),
            pytest.param([[0, 1]], id="two dimensions"),
            pytest.param([[0], [1, 2]], id="ragged"),
            pytest.param("all", id="a string"),
            pytest.param(1, id="a number"),
        ],
    )
    def test_refused(self, available: Any) -> None:
        for offer in (lambda: Choice(ITEMS, available), lambda: Choice(ITEMS).only(available)):
            with pytest.raises(InvalidArgument, match="available"):
                offer()

    @pytest.mark.parametrize("item", [3, -1, 1.0, True, "1", None], ids=repr)
    def test_without_something_that_is_no_item(self, item: Any) -> None:
        with pytest.raises(SmidgenError):
            Choice(ITEMS).without(item)

    def test_without_everything(self) -> None:
        with pytest.raises(InvalidArgument, match="no item"):
            Choice(ITEMS).without(0, 1, 2)


class TestItemsThatAreRefused:
    BAD = (
        pytest.param(3, id="out of range"),
        pytest.param(-1, id="negative"),
        pytest.param(1.0, id="a float"),
        pytest.param(np.float64(1.0), id="a numpy float"),
        pytest.param(True, id="a bool"),
        pytest.param(np.True_, id="a numpy bool"),
        pytest.param("1", id="a string"),
        pytest.param(None, id="None"),
        pytest.param([1], id="a list"),
        pytest.param(1j, id="complex"),
        pytest.param(np.array([1]), id="an array of one"),
        pytest.param(np.array([1, 0, 2]), id="a ranking"),
        pytest.param(np.array(1.0), id="a float without dimension"),
    )

    @pytest.mark.parametrize("y", BAD)
    def test_with_a_typed_error(self, y: Any) -> None:
        menu = Choice(ITEMS)
        for refuse in (
            lambda: menu.check(y),
            lambda: menu.phi(y),
            lambda: menu.difference(y, 0),
            lambda: menu.difference(0, y),
        ):
            with pytest.raises(InvalidFeedback, match="item"):
                refuse()

    @pytest.mark.parametrize("y", BAD)
    def test_as_feedback(self, y: Any) -> None:
        learner = PreferencePerceptron(dim=2)
        decision = learner.decide(Choice(ITEMS))
        with pytest.raises(InvalidFeedback):
            learner.learn(decision, y)
        assert learner.rounds == 0

    def test_an_item_that_is_not_on_offer(self) -> None:
        learner = PreferencePerceptron(dim=2)
        decision = learner.decide(Choice(ITEMS).without(1))
        with pytest.raises(InvalidFeedback, match="item 1 is not available"):
            learner.learn(decision, 1)
        assert not learner.weights.any()

    @pytest.mark.parametrize("y", [1, np.int64(1), np.uint8(1), np.array(1)])
    def test_every_kind_of_whole_number_is_taken(self, y: Any) -> None:
        assert Choice(ITEMS).check(y) == 1
