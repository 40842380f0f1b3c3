"""Banks against their slow twins; who leads; change; what is saved; names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import smidgen
from reference_bank import SlowChoiceBank, SlowLabelBank
from smidgen import Candidates, Choice, ChoiceBank, LabelBank, Pipeline, Vectorizer
from smidgen._core.bank import cosine
from smidgen.errors import CorruptFile, InvalidRecord
from smidgen.features.rows import arm_names
from smidgen.learners.bank import REMEMBERED


@pytest.mark.parametrize("restarts", [[812], [812, 1500], [-3, -2], [812, -840] * (REMEMBERED + 1)])
def test_fresh_starts_of_another_layout_are_refused(restarts: list[int]) -> None:
    """Rounds alone, or pairs with the decision as it is, are no state of this version."""
    bank = LabelBank(dim=2, n_classes=2)
    state = bank._state() | {"restarts": np.array(restarts, np.int64)}
    with pytest.raises(InvalidRecord):
        bank._check_state(state)


def test_cosines_are_those_of_the_library_to_the_last_digits() -> None:
    turns = np.random.default_rng(0).uniform(-8.0, 8.0, 2_000)
    assert max(abs(cosine(float(t)) - math.cos(2.0 * math.pi * t)) for t in turns) < 1e-14


@pytest.mark.parametrize("named", [False, True])
def test_a_choice_bank_is_its_slow_twin(named: bool) -> None:
    rng, rounds, dim, K = np.random.default_rng(1), 330, 4, 3
    bank, twin = ChoiceBank(dim=dim, seed=3), SlowChoiceBank(dim, seed=3)
    names, leaders = (arm_names(("a", "b", "c")) if named else None), set()
    for t in range(rounds):
        rows = rng.normal(size=(K, dim))
        if t % 5 == 0:
            rows[:] = np.eye(K, dim)  # rows of one feature
        offer = Choice(rows)
        if names is not None:
            offer.rows.arms = names
        made = bank.decide(offer)
        scores, widths = twin.estimates(rows, None if names is None else names.tolist())
        np.testing.assert_allclose(made.scores, scores, atol=1e-8)
        np.testing.assert_allclose(made.widths, widths, atol=1e-8)
        assert bank.leader == twin.watch.leader()
        leaders.add(bank.leader)
        x = rows[made.action]
        reward = float(x[0] ** 2 + x[1] ** 2 > 1.5) if t < 200 else 0.0
        bank.learn(made, reward)
        twin.learn(x, reward, None if names is None else int(names[made.action]))
        assert [each.round for each in bank.restarts] == twin.restarts
    assert len(leaders) > 1
    assert bank.restarts


def test_a_label_bank_is_its_slow_twin() -> None:
    rng, dim, K = np.random.default_rng(2), 3, 3
    bank, twin, leaders = LabelBank(dim=dim, n_classes=K, seed=5), SlowLabelBank(dim, K, seed=5), set()
    for t in range(380):
        x = rng.normal(size=dim)
        made = bank.decide(x)
        scores, widths = twin.scores(x)
        np.testing.assert_allclose(made.scores, scores, atol=1e-8)
        np.testing.assert_allclose(made.widths, widths, atol=1e-8)
        assert bank.leader == twin.watch.leader()
        leaders.add(bank.leader)
        ring = int(np.searchsorted([0.5, 1.5], np.abs(x[0] / x[1]))) if t < 230 else K
        reward = float(made.action == ring)
        bank.learn(made, reward)
        twin.learn(x, made.action, reward)
        assert [each.round for each in bank.restarts] == twin.restarts
    assert leaders == {"plain", "curved"}
    assert bank.restarts


def _choices(bank: Any, rounds: int, world: Any, seed: int) -> list[float]:
    rng, got = np.random.default_rng(seed), []
    for t in range(rounds):
        context, rewards = world(t, rng)
        made = bank.decide(Candidates({name: {} for name in "abc"}, context=context))
        got.append(float(rewards[made.action]))
        bank.learn(made, got[-1])
    return got


def _bank(seed: int = 0) -> Pipeline:
    return Pipeline(features=Vectorizer(dim=64), learner=ChoiceBank(dim=64, seed=seed))


def _moving(at: int) -> Any:
    def world(t: int, rng: Any) -> Any:
        device = int(rng.integers(3))
        best = (device + (t >= at)) % 3
        return {"device": f"d{device}"}, (rng.random(3) < np.where(np.arange(3) == best, 0.9, 0.1)).astype(float)

    return world


def test_a_world_that_turns_starts_the_bank_afresh_and_a_still_one_does_not() -> None:
    moved, still = _bank(), _bank()
    late = np.mean(_choices(moved, 1_600, _moving(800), 0)[-400:])
    assert np.mean(_choices(still, 1_600, _moving(9_999), 0)[-400:]) > 0.8
    assert late > 0.8
    assert [800 < each.round < 900 for each in moved.learner.restarts] == [True]
    assert moved.learner.restarts[0].reason == "rewards changed"
    assert still.learner.restarts == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tastes_that_are_dealt_again_are_noticed_though_rewards_hardly_fall(seed: int) -> None:
    def world(t: int, rng: Any) -> Any:
        u = float(rng.normal())
        best = (0 if u > 0 else 1) if t < 600 else (1 if u > 0 else 0)
        chances = [0.85 if k == best else 0.45 for k in range(2)] + [0.5]
        return {"u": u}, rng.random(3) < chances

    bank = _bank(seed)
    _choices(bank, 800, world, seed)
    assert 600 < bank.learner.restarts[0].round <= 700
    assert len(bank.learner.restarts) == 1


def test_a_poor_candidate_that_becomes_the_best_is_found() -> None:
    def world(t: int, rng: Any) -> Any:
        return {}, (rng.random(3) < ([0.5, 0.3, 0.8] if t >= 500 else [0.5, 0.3, 0.2])).astype(float)

    late = [np.mean(_choices(_bank(seed), 1_500, world, seed)[-400:]) for seed in range(5)]
    assert np.mean(late) > 0.68  # the other two bring .5 at most


def test_weak_contexts_are_left_to_the_context_free_model() -> None:
    def world(t: int, rng: Any) -> Any:
        said = {f"f{j}": str(rng.integers(8)) for j in range(4)}
        return said, (rng.random(3) < [0.45, 0.4, 0.2]).astype(float)

    bank = _bank()
    _choices(bank, 1_500, world, 1)
    assert bank.learner.leader == "context-free"


@pytest.mark.parametrize("cut", [150, 700])
def test_a_saved_bank_goes_on_bit_for_bit(cut: int) -> None:
    bank, world, rng = _bank(), _moving(500), np.random.default_rng(4)
    twin: Any = None
    for t in range(900):
        context, rewards = world(t, rng)
        offer = Candidates({name: {} for name in "abc"}, context=context)
        made = bank.decide(offer)
        if twin is not None:
            assert twin.decide(offer) == made
            twin.learn(made, float(rewards[made.action]))
        bank.learn(made, float(rewards[made.action]))
        if t == cut:
            twin = smidgen.learners.Learner.from_bytes(bank.to_bytes())
    assert twin.to_bytes() == bank.to_bytes()
    assert twin.learner.restarts == bank.learner.restarts != []


def test_the_stream_is_what_the_verbs_do() -> None:
    rng, T = np.random.default_rng(5), 700
    items = rng.normal(size=(T, 4, 6))
    rewards = (items[:, :, 0] > 0).astype(float)
    rewards[400:] = 1.0 - rewards[400:]
    quick, slow = ChoiceBank(dim=6), ChoiceBank(dim=6)
    shown = quick.run(items, rewards).actions
    for t in range(T):
        made = slow.decide(Choice(items[t]))
        assert made.action == shown[t]
        slow.learn(made, rewards[t, made.action])
    assert quick.to_bytes() == slow.to_bytes()
    assert len(quick.restarts) == 1


@pytest.mark.parametrize("loop", ["choose", "label"])
def test_beyond_256_columns_there_is_a_diagonal_and_no_curvature(loop: str) -> None:
    rng = np.random.default_rng(6)
    bank: Any = ChoiceBank(dim=600) if loop == "choose" else LabelBank(dim=600, n_classes=2)
    for _ in range(120):
        rows = np.zeros((2, 600))
        for row in rows:
            row[rng.integers(0, 600, 5)] = 1.0
        made = bank.decide(Choice(rows) if loop == "choose" else rows[0])
        bank.learn(made, 1.0 if loop == "choose" else bool(made.action))
    assert bank.covariance == "diagonal"
    assert bank.leader != "curved"
    again = smidgen.learners.Learner.from_bytes(bank.to_bytes())
    assert again.to_bytes() == bank.to_bytes()


def test_fresh_starts_are_remembered_within_bounds() -> None:
    bank = ChoiceBank(dim=2)
    for t in range(REMEMBERED * 700):
        made = bank.decide(Choice(np.eye(2)))
        bank.learn(made, float(t % 600 < 450))
    assert len(bank.restarts) == REMEMBERED


@pytest.mark.parametrize(("name", "place", "value"), [("book", 0, 7.0), ("book", 2, -1.0), ("book", 5, math.nan)])
def test_a_book_that_is_none_is_refused(name: str, place: int, value: float) -> None:
    bank = ChoiceBank(dim=2)
    bank._book.numbers[place] = value
    with pytest.raises(CorruptFile):
        smidgen.learners.Learner.from_bytes(bank.to_bytes())


def test_cosines_have_one_line_among_the_names() -> None:
    bank = Pipeline(features=Vectorizer(dim=64), learner=LabelBank(dim=64, labels=["in", "out"]))
    rng = np.random.default_rng(7)
    for _ in range(600):
        x, y = rng.normal(size=2)
        made = bank.decide({"east": x, "north": y})
        bank.learn(made, made.action == ("in" if x * x + y * y < 1.4 else "out"))
    assert bank.learner.leader == "curved"
    found = bank.explain(made)
    names = [name for name, _ in found.contributions]
    assert sorted(names) == ["(constant)", "(curvature of east, north)", "east", "north"]
    scores = dict(zip(bank.labels, bank.decide({"east": x, "north": y}).scores, strict=True))
    again = bank.explain(bank.decide({"east": x, "north": y}))
    assert sum(each for _, each in again.contributions) == pytest.approx(scores[again.answer])
    assert "(curvature of east, north)" in dict(bank.weights_by_name())


@pytest.mark.parametrize("burst", [1, 60, 400])
def test_silence_that_comes_late_and_in_bursts_is_no_change(burst: int) -> None:
    """Clicks come at once, silence 300 decisions later, many at a time: no fresh start; after a real change, one."""
    rng, bank, silent, starts = np.random.default_rng(8), _bank(), [], []
    for t in range(4_000):
        made = bank.decide(Candidates({name: {} for name in "abc"}))
        if rng.random() < ([0.5, 0.2, 0.2][made.action] if t < 2_800 else 0.05):
            bank.learn(made, 1.0)
        else:
            silent.append(made)
        if t % burst == 0:
            while silent and silent[0].number + 300 <= made.number:
                bank.learn(silent.pop(0), 0.0)
        if t == 2_799:
            starts.append(len(bank.learner.restarts))
    assert starts == [0]
    assert bank.learner.restarts


def test_an_added_class_reaches_every_model() -> None:
    learner = smidgen.LabelBank(dim=3, labels=["a", "b"])
    learner.learn(learner.decide(np.ones(3)), True)
    learner.add_classes("c")
    assert learner.weights.shape == (3, 3)
    assert len(learner.decide(np.ones(3)).scores) == 3
    again = smidgen.Learner.from_bytes(learner.to_bytes())
    assert again.labels == ["a", "b", "c"]
    assert again.weights.shape == (3, 3)
