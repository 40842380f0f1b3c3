"""Theorems are stated once: for the cards, for measured runs and for models at work."""

from __future__ import annotations

import ast
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smidgen
from reference_theory import BOUNDS
from smidgen import Ball, Card, bounds, theory
from smidgen.errors import InvalidArgument
from smidgen.learners import cards, learners
from smidgen.theory import Guarantee, Premises, Theorem, promised, state, stated

SRC = Path(smidgen.__file__).parent


def settings(name: str, **more: Any) -> dict[str, Any]:
    """All settings of a small learner whose card names that theorem."""
    owner = next(each for each, card in cards.items() if card.theorem == name)
    return learners[owner](**{**cards[owner].example, **more}).params


class TestStatements:
    @pytest.mark.parametrize("name", stated)
    def test_every_bound_is_a_public_function(self, name: str) -> None:
        theorem = stated[name]
        assert theorem.name == name
        assert getattr(bounds, theorem.bound.__name__) is theorem.bound
        assert theorem.counts in inspect.signature(theorem.bound).parameters

    @pytest.mark.parametrize("name", stated)
    def test_every_learner_has_the_formula_of_its_theorem(self, name: str) -> None:
        owners = [card for card in cards.values() if card.theorem == name]
        assert owners
        assert all(card.bound == stated[name].formula for card in owners)

    def test_formulas_stand_in_theory_alone(self) -> None:
        formulas = {theorem.formula for theorem in stated.values()}
        for path in SRC.rglob("*.py"):
            if path.parent.name != "theory":
                words = [n.value for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
                assert not formulas & {word for word in words if isinstance(word, str)}, path

    def test_a_name_is_taken_once(self) -> None:
        taken = Theorem(name="preferences", title="", formula="", bound=bounds.ogd, terms=lambda s, T: "")
        with pytest.raises(InvalidArgument, match="already registered"):
            state(taken)
        assert state(stated["preferences"]) is stated["preferences"]

    def test_a_card_cannot_name_what_is_not_stated(self) -> None:
        with pytest.raises(InvalidArgument, match="there is no theorem 'hearsay'"):
            Card(loop="label", feedback="bit", theorem="hearsay")

    def test_words_of_a_card(self) -> None:
        assert Card(loop="label", feedback="bit").bound == "none is known"
        assert Card(loop="label", feedback="bit", bound="a lot", theorem="one bit").bound == "a lot"


class TestFormulas:
    @pytest.mark.parametrize("name", [name for name in stated if BOUNDS[stated[name].bound.__name__].words])
    def test_the_words_are_the_function(self, name: str) -> None:
        theorem = stated[name]
        known = BOUNDS[theorem.bound.__name__]
        assert known.words is not None
        early, late = (10**30, 10**60) if known.order else (10**8, 10**12)
        shares = [float(theorem.per_round({theorem.counts: T, **known.given})) / known.words(T) for T in (early, late)]
        if known.order:
            assert shares[1] / shares[0] == pytest.approx(1.0, rel=0.35), theorem.formula
        else:
            assert shares == pytest.approx([1.0, 1.0], rel=1e-3), theorem.formula

    def test_one_bit(self) -> None:
        def share(T: int) -> float:
            known = theory.find("one bit").terms(settings("one bit", **PROVED, alpha=1.0), T)
            assert isinstance(known, Premises)
            return float(stated["one bit"].per_round({"T": T, **known.known}))

        order = [share(T) / math.sqrt(math.log(T) ** 2 / T) for T in (10**30, 10**60)]
        assert order[1] / order[0] == pytest.approx(1.0, rel=0.35)


PROVED = {"eta": "theory", "covariance": "full", "project": True}


class TestGuarantees:
    @pytest.mark.parametrize("name", stated)
    def test_a_curve_or_a_reason(self, name: str) -> None:
        found = promised(name, "words", settings(name), [(100, 0), (2000, 0)])
        assert isinstance(found, Guarantee)
        assert (found.why_not is None) is bool(found.curve)
        if found.why_not is not None:
            assert found.why_not.endswith((".", ")."))
        else:
            assert found.theorem
            assert found.assumes.endswith(".")

    def test_numbers_are_those_of_the_bounds(self) -> None:
        points = [(5, 0), (80, 2)]
        found = promised("preferences", "", {"dim": 3}, points)
        wanted = [
            (T, bounds.preference_perceptron(T=T, R=1.0, w_norm=1.0, alpha=1.0, lag=lag, per_round=True))
            for T, lag in points
        ]
        assert found.curve == wanted
        assert found.theorem == "Theorem 1; at most 2 updates late"
        found = promised("gradient descent", "", settings("gradient descent", space=Ball(dim=2)), [(50, 0)])
        G = settings("gradient descent")["gradient_bound"]
        assert found.curve == [(50, bounds.ogd(T=50, D=2.0, G=G, per_round=True))]

    def test_one_bit_speaks_under_its_own_settings(self) -> None:
        assert "eta=" in str(promised("one bit", "", settings("one bit"), [(9, 0)]).why_not)
        given = settings("one bit", **PROVED, alpha=1.0)
        found = promised("one bit", "", given, [(9, 0)])
        B3 = bounds.determinant_bound(T=9, dim=given["dim"], n_classes=given["n_classes"], alpha=1.0)
        wanted = bounds.confidit(T=9, alpha=1.0, norm_bound=1.0, delta=0.05, log_determinant=B3, per_round=True)
        assert found.curve == [(9, pytest.approx(wanted))]

    def test_the_horizon(self) -> None:
        name = "exponentiated preferences"
        assert "fixed rate" in str(promised(name, "", settings(name), [(9, 0)]).why_not)
        given = settings(name, horizon=100)
        assert [T for T, _ in promised(name, "", given, [(9, 0), (100, 0)]).curve] == [9, 100]
        assert "ends at the horizon 100; there are 101 rounds" in str(promised(name, "", given, [(101, 0)]).why_not)

    def test_a_bound_that_begins_late_begins_there(self) -> None:
        given = settings("Newton steps")
        begins = math.exp(4.0 / given["space"].free_dim)
        points = [(T, 0) for T in range(1, 80)]
        assert [T for T, _ in promised("Newton steps", "", given, points).curve] == [
            T for T, _ in points if begins <= T
        ]
        assert "after a few rounds" in str(promised("Newton steps", "", given, points[:1]).why_not)

    def test_at_the_horizon_only(self) -> None:
        name = "gradient descent from values"
        given = settings(name, delta=None, gamma=None, horizon=10**6)
        found = promised(name, "", given, [(10, 0), (20, 0)])
        assert [T for T, _ in found.curve] == [10**6]

    @pytest.mark.parametrize("name", ["batched preferences", "gradient descent"])
    def test_late_feedback_ends_a_promise_that_does_not_allow_for_it(self, name: str) -> None:
        found = promised(name, "", settings(name), [(10, 0), (20, 3)])
        assert found.curve == ()
        assert "up to 3 events lay between" in str(found.why_not)

    def test_without_a_theorem_or_rounds(self) -> None:
        assert "No feedback has been learned" in str(promised("preferences", "", {}, []).why_not)
        assert promised(None, "none proved", {}, [(3, 0)]).why_not == (
            "There is no theorem for this learner: none proved."
        )

    def test_a_plugin_has_a_function(self) -> None:
        def bound(given: Any, T: int) -> float:
            return float(given["c"]) / T

        found = promised(bound, "c/T", {"c": 3.0}, [(1, 0), (6, 0)])
        assert found == Guarantee("c/T", "", "", [(1, 3.0), (6, 0.5)])
        assert "3 events" in str(promised(bound, "c/T", {"c": 3.0}, [(6, 3)]).why_not)

    def test_curves_are_plain_numbers(self) -> None:
        found = promised("preferences", "", {"dim": 3}, [(5, 0)])
        assert [type(number) for number in found.curve[0]] == [int, float]
        assert not isinstance(found.curve[0][1], np.floating)
