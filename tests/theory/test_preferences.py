"""Each bound is its formula, for numbers and for curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from smidgen import bounds
from smidgen.errors import InvalidArgument

positive = st.floats(0.01, 100.0)
slacks = st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=40)


@st.composite
def measured(draw: Any) -> dict[str, Any]:
    """Numbers that a run could be measured by."""
    slack = draw(slacks)
    return {
        "T": draw(st.integers(1, len(slack))),
        "R": draw(positive),
        "w_norm": draw(positive),
        "alpha": draw(st.floats(0.01, 1.0)),
        "slack": slack,
        "batch": draw(st.integers(1, 50)),
        "S": draw(positive),
        "n_features": draw(st.integers(1, 1000)),
        "diameter": draw(positive),
        "lipschitz": draw(positive),
        "scale": draw(positive),
        "dim": draw(st.integers(1, 100)),
        "gamma": draw(positive),
        "epsilon": draw(positive),
        "horizon": draw(st.integers(len(slack), 1000)),
    }


#: The bound, its judge, and the numbers that both take.
THEOREMS: dict[str, tuple[Callable[..., Any], Callable[..., float], tuple[str, ...]]] = {
    "Theorem 1": (
        bounds.preference_perceptron,
        reference.bound_preference_perceptron,
        ("T", "R", "w_norm", "alpha", "slack"),
    ),
    "Corollary 2": (
        bounds.expected_preference_perceptron,
        reference.bound_expected_preference_perceptron,
        ("T", "R", "w_norm", "alpha", "slack"),
    ),
    "Lemma 3": (bounds.lower_bound, reference.bound_below, ("T",)),
    "Lemma 4": (
        bounds.batch_preference_perceptron,
        reference.bound_batch_preference_perceptron,
        ("T", "R", "w_norm", "alpha", "slack", "batch"),
    ),
    "Theorem 5": (
        bounds.exponentiated_preference_perceptron,
        reference.bound_exponentiated_preference_perceptron,
        ("T", "S", "n_features", "alpha", "slack", "w_norm", "horizon"),
    ),
    "Theorem 6": (
        bounds.convex_preference_perceptron,
        reference.bound_convex_preference_perceptron,
        ("T", "R", "diameter", "alpha", "slack", "lipschitz", "scale"),
    ),
    "Theorem 8": (
        bounds.second_order_preference_perceptron,
        reference.bound_second_order_preference_perceptron,
        ("T", "R", "diameter", "dim", "alpha", "gamma", "epsilon", "lipschitz", "slack"),
    ),
}
TYPICAL: dict[str, Any] = {
    "T": 20,
    "R": 1.5,
    "w_norm": 1.2,
    "alpha": 0.5,
    "slack": np.sin(np.arange(40.0)).tolist(),
    "batch": 4,
    "S": 0.7,
    "n_features": 16,
    "diameter": 2.0,
    "lipschitz": 3.0,
    "scale": 2.0,
    "dim": 8,
    "gamma": 0.3,
    "epsilon": 0.9,
    "horizon": 50,
}
every_theorem = pytest.mark.parametrize("theorem", THEOREMS)
with_feedback = pytest.mark.parametrize("theorem", [name for name in THEOREMS if name != "Lemma 3"])


def taken(theorem: str, numbers: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: numbers[name] for name in THEOREMS[theorem][2]} | changes


class TestAgainstTheJudge:
    @every_theorem
    @given(numbers=measured())
    def test_a_number(self, theorem: str, numbers: dict[str, Any]) -> None:
        bound, judge, _ = THEOREMS[theorem]
        found = bound(**taken(theorem, numbers))
        assert isinstance(found, float)
        assert found == pytest.approx(judge(**taken(theorem, numbers)), rel=1e-9, abs=1e-9)

    @every_theorem
    def test_a_curve(self, theorem: str) -> None:
        bound, judge, _ = THEOREMS[theorem]
        rounds = np.arange(1, 41)
        curve = bound(**taken(theorem, TYPICAL, T=rounds))
        assert curve.shape == (40,)
        np.testing.assert_allclose(curve, [judge(**taken(theorem, TYPICAL, T=int(t))) for t in rounds], rtol=1e-12)

    @every_theorem
    def test_a_curve_need_not_hold_every_round(self, theorem: str) -> None:
        bound, _, _ = THEOREMS[theorem]
        some = np.array([30, 1, 7])
        curve = bound(**taken(theorem, TYPICAL, T=some))
        np.testing.assert_array_equal(curve, [bound(**taken(theorem, TYPICAL, T=int(t))) for t in some])

    @pytest.mark.parametrize("theorem", [name for name, (_, _, numbers) in THEOREMS.items() if "R" in numbers])
    def test_a_radius_that_was_measured_round_by_round(self, theorem: str) -> None:
        bound, judge, _ = THEOREMS[theorem]
        rounds, R = np.arange(1, 41), np.linspace(0.5, 2.0, 40)
        curve = bound(**taken(theorem, TYPICAL, T=rounds, R=R))
        expected = [judge(**taken(theorem, TYPICAL, T=int(t), R=r)) for t, r in zip(rounds, R, strict=True)]
        np.testing.assert_allclose(curve, expected, rtol=1e-12)


class TestSlack:
    @with_feedback
    def test_given_as_a_sum_or_as_a_sequence(self, theorem: str) -> None:
        bound, _, _ = THEOREMS[theorem]
        xi, T = np.array(TYPICAL["slack"]), 20
        clipped = theorem in ("Theorem 6", "Theorem 8")
        used = np.maximum(0.0, xi[:T]) if clipped else xi[:T]
        sums: dict[str, Any] = {"slack": float(used.sum())}
        if theorem == "Theorem 8":
            sums["slack_squares"] = float((used**2).sum())
        by_sum = bound(**taken(theorem, TYPICAL, T=T) | sums)
        assert by_sum == pytest.approx(bound(**taken(theorem, TYPICAL, T=T)), rel=1e-12)
        assert bound(**taken(theorem, TYPICAL, T=T, slack=tuple(xi))) == pytest.approx(by_sum, rel=1e-12)

    @with_feedback
    def test_left_out_it_is_zero(self, theorem: str) -> None:
        bound, _, _ = THEOREMS[theorem]
        numbers = taken(theorem, TYPICAL)
        del numbers["slack"]
        assert bound(**numbers) == pytest.approx(bound(**numbers, slack=np.zeros(20)))
        assert bound(**numbers) < bound(**numbers, slack=np.full(20, 0.1))

    @pytest.mark.parametrize("theorem", ["Theorem 6", "Theorem 8"])
    def test_negative_slack_is_no_help_where_it_is_clipped(self, theorem: str) -> None:
        bound, _, _ = THEOREMS[theorem]
        assert bound(**taken(theorem, TYPICAL, slack=np.full(20, -1.0))) == bound(**taken(theorem, TYPICAL, slack=0.0))

    def test_the_definition(self) -> None:
        """Eq. 6: what is missing to the share alpha of the possible gain."""
        assert bounds.slack(alpha=0.5, shown=1.0, better=1.5, best=4.0) == 1.0
        xi = bounds.slack(alpha=1.0, shown=np.array([0.0, 1.0]), better=np.array([2.0, 0.0]), best=np.array([2.0, 3.0]))
        assert xi.tolist() == [0.0, 3.0]


class TestWhatTheySay:
    def test_a_batch_of_one_is_no_batch(self) -> None:
        numbers = taken("Theorem 1", TYPICAL)
        assert bounds.batch_preference_perceptron(**numbers, batch=1) == bounds.preference_perceptron(**numbers)

    def test_a_lag_costs_the_root_of_one_plus_twice_the_lag(self) -> None:
        numbers = taken("Theorem 1", TYPICAL, slack=0.0)
        on_time = bounds.preference_perceptron(**numbers)
        assert bounds.preference_perceptron(**numbers, lag=0) == on_time
        assert bounds.preference_perceptron(**numbers, lag=4) == pytest.approx(3.0 * on_time)

    def test_the_rate_of_the_horizon_is_best_at_the_horizon(self) -> None:
        numbers = taken("Theorem 5", TYPICAL, T=40, slack=0.0)
        del numbers["horizon"]
        assert bounds.exponentiated_preference_perceptron(**numbers, horizon=40) == pytest.approx(
            bounds.exponentiated_preference_perceptron(**numbers)
        )

    def test_the_scale_is_the_slope_if_left_out(self) -> None:
        numbers = taken("Theorem 6", TYPICAL, lipschitz=2.0, scale=2.0)
        expected = bounds.convex_preference_perceptron(**numbers)
        del numbers["scale"]
        assert bounds.convex_preference_perceptron(**numbers) == expected
        assert bounds.convex_preference_perceptron(**numbers, scale=1.0) != expected

    @pytest.mark.parametrize(
        ("theorem", "rate"), [("Theorem 1", 0.5), ("Lemma 3", 0.5), ("Lemma 4", 0.5), ("Theorem 6", 0.5)]
    )
    def test_they_fall_with_the_root_of_the_rounds(self, theorem: str, rate: float) -> None:
        bound, _, _ = THEOREMS[theorem]
        changes = {} if theorem == "Lemma 3" else {"slack": 0.0}
        early, late = (bound(**taken(theorem, TYPICAL, T=T, **changes)) for T in (10**8, 10**10))
        assert late / early == pytest.approx(100.0**-rate, rel=1e-3)

    def test_the_second_order_bound_falls_faster(self) -> None:
        numbers = taken("Theorem 8", TYPICAL, slack=0.0)
        early, late = (bounds.second_order_preference_perceptron(**numbers | {"T": T}) for T in (10**6, 10**8))
        assert late < 0.02 * early


class TestRefused:
    @every_theorem
    @pytest.mark.parametrize("T", [0, -1, np.nan, [1, 0], []], ids=str)
    def test_numbers_of_rounds(self, theorem: str, T: Any) -> None:
        with pytest.raises(InvalidArgument, match="T is"):
            THEOREMS[theorem][0](**taken(theorem, TYPICAL, T=T))

    @with_feedback
    @pytest.mark.parametrize("alpha", [0.0, -0.5, 1.5, np.nan, "half", None], ids=str)
    def test_alphas(self, theorem: str, alpha: Any) -> None:
        with pytest.raises(InvalidArgument, match="alpha"):
            THEOREMS[theorem][0](**taken(theorem, TYPICAL, alpha=alpha))

    @with_feedback
    def test_fewer_slacks_than_rounds(self, theorem: str) -> None:
        with pytest.raises(InvalidArgument, match="slack has 19 rounds"):
            THEOREMS[theorem][0](**taken(theorem, TYPICAL, slack=TYPICAL["slack"][:19]))

    @pytest.mark.parametrize("batch", [0, -3, 1.5, True])
    def test_batches(self, batch: Any) -> None:
        with pytest.raises(InvalidArgument, match="batch"):
            bounds.batch_preference_perceptron(**taken("Lemma 4", TYPICAL, batch=batch))

    def test_a_negative_lag(self) -> None:
        with pytest.raises(InvalidArgument, match="lag"):
            bounds.preference_perceptron(**taken("Theorem 1", TYPICAL), lag=-1)

    def test_rounds_beyond_the_horizon(self) -> None:
        with pytest.raises(InvalidArgument, match="beyond the horizon 50"):
            bounds.exponentiated_preference_perceptron(**taken("Theorem 5", TYPICAL, T=51, slack=0.0))

    def test_a_sum_of_slacks_without_their_squares(self) -> None:
        with pytest.raises(InvalidArgument, match="slack_squares"):
            bounds.second_order_preference_perceptron(**taken("Theorem 8", TYPICAL, slack=1.0))
