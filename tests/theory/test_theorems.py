"""Measured regret stays below what the theorems say, in every round; and a broken update does not.

The bounds hold for every run, whatever the user answers, since slacks make up for what feedback lacks: there is nothing
statistical about these tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Ball, Choice, CoactiveLearner, History, Learner, Ranking, bounds, losses, simulate, users
from smidgen.optim import Additive, Batched, Exponentiated, Gradient, Newton, Rule
from smidgen.theory.theorems import Measured, Verdict, theorem

ROUNDS, DIM, TOP = 300, 8, 5
SEEDS = (0, 1, 2)


@dataclass(frozen=True, eq=False)
class Stream:
    """Contexts, the user's utility, and bounds on what any object of any context can have for features."""

    contexts: list[Any]
    w_star: Any
    labels: Any
    R: float
    S: float


@cache
def ranking_stream(seed: int) -> Stream:
    """Non-negative utilities, so that also the unsigned learner has its theorem."""
    rng = np.random.default_rng(seed)
    docs = rng.normal(size=(ROUNDS, 12, DIM)) / np.sqrt(DIM)
    w_star = np.abs(rng.normal(size=DIM))
    w_star /= np.linalg.norm(w_star)
    worth = docs @ w_star + 0.2 * rng.normal(size=docs.shape[:2])
    labels = np.searchsorted(np.quantile(worth, [0.5, 0.75, 0.9, 0.97]), worth)
    discounts = 1.0 / np.log2(np.arange(2, TOP + 2))
    falling = -np.sort(-docs, axis=1)[:, :TOP]
    rising = -np.sort(docs, axis=1)[:, :TOP]
    S = max(np.einsum("i,tij->tj", discounts, side).max() for side in (falling, rising))
    R = discounts.sum() * np.linalg.norm(docs, axis=2).max()
    return Stream([Ranking(x, TOP) for x in docs], w_star, labels, float(R), float(S))


@cache
def choice_stream(seed: int) -> Stream:
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(40, DIM)) / np.sqrt(DIM)
    w_star = np.abs(rng.normal(size=DIM))
    w_star /= np.linalg.norm(w_star)
    ratings = 3.0 + 3.0 * items @ w_star
    everything = Choice(items)
    menus = [everything.only(rng.choice(40, 10, replace=False)) for _ in range(ROUNDS)]
    return Stream(menus, w_star, ratings, float(np.linalg.norm(items, axis=1).max()), float(np.abs(items).max()))


SETTINGS: dict[str, tuple[Callable[[int], Stream], Callable[[Stream, int], Any]]] = {
    "rankings, strict": (ranking_stream, lambda s, seed: users.StrictAlpha(w_star=s.w_star, alpha=0.5)),
    "rankings, barely informative": (ranking_stream, lambda s, seed: users.StrictAlpha(w_star=s.w_star, alpha=0.1)),
    "rankings, noisy": (ranking_stream, lambda s, seed: users.NoisyDepth(labels=s.labels, depth=8)),
    "rankings, expected": (
        ranking_stream,
        lambda s, seed: users.ExpectedAlpha(w_star=s.w_star, alpha=0.3, strict=0.5, seed=seed),
    ),
    "rankings, clicks": (
        ranking_stream,
        lambda s, seed: users.ClickModel(labels=s.labels, model="informational", depth=10, seed=seed),
    ),
    "choices, strict": (choice_stream, lambda s, seed: users.StrictAlpha(w_star=s.w_star, alpha=0.5)),
    "choices, expected": (choice_stream, lambda s, seed: users.ExpectedAlpha(w_star=s.w_star, alpha=0.3, seed=seed)),
    "choices, ratings": (choice_stream, lambda s, seed: users.BetterRating(ratings=s.labels, legal=(1, 5), seed=seed)),
}


def quadratic(s: Stream, alpha: float, radius: float) -> losses.Quadratic:
    """The loss that falls as far as w·Δ/α can go."""
    return losses.Quadratic(peak=2.0 * s.R * radius / alpha)


#: A learner that suits the stream, and the loss that its theorem is about.
LEARNERS: dict[str, Callable[[Stream, float], tuple[Learner, Any]]] = {
    "PreferencePerceptron": lambda s, alpha: (smidgen.PreferencePerceptron(dim=DIM), None),
    "BatchPreferencePerceptron": lambda s, alpha: (smidgen.BatchPreferencePerceptron(dim=DIM, batch=7), None),
    "Exponentiated, signed": lambda s, alpha: (
        smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=s.S, horizon=ROUNDS),
        None,
    ),
    "Exponentiated, unsigned": lambda s, alpha: (
        smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=s.S, horizon=ROUNDS, signed=False),
        None,
    ),
    "Exponentiated, with rounds to spare": lambda s, alpha: (
        smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=s.S, horizon=3 * ROUNDS),
        None,
    ),
    "Convex": lambda s, alpha: (smidgen.ConvexPreferencePerceptron(dim=DIM, radius=1.0), None),
    "Convex, slope 2": lambda s, alpha: (smidgen.ConvexPreferencePerceptron(dim=DIM, radius=1.5, lipschitz=2.0), None),
    "Convex, quadratic loss": lambda s, alpha: (
        smidgen.ConvexPreferencePerceptron(dim=DIM, radius=1.0),
        quadratic(s, alpha, 1.0),
    ),
    "SecondOrder": lambda s, alpha: (
        smidgen.SecondOrderPreferencePerceptron(dim=DIM, radius=1.0, gamma=alpha / (4.0 * s.R)),
        quadratic(s, alpha, 1.0),
    ),
}
THEOREM = {
    "PreferencePerceptron": ("Theorem 1", "average_regret"),
    "BatchPreferencePerceptron": ("Lemma 4", "average_regret"),
    "Exponentiated": ("Theorem 5, mended", "average_regret"),
    "Convex": ("Theorem 6, mended", "average_loss_regret"),
    "SecondOrder": ("Theorem 8, mended", "average_loss_regret"),
}


def play(learner: str, setting: str, seed: int) -> History:
    make_stream, make_user = SETTINGS[setting]
    stream = make_stream(seed)
    user = make_user(stream, seed)
    made, loss = LEARNERS[learner](stream, getattr(user, "alpha", 1.0))
    return simulate(made, stream.contexts, user, utility=stream.w_star, loss=loss)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_regret_stays_below_the_bound_in_every_round(learner: str, setting: str) -> None:
    for seed in SEEDS:
        history = play(learner, setting, seed)
        assert history.bound is not None, history.bound_note
        assert (history.bound_note, history.bound_on) == THEOREM[learner.split(",")[0]]
        measured = getattr(history, history.bound_on)
        assert measured.shape == history.bound.shape == (ROUNDS,)
        worst = int(np.argmax(measured - history.bound))
        assert measured[worst] <= history.bound[worst], f"seed {seed}, round {worst + 1}"
        assert history.regret.sum() > 0.0, "there was something to be learnt"


@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0])
def test_any_level_of_informativeness_gives_a_bound(alpha: float) -> None:
    """A noisy user has no alpha of its own; whichever it is measured at, slacks make up for the difference."""
    stream = ranking_stream(4)
    user = users.NoisyDepth(labels=stream.labels, depth=8)
    history = simulate(smidgen.PreferencePerceptron(dim=DIM), stream.contexts, user, utility=stream.w_star, alpha=alpha)
    assert history.alpha == alpha
    assert history.bound is not None
    assert (history.average_regret <= history.bound).all()


class TestTheBoundIsTheFunctionOfWhatWasMeasured:
    """Everything that a theorem needs, measured a second time from what History gives out."""

    STREAM = ranking_stream(5)
    T = np.arange(1, ROUNDS + 1)

    def run(self, learner: Learner, loss: Any = None) -> tuple[History, Any]:
        """A run with a utility of norm 3, and the largest norm of any joint feature vector up to each round."""
        user = users.StrictAlpha(w_star=3.0 * self.STREAM.w_star, alpha=0.5)
        history = simulate(learner, self.STREAM.contexts, user, loss=loss)
        objects = zip(self.STREAM.contexts, history.actions, history.feedback, strict=True)
        norms = [max(np.linalg.norm(context.phi(y)), np.linalg.norm(context.phi(z))) for context, y, z in objects]
        return history, np.maximum.accumulate(norms)

    @staticmethod
    def slope(history: History, peak: float) -> float:
        """G of the quadratic loss: its slope at the lowest θ that the proofs meet."""
        gain = history.better_utility - history.utility
        return 2.0 * (peak + float(((gain + np.maximum(0.0, history.slacks)) / 0.5).max()))

    def test_theorem_1(self) -> None:
        history, R = self.run(smidgen.PreferencePerceptron(dim=DIM))
        expected = bounds.preference_perceptron(T=self.T, R=R, w_norm=3.0, alpha=0.5, slack=history.slacks)
        np.testing.assert_allclose(history.bound, expected, rtol=1e-12)

    def test_lemma_4(self) -> None:
        history, R = self.run(smidgen.BatchPreferencePerceptron(dim=DIM, batch=9))
        expected = bounds.batch_preference_perceptron(
            T=self.T, R=R, w_norm=3.0, alpha=0.5, slack=history.slacks, batch=9
        )
        np.testing.assert_allclose(history.bound, expected, rtol=1e-12)

    @pytest.mark.parametrize("signed", [True, False])
    def test_theorem_5(self, signed: bool) -> None:
        learner = smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=7.0, horizon=400, signed=signed)
        history, _ = self.run(learner)
        expected = bounds.exponentiated_preference_perceptron(
            T=self.T,
            S=7.0,
            n_features=2 * DIM if signed else DIM,
            alpha=0.5,
            slack=history.slacks,
            w_norm=3.0 * float(np.abs(self.STREAM.w_star).sum()),
            horizon=400,
        )
        np.testing.assert_allclose(history.bound, expected, rtol=1e-12)

    @pytest.mark.parametrize("peak", [None, 200.0], ids=["linear loss", "quadratic loss"])
    def test_theorem_6(self, peak: float | None) -> None:
        """The slope is that of the loss, the scale that of the step: two things that the learner calls one."""
        loss = None if peak is None else losses.Quadratic(peak=peak)
        history, R = self.run(smidgen.ConvexPreferencePerceptron(dim=DIM, radius=4.0, lipschitz=2.0), loss)
        expected = bounds.convex_preference_perceptron(
            T=self.T,
            R=R,
            diameter=8.0,
            alpha=0.5,
            slack=history.slacks,
            lipschitz=1.0 if peak is None else self.slope(history, peak),
            scale=2.0,
        )
        np.testing.assert_allclose(history.bound, expected, rtol=1e-12)

    def test_theorem_8(self) -> None:
        learner = smidgen.SecondOrderPreferencePerceptron(dim=DIM, radius=4.0, gamma=1e-3, epsilon=0.7)
        history, R = self.run(learner, losses.Quadratic(peak=200.0))
        expected = bounds.second_order_preference_perceptron(
            T=self.T,
            R=R,
            diameter=8.0,
            dim=DIM,
            alpha=0.5,
            gamma=1e-3,
            epsilon=0.7,
            lipschitz=self.slope(history, 200.0),
            slack=history.slacks,
        )
        np.testing.assert_allclose(history.bound, expected, rtol=1e-12)


def wrong_sign(monkeypatch: pytest.MonkeyPatch, rule: type[Rule]) -> None:
    """Turn the update of a rule round, as a slip in its own file would."""
    right = rule.step

    def step(self: Rule, direction: Any) -> None:
        right(self, -direction)

    monkeypatch.setattr(rule, "step", step)


LONG = 20  # times the stream: so many rounds that no bound is empty
#: How to make a rule of a given class for a stream, the loss that its theorem is about, and the theorem.
RULES: dict[str, tuple[type[Rule], Callable[[Any, Stream], Rule], bool, str]] = {
    "additive": (Additive, lambda rule, s: rule(dim=DIM), False, "Theorem 1"),
    "batched": (Additive, lambda rule, s: Batched(rule=rule(dim=DIM), size=3), False, "Lemma 4"),
    "exponentiated": (
        Exponentiated,
        lambda rule, s: rule(dim=DIM, bound=s.S, horizon=LONG * ROUNDS),
        False,
        "Theorem 5, mended",
    ),
    "exponentiated, unsigned": (
        Exponentiated,
        lambda rule, s: rule(dim=DIM, bound=s.S, horizon=LONG * ROUNDS, signed=False),
        False,
        "Theorem 5, mended",
    ),
    "gradient": (Gradient, lambda rule, s: rule(space=Ball(dim=DIM, radius=1.0)), False, "Theorem 6, mended"),
    "newton": (
        Newton,
        lambda rule, s: rule(space=Ball(dim=DIM, radius=1.0), gamma=1.0 / (4.0 * s.R)),
        True,
        "Theorem 8, mended",
    ),
}


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("name", RULES)
class TestABrokenUpdateBreaksTheBound:
    """If these failed, the tests above could not."""

    @staticmethod
    def play(name: str, seed: int) -> tuple[History, Any]:
        rule, make, curved, note = RULES[name]
        stream = choice_stream(seed)
        history = simulate(
            CoactiveLearner(rule=make(rule, stream)),
            stream.contexts * LONG,
            users.StrictAlpha(w_star=stream.w_star, alpha=1.0),
            loss=quadratic(stream, 1.0, 1.0) if curved else None,
        )
        assert history.bound_note == note
        return history, getattr(history, history.bound_on)

    def test_when_its_sign_is_wrong(self, name: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        wrong_sign(monkeypatch, RULES[name][0])
        history, measured = self.play(name, seed)
        assert history.bound is not None
        assert measured[-1] > 1.5 * history.bound[-1]

    def test_and_keeps_it_when_it_is_right(self, name: str, seed: int) -> None:
        history, measured = self.play(name, seed)
        assert history.bound is not None
        assert (measured <= history.bound).all()


@pytest.mark.parametrize("defect", ["wrong sign", "no step"])
def test_a_broken_update_breaks_the_bound_on_rankings_too(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if defect == "wrong sign":
        wrong_sign(monkeypatch, Additive)
    else:
        monkeypatch.setattr(Additive, "step", lambda self, direction: None)
    stream = ranking_stream(0)
    user = users.StrictAlpha(w_star=stream.w_star, alpha=1.0)
    history = simulate(smidgen.PreferencePerceptron(dim=DIM), stream.contexts * 5, user)
    assert history.bound is not None
    assert (history.average_regret > history.bound)[-100:].all()


def test_a_learner_that_comes_with_weights_of_its_own_is_promised_nothing_false() -> None:
    """The theorems start from w = 0. These weights come from a user who wanted the opposite, two hundred times."""
    menu = Choice(np.eye(2))
    learner = smidgen.PreferencePerceptron(dim=2)
    for decision in [learner.decide(menu) for _ in range(200)]:
        learner.learn(decision, 1)
    history = simulate(learner, [menu] * 100, users.StrictAlpha(w_star=[1.0, 0.0], alpha=1.0))
    assert history.average_regret[-1] == 1.0
    assert history.bound is None or (history.average_regret <= history.bound).all()


class TestWhyThereIsNoBound:
    @staticmethod
    def note(learner: Learner, **arguments: Any) -> str:
        stream = choice_stream(0)
        user = users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
        history = simulate(learner, stream.contexts[:50], user, **arguments)
        assert history.bound is None
        return history.bound_note

    @staticmethod
    def second_order(**arguments: Any) -> smidgen.SecondOrderPreferencePerceptron:
        return smidgen.SecondOrderPreferencePerceptron(dim=DIM, **{"radius": 1.0, "gamma": 1e-3} | arguments)

    def test_the_second_order_learner_with_enough_said_has_one(self) -> None:
        """So that each note below is owed to the one thing changed."""
        stream = choice_stream(0)
        user = users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
        history = simulate(self.second_order(), stream.contexts[:50], user, loss=quadratic(stream, 0.5, 1.0))
        assert history.bound is not None

    def test_gamma_too_large(self) -> None:
        loss = quadratic(choice_stream(0), 0.5, 1.0)
        assert "gamma=1 exceeds λ/G" in self.note(self.second_order(gamma=1.0), loss=loss)

    def test_no_strongly_convex_loss(self) -> None:
        assert "strongly convex" in self.note(self.second_order())
        assert "strongly convex" in self.note(self.second_order(), loss=losses.Linear())

    @pytest.mark.parametrize("learner", ["convex", "second order"])
    def test_a_utility_outside_the_ball(self, learner: str) -> None:
        made: Learner = smidgen.ConvexPreferencePerceptron(dim=DIM, radius=0.9)
        if learner == "second order":
            made = self.second_order(radius=0.9)
        note = self.note(made, loss=losses.Quadratic(peak=1e3))
        assert "‖w*‖ = 1 lies outside the ball of radius 0.9" in note

    @pytest.mark.parametrize("learner", ["convex", "second order"])
    def test_a_loss_that_rises_too_soon(self, learner: str) -> None:
        made: Learner = smidgen.ConvexPreferencePerceptron(dim=DIM, radius=1.0)
        if learner == "second order":
            made = self.second_order()
        assert "the loss rises beyond 0.1" in self.note(made, loss=losses.Quadratic(peak=0.1))

    def test_no_horizon(self) -> None:
        assert "give the learner a horizon" in self.note(smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=10.0))

    def test_a_horizon_that_has_passed(self) -> None:
        learner = smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=10.0, horizon=49)
        assert "ends at the horizon 49; there are 50 rounds" in self.note(learner)

    def test_features_beyond_the_bound(self) -> None:
        learner = smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=0.01, horizon=50)
        assert "exceeds the learner's bound S=0.01" in self.note(learner)

    def test_a_negative_utility_without_signs(self) -> None:
        learner = smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=10.0, horizon=50, signed=False)
        assert "needs w* >= 0" in self.note(learner, utility=-choice_stream(0).w_star)

    def test_a_rule_without_a_theorem(self) -> None:
        newton = Newton(space=Ball(dim=DIM, radius=1.0))
        assert "batches of Newton" in self.note(CoactiveLearner(rule=Batched(rule=newton, size=2)))
        assert "no theorem" in self.note(smidgen.RankingSVM(dim=DIM))

    def test_a_rule_that_only_descends_from_one_with_a_theorem(self) -> None:
        """It may step as it likes, so the theorem says nothing of it."""

        class Backwards(Additive):
            def step(self, direction: Any) -> None:
                super().step(-direction)

        assert "Backwards" in self.note(CoactiveLearner(rule=Backwards(dim=DIM)))
        assert "Backwards" in self.note(CoactiveLearner(rule=Batched(rule=Backwards(dim=DIM), size=2)))

    def test_until_somebody_proves_one(self) -> None:
        class Careful(Additive):
            pass

        @theorem(Careful)
        def trivial(rule: Careful, m: Measured) -> Verdict:
            return Verdict(np.full(len(m.T), 2.0 * m.R[-1] * m.w_norm), "Cauchy and Schwarz")

        stream = choice_stream(0)
        user = users.StrictAlpha(w_star=stream.w_star, alpha=0.5)
        history = simulate(CoactiveLearner(rule=Careful(dim=DIM)), stream.contexts[:50], user)
        assert history.bound_note == "Cauchy and Schwarz"
        assert history.bound is not None
        assert (history.average_regret <= history.bound).all()

    def test_a_learner_that_has_learnt_before(self) -> None:
        learner = smidgen.PreferencePerceptron(dim=DIM)
        learner.learn(learner.decide(choice_stream(0).contexts[0]), choice_stream(0).contexts[0].argmax(np.ones(DIM)))
        assert "learned 1 rounds" in self.note(learner)

    def test_no_utility(self) -> None:
        stream = choice_stream(0)
        user = users.BetterRating(ratings=stream.labels)
        history = simulate(smidgen.PreferencePerceptron(dim=DIM), stream.contexts[:20], user)
        assert history.bound is None
        assert history.bound_note == "no utility was given"
