"""Each bound is its formula, for numbers and for curves; and what recommend makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_tune as judges
import smidgen
from smidgen import OGDEG, Ball, Box, Simplex, bounds
from smidgen.errors import InvalidArgument
from smidgen.theory import one_point

positive = st.floats(0.1, 10.0)
rounds = st.integers(2, 10**6)
slopes = st.one_of(st.none(), positive)


@given(T=rounds, D=positive, G=positive)
def test_ogd(T: int, D: float, G: float) -> None:
    assert bounds.ogd(T=T, D=D, G=G) == pytest.approx(judges.bound_ogd(T, D, G))


@given(T=rounds, dim=st.integers(1, 50), D=positive, G=positive, alpha=positive)
def test_ons(T: int, dim: int, D: float, G: float, alpha: float) -> None:
    found = bounds.ons(T=T, dim=dim, D=D, G=G, exp_concavity=alpha)
    assert found == pytest.approx(judges.bound_ons(T, dim, D, G, alpha))


@given(T=rounds, dim=st.integers(1, 50), F=positive, R=positive, share=st.floats(0.05, 1.0), L=slopes)
def test_ogdeg_is_what_its_proof_adds_up_to(
    T: int, dim: int, F: float, R: float, share: float, L: float | None
) -> None:
    numbers: dict[str, Any] = {"T": T, "dim": dim, "F": F, "R": R, "r": share * R, "lipschitz": L}
    by_proof = judges.bound_ogdeg(T, dim, F, R, share * R, L)
    assert bounds.ogdeg(**numbers) * (12 ** (1 / 3) if L is None else 1.0) == pytest.approx(by_proof)
    own_step = judges.bound_ogdeg(T, dim, F, R, share * R, L, descent=3.0)
    assert bounds.ogdeg(**numbers, mended=True) == pytest.approx(own_step)


@given(T=rounds, dim=st.integers(1, 50), F=positive, D=positive, share=st.floats(0.05, 0.5), s=positive, L=slopes)
def test_onseg_is_what_its_proof_adds_up_to(
    T: int, dim: int, F: float, D: float, share: float, s: float, L: float | None
) -> None:
    found = bounds.onseg(T=T, dim=dim, F=F, D=D, r=share * D, sigma=s, lipschitz=L)
    assert found == pytest.approx(judges.bound_onseg(T, dim, F, D, share * D, s, L), rel=1e-9)


def test_the_delta_of_the_theorems_is_that_of_the_learner() -> None:
    space, T = Box(low=[0.0, 0.0], high=[1.0, 2.0]), 10**5
    for L in (None, 0.7):
        delta, _ = one_point.onseg_constants(space, 1.5, L, T)
        shared: dict[str, Any] = {"T": T, "dim": 2, "F": 1.5, "D": space.diameter, "r": 0.5, "lipschitz": L}
        assert bounds.onseg(**shared) == pytest.approx(bounds.onseg(**shared, delta=delta))


class TestWhatDoesNotFollow:
    """The last term of the ONSEG theorems, 5N·log T/α with α = σδ²/(N²F²)."""

    T = 10.0 ** np.arange(3, 13)

    def last_term(self, lipschitz: float | None) -> np.ndarray:
        space = Ball(dim=3)
        deltas = np.array([one_point.onseg_constants(space, 1.0, lipschitz, int(T))[0] for T in self.T])
        return 5 * 3 * np.log(self.T) * 9 / deltas**2

    def test_in_theorem_1_it_outgrows_the_number_of_rounds(self) -> None:
        term = self.last_term(None)
        assert (np.diff(term / self.T) > 0).all()
        assert term[-1] > 1000 * 2 * self.T[-1]  # 2F per round is the most that any learner can lose
        whole = bounds.onseg(T=self.T, dim=3, F=1.0, D=2.0, r=1.0)
        assert (whole > term).all()

    def test_in_theorem_2_it_is_a_multiple_of_the_number_of_rounds(self) -> None:
        np.testing.assert_allclose(self.last_term(1.0) / self.T, 1.5 * 3 * (1.0 + 1.0) / 2.0)

    def test_without_it_the_rates_would_be_as_stated(self) -> None:
        for L, power in ((None, 2 / 3), (1.0, 1 / 2)):
            rest = bounds.onseg(T=self.T, dim=3, F=1.0, D=2.0, r=1.0, lipschitz=L) - self.last_term(L)
            scaled = rest / self.T**power / np.log(self.T) ** (1 - power)
            np.testing.assert_allclose(scaled, scaled[0], rtol=1e-2)


@pytest.mark.parametrize(
    ("bound", "numbers"),
    [
        (bounds.ogd, {"D": 2.0, "G": 1.0}),
        (bounds.ons, {"dim": 2, "D": 2.0, "G": 1.0, "exp_concavity": 0.5}),
        (bounds.ogdeg, {"dim": 2, "F": 1.0, "R": 1.0, "r": 1.0}),
        (bounds.ogdeg, {"dim": 2, "F": 1.0, "R": 1.0, "r": 1.0, "lipschitz": 0.0}),
        (bounds.onseg, {"dim": 2, "F": 1.0, "D": 2.0, "r": 1.0}),
        (bounds.onseg, {"dim": 2, "F": 1.0, "D": 2.0, "r": 1.0, "lipschitz": 1.0, "delta": 0.1}),
    ],
)
def test_numbers_stay_numbers_and_arrays_become_curves(bound: Any, numbers: dict[str, Any]) -> None:
    curve = bound(T=np.array([10, 100, 1000]), **numbers)
    assert curve.shape == (3,)
    assert (np.diff(curve) > 0).all()
    assert curve[1] == bound(T=100, **numbers)
    assert type(bound(T=100, **numbers)) is float
    for name in numbers:
        with pytest.raises(InvalidArgument, match=name):
            bound(T=100, **{**numbers, name: -1.0})
    with pytest.raises(InvalidArgument, match="T is 0"):
        bound(T=0, **numbers)


class TestRecommend:
    @pytest.mark.parametrize("L", [None, 2.0])
    @pytest.mark.parametrize("space", [Ball(dim=3), Box(low=0.0, high=[1.0, 4.0]), Simplex(dim=5)], ids=repr)
    def test_numbers_are_those_of_the_theory(self, space: Any, L: float | None) -> None:
        F, T = 1.5, 50_000
        advice = smidgen.recommend(space, F, T, L)
        learner = OGDEG(space=space, loss_bound=F, horizon=T, lipschitz=L)
        assert (advice.delta, advice.gamma) == (learner.delta, learner.gamma)
        R, r, d = space.outer_radius, space.inner_radius, space.free_dim

        def per_round(T: int) -> float:
            return float(bounds.ogdeg(T=T, dim=d, F=F, R=R, r=r, lipschitz=L, mended=True)) / T

        assert advice.ogdeg == pytest.approx(per_round(T))
        printed = bounds.onseg(T=T, dim=d, F=F, D=space.diameter, r=r, lipschitz=L)
        assert advice.onseg == pytest.approx(printed / T)
        assert advice.trivial == 3.0
        assert per_round(advice.useful_from) < F
        assert per_round(advice.useful_from - 1) >= F * (1 - 1e-9)
        assert one_point.fkm_constants(space, F, L, advice.allowed_from)[1] < 1.0
        assert (
            advice.allowed_from == 1 or one_point.fkm_constants(space, F, L, advice.allowed_from - 1)[1] >= 1.0 - 1e-9
        )
        assert advice.first_phase == one_point.first_phase(space, F, L, one_point.fkm_constants)
        OGDEG(space=space, loss_bound=F, delta=advice.suggested_delta)

    def test_sentences(self) -> None:
        advice = smidgen.recommend(Ball(dim=33), loss_bound=1.0, horizon=1000)
        text = str(advice)
        assert "it needs 2,451 rounds at least" in text
        assert "says nothing" in text
        assert f"{advice.useful_from:,} rounds" in text
        assert "does not follow" in text
        assert "delta=0.2" in text
        usual = str(smidgen.recommend(Ball(dim=1), loss_bound=1.0, horizon=10**9, lipschitz=1.0))
        assert "says something" in usual
        assert "slopes up to 1" in usual

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"space": 3}, "space is 3"),
            ({"loss_bound": 0}, "loss_bound"),
            ({"horizon": 1.5}, "horizon"),
            ({"lipschitz": -1}, "lipschitz"),
        ],
    )
    def test_nonsense_is_refused(self, given: dict[str, Any], says: str) -> None:
        with pytest.raises(InvalidArgument, match=says):
            smidgen.recommend(**{"space": Ball(dim=2), "loss_bound": 1.0, "horizon": 100, **given})
