"""The compiled streams of item choices against the two verbs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import smidgen
from smidgen import Choice, users
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen_papers.players import ChoicePlay, ItemTable, candidates, play_choices
from smidgen_papers.players.choice_answers import in_order

N_ITEMS, DIM, ROUNDS, N_USERS = 90, 5, 44, 3

LEARNERS: dict[str, Any] = {
    "perceptron": lambda: smidgen.PreferencePerceptron(dim=DIM),
    "soft": lambda: smidgen.SoftPreferencePerceptron(dim=DIM),
    "batch": lambda: smidgen.BatchPreferencePerceptron(dim=DIM, batch=7),
    "batches of exponentiated steps": lambda: smidgen.CoactiveLearner(
        rule=smidgen.optim.Batched(rule=smidgen.optim.Exponentiated(dim=DIM, bound=2.0), size=3)
    ),
    "exponentiated": lambda: smidgen.ExponentiatedPreferencePerceptron(dim=DIM, bound=2.0),
    "exponentiated, horizon": lambda: smidgen.ExponentiatedPreferencePerceptron(
        dim=DIM, bound=2.0, horizon=ROUNDS, signed=False
    ),
    "convex": lambda: smidgen.ConvexPreferencePerceptron(dim=DIM, radius=100.0),
    "convex, projected": lambda: smidgen.ConvexPreferencePerceptron(dim=DIM, radius=1.0, lipschitz=2.0),
    "second order": lambda: smidgen.SecondOrderPreferencePerceptron(dim=DIM, gamma=0.5),
    "second order, projected": lambda: smidgen.SecondOrderPreferencePerceptron(dim=DIM, radius=0.5),
}


def problem(seed: int, n: int = N_ITEMS, dim: int = DIM) -> tuple[Any, Any, Any]:
    """Items with twins and a few of no features at all, tastes, ratings."""
    rng = np.random.default_rng(seed)
    items = rng.normal(size=(n, dim)) * rng.gamma(1.0, size=(n, 1))
    items[n // 2 : n // 2 + 5] = items[:5]
    items[-4:] = 0.0
    tastes = rng.normal(size=(N_USERS, dim))
    return items, tastes, 3.0 + tastes @ items.T / 2 + 0.3 * rng.normal(size=(N_USERS, n))


def make_user(kind: str, w: Any, ratings: Any, seed: int) -> Any:
    return {
        "strict": lambda: users.StrictAlpha(w_star=w, alpha=0.5),
        "expected": lambda: users.ExpectedAlpha(w_star=w, alpha=0.5, seed=seed),
        "better": lambda: users.BetterRating(ratings=ratings, legal=(1, 5), seed=seed),
        "best": lambda: users.BestRating(ratings=ratings, legal=(1, 5), seed=seed),
        "compare": lambda: users.BetterOfTwo(w_star=w),
        "compare ratings": lambda: users.BetterOfTwo(ratings=ratings),
    }[kind]()


def by_the_verbs(learner: Any, items: Any, user: Any, w_star: Any, rounds: int) -> tuple[Any, Any, Any]:
    """The slow way: decide, ask, learn, take off."""
    menu, actions, regrets = Choice(items), [], []
    for _ in range(rounds):
        decision = learner.decide(menu)
        feedback = user(menu, decision.action)
        learner.learn(decision, feedback)
        shown = learner.presented(decision)
        off = [*shown, *([] if len(shown) == 2 else [feedback])]
        actions.append(off)
        best = items[menu.argmax(w_star)] @ w_star
        regrets.append(best - np.mean([items[j] @ w_star for j in shown]))
        menu = menu.without(*off)
    return np.array(actions).T, np.array(regrets), learner.weights


def check_equal(make: Any, kind: str, seed: int, *, rounds: int = ROUNDS, n: int = N_ITEMS, dim: int = DIM) -> None:
    items, tastes, ratings = problem(seed, n, dim)
    crowd = [make_user(kind, w, r, i) for i, (w, r) in enumerate(zip(tastes, ratings, strict=True))]
    seeds = [7, 8, 9]
    play = play_choices(make(), items, crowd, utilities=tastes, rounds=rounds, seeds=seeds, keep=True)
    for i, w in enumerate(tastes):
        learner = type(make())(**(make().params | {"seed": seeds[i]}))
        actions, regrets, weights = by_the_verbs(learner, items, make_user(kind, w, ratings[i], i), w, rounds)
        np.testing.assert_array_equal(play.shown[i], actions[0])
        np.testing.assert_array_equal(play.given[i], actions[1])
        np.testing.assert_allclose(play.cumulative_regret[i], np.cumsum(regrets), atol=1e-9)
        np.testing.assert_allclose(play.squared_regret[i], np.cumsum(regrets**2), atol=1e-9)
        np.testing.assert_allclose(play.weights[i], weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", ["strict", "expected", "better", "best"])
@pytest.mark.parametrize("name", LEARNERS)
def test_play_equals_the_two_verbs(name: str, kind: str) -> None:
    check_equal(LEARNERS[name], kind, seed=len(name) + len(kind))


@pytest.mark.parametrize("kind", ["compare", "compare ratings"])
@pytest.mark.parametrize(("explore", "step"), [(1.0, 0.1), (0.01, 1.0)])
def test_duels_equal_the_two_verbs(kind: str, explore: float, step: float) -> None:
    check_equal(lambda: smidgen.DuelingBandit(dim=DIM, explore=explore, step=step), kind, seed=3)


@pytest.mark.parametrize("kind", ["strict", "better"])
def test_the_svm_equals_the_two_verbs(kind: str) -> None:
    pytest.importorskip("sklearn")
    check_equal(lambda: smidgen.RankingSVM(dim=3), kind, seed=5, rounds=70, n=150, dim=3)


@pytest.mark.parametrize("name", ["perceptron", "convex", "convex, projected", "batch", "second order"])
def test_long_streams_equal_the_two_verbs(name: str) -> None:
    """Enough items and rounds for several blocks, for near scores to go astray and be renewed, for closing up."""
    check_equal(LEARNERS[name], "strict", seed=2, rounds=400, n=1200)


@pytest.mark.parametrize("crowd", [1e-4, 1e-9, 1.0])
@pytest.mark.parametrize("near", [True, False])
def test_near_scores_give_the_exact_choice(crowd: float, near: bool) -> None:
    """Items that crowd so closely that eight bits, or even sixteen, cannot tell them apart; and others."""
    rng = np.random.default_rng(1)
    items = np.ones(4) + crowd * rng.normal(size=(700, 4))
    items[300:310] = items[0]
    c, w, left = ItemTable.of(items).candidates(near=near), rng.normal(size=4), np.ones(700, bool)
    for t in range(300):
        got = candidates.choose(c, w)
        assert got == Choice(items, left).argmax(w)
        other, rate = int(rng.choice(np.flatnonzero(left & (np.arange(700) != got)))), 1.0 / (1 + t % 7)
        for item in (got, other):
            candidates.remove(c, item)
            left[item] = False
        w = w + rate * (items[other] - items[got])
        if near:
            candidates.moved_along(c, other, got, rate)
        else:
            candidates.moved(c)
    scores = c.sizes[candidates.BASE] + c.sizes[candidates.UNIT] * c.near[c.column[left]]
    if near and c.counts[candidates.STALE] == 0:
        assert (items[left] @ w - scores).max() <= c.sizes[candidates.ERROR]


def test_a_few_items_far_longer_than_the_rest() -> None:
    """Then eight bits say little of the others, and every choice takes a product."""
    rng = np.random.default_rng(3)
    items = rng.normal(size=(700, 4)) * np.where(np.arange(700) < 5, 1000.0, 1.0)[:, None]
    user, learner = users.StrictAlpha(w_star=np.ones(4), alpha=0.5), smidgen.PreferencePerceptron(dim=4)
    play = play_choices(learner, items, [user], rounds=200, keep=True)
    actions, _, _ = by_the_verbs(learner, items, user, np.ones(4), 200)
    np.testing.assert_array_equal([play.shown[0], play.given[0]], actions)


@pytest.mark.parametrize("n", [0, 1, 2, 64, 1000])
def test_items_in_order(n: int) -> None:
    """Equals by index, also where zeros have signs or values differ in their last bits only."""
    rng = np.random.default_rng(n)
    values = rng.choice([-0.0, 0.0, 1.0, 1.0 + 2.0**-52, -1.0, -1.0 - 2.0**-52, 1e-310, -np.inf], n)
    order, place, ordered = in_order(values)
    np.testing.assert_array_equal(order, np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(place[order], np.arange(n))
    np.testing.assert_array_equal(ordered, values[order])


@pytest.mark.parametrize("size", [1e-150, 1e-40, 1e40, 1e90])
def test_items_of_any_size(size: float) -> None:
    items = size * np.random.default_rng(2).normal(size=(300, 3))
    user, learner = users.StrictAlpha(w_star=np.ones(3), alpha=0.5), smidgen.PreferencePerceptron(dim=3)
    play = play_choices(learner, items, [user], rounds=60, keep=True)
    actions, _, weights = by_the_verbs(learner, items, user, np.ones(3), 60)
    np.testing.assert_array_equal([play.shown[0], play.given[0]], actions)
    np.testing.assert_array_equal(play.weights[0], weights)


def test_checkpoints_and_losses() -> None:
    items, tastes, _ = problem(0)
    crowd = [users.StrictAlpha(w_star=w, alpha=1.0) for w in tastes]
    whole = play_choices(smidgen.PreferencePerceptron(dim=DIM), items, crowd, rounds=20)
    some = play_choices(smidgen.PreferencePerceptron(dim=DIM), items, crowd, rounds=20, checkpoints=[1, 20])
    np.testing.assert_array_equal(some.cumulative_regret, whole.cumulative_regret[:, [0, 19]])
    np.testing.assert_allclose(some.average_regret[:, 1], whole.cumulative_regret[:, 19] / 20)
    regrets = np.diff(whole.cumulative_regret, prepend=0.0)
    peaks = np.array([1.0, 2.0, 3.0])
    loss = smidgen.losses.Quadratic(peak=2.0)
    expected = np.cumsum(loss(-regrets[1]) - loss(0.0))
    np.testing.assert_allclose(whole.cumulative_loss_regret(peaks)[1], expected)
    assert some.shown.shape[0] == 0
    assert repr(some) == "ChoicePlay(3 users, 20 rounds)"
    assert isinstance(some, ChoicePlay)


def test_refusals() -> None:
    items, tastes, ratings = problem(0)
    strict = [users.StrictAlpha(w_star=w, alpha=1.0) for w in tastes]
    learner = smidgen.PreferencePerceptron(dim=DIM)
    with pytest.raises(InvalidArgument, match="rounds"):
        play_choices(learner, items, strict, rounds=N_ITEMS // 2 + 1)
    with pytest.raises(InvalidFeatures, match="features"):
        play_choices(smidgen.PreferencePerceptron(dim=DIM + 1), items, strict, rounds=5)
    with pytest.raises(InvalidArgument, match="checkpoints"):
        play_choices(learner, items, strict, rounds=5, checkpoints=[6])
    with pytest.raises(InvalidArgument, match="seeds"):
        play_choices(learner, items, strict, rounds=5, seeds=[1])
    with pytest.raises(InvalidArgument, match="without a w_star"):
        play_choices(learner, items, [users.BetterRating(ratings=ratings[0])], rounds=5)
    with pytest.raises(InvalidArgument, match="utilities has shape"):
        play_choices(learner, items, strict, utilities=tastes[:2], rounds=5)
    with pytest.raises(InvalidArgument, match="ratings"):
        play_choices(learner, items, [users.BetterRating(ratings=[1.0])], utilities=tastes[:1], rounds=5)
    with pytest.raises(InvalidArgument, match="cannot answer"):
        play_choices(smidgen.DuelingBandit(dim=DIM), items, strict, rounds=5)
    with pytest.raises(InvalidArgument, match="the user is a"):
        play_choices(learner, items, [lambda context, action: action], utilities=tastes[:1], rounds=5)
    rule = smidgen.optim.Gradient(space=smidgen.Box(low=[0.0] * DIM, high=[1.0] * DIM))
    with pytest.raises(InvalidArgument, match="is not compiled"):
        play_choices(smidgen.CoactiveLearner(rule=rule), items, strict, rounds=5)
    with pytest.raises(InvalidArgument, match="play_choices was given"):
        play_choices(smidgen.Banditron(dim=DIM, n_classes=2), items, strict, rounds=5)
