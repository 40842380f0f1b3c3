"""QuadraticTuner against its formulas in plain numpy; units, offsets, far losses; knobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reference_tune
import smidgen
from smidgen import Ball, Box, Knobs, QuadraticTuner, knobs
from smidgen._core import tune
from smidgen.errors import DecisionMismatch, InvalidArgument, InvalidFeatures, InvalidFeedback, NoWeights
from smidgen.learners.tune import quadratic_tuner
from smidgen.randomness import COIN, DIRECTION, stream_key

LOW, HIGH = [0.0, -1.0, 10.0], [1.0, 1.0, 50.0]


def candidates(seed: int, stream: int, number: int, best: np.ndarray, safe: Any = None) -> np.ndarray:
    """The candidates that the tuner draws, by its own generator: one row each."""
    Z, kept = np.empty((len(best), quadratic_tuner.COUNT)), np.empty((len(best), quadratic_tuner.COUNT))
    tune.candidates(best, stream_key(seed, stream), number, Z)
    if safe is not None:  # half of the wide ones lie around it
        tune.candidates(safe, stream_key(seed, stream), number, kept)
        Z[:, 50:100] = kept[:, 50:100]
    return Z.T[: 2 * quadratic_tuner.EACH + 1].copy()


def normals(seed: int, number: int, dim: int) -> np.ndarray:
    """The first normal numbers of a decision, read off the wide candidates around the middle."""
    return candidates(seed, DIRECTION, number, np.zeros(max(dim, 1)))[:dim, 0] / 0.3


def follow(judge: reference_tune.Quadratic, tuner: QuadraticTuner, loss: Any, rounds: int, width: float = 1e-9) -> None:
    """Let both play the same rounds; every point must be the same."""
    low, high = tuner.space.low, tuner.space.high
    rng, safe = np.random.default_rng(judge.dim), None if judge.safe is None else judge.safe[0]
    for t in range(1, rounds + 1):
        c = np.round(rng.normal(size=judge.columns), 3) if t > 3 else np.zeros(judge.columns)
        decision, center = tuner.ask(c) if judge.columns else tuner.ask(), judge.center(c)
        z = 2 * (decision.action - low) / (high - low) - 1
        drawn = candidates(4, DIRECTION, t, center, safe)
        np.testing.assert_allclose(z, judge.choose(drawn, c, normals(4, t, judge.dim)), atol=width)
        np.testing.assert_allclose(decision.greedy, low + (high - low) * (center + 1) / 2, atol=4 * width)
        found = float(loss(z, c, t, rng))
        tuner.tell(decision, found)
        judge.learn(z, found, candidates(4, COIN, t, judge.best, safe), c)


def noisy(z: np.ndarray, c: np.ndarray, t: int, rng: Any) -> float:
    return float(((z - 0.3) ** 2).sum() + 0.1 * rng.normal()) * (50.0 if t in (15, 20, 21) else 1.0)


@pytest.mark.parametrize("forgetting", [0.998, 0.9, 1.0])
@pytest.mark.parametrize("dim", [1, 3, 5, 6, 12])
def test_it_is_the_formulas(dim: int, forgetting: float) -> None:
    rng = np.random.default_rng(dim)
    space = Box(low=-rng.random(dim), high=1 + rng.random(dim))
    tuner = QuadraticTuner(space=space, forgetting=forgetting, width=1.5, settle=False, seed=4)
    judge = reference_tune.Quadratic(dim, 1.5, forgetting)
    follow(judge, tuner, noisy, 30 if dim < 6 else 22)
    found, (mean, width) = tuner.best(), judge.expect()
    assert found.loss == pytest.approx(mean, abs=1e-8)
    assert found.high - found.low == pytest.approx(2 * width, abs=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_it_settles_by_the_formulas(dim: int) -> None:
    tuner = QuadraticTuner(space=Box(low=np.zeros(dim), high=np.ones(dim)), seed=4)
    judge = reference_tune.Quadratic(dim, 1.0, 0.998, settle=True)
    follow(judge, tuner, lambda z, c, t, rng: ((z - 0.3) ** 2).sum() + 0.2 * (z[0] - 0.3) ** 4, 60, width=1e-5)
    assert judge.radius > 0
    assert tuner._surfaces[0].more[1] == pytest.approx(judge.radius, rel=1e-3)


@pytest.mark.parametrize(("dim", "columns"), [(1, 2), (2, 10), (3, 4)])
def test_a_context_by_the_formulas(dim: int, columns: int) -> None:
    tuner = QuadraticTuner(space=Box(low=np.zeros(dim), high=np.ones(dim)), dim=columns, seed=4)
    judge = reference_tune.Quadratic(dim, 1.0, 0.9995, columns)
    follow(judge, tuner, lambda z, c, t, rng: ((z - 0.3 * c[0]) ** 2).sum() + c[-1] + 0.1 * rng.normal(), 30, 1e-6)


@pytest.mark.parametrize("columns", [0, 2])
def test_a_safe_setting_by_the_formulas(columns: int) -> None:
    safe = {"knobs": [0.7, 0.6], "margin": 0.05}
    tuner = QuadraticTuner(space=Box(low=[0.0, 0.0], high=[1.0, 1.0]), dim=columns, safe=safe, forgetting=0.99, seed=4)
    judge = reference_tune.Quadratic(2, 1.0, 0.99, columns, safe=(np.array([0.4, 0.2]), 0.05))
    follow(judge, tuner, lambda z, c, t, rng: ((z + 0.3) ** 2).sum() + 0.02 * rng.normal(), 40, 1e-6)


def test_the_best_point_is_safe_in_every_context() -> None:
    safe = {"knobs": [0.7, 0.6], "margin": 0.05}
    tuner = QuadraticTuner(space=Box(low=[0.0, 0.0], high=[1.0, 1.0]), dim=2, safe=safe, forgetting=0.99, seed=4)
    judge = reference_tune.Quadratic(2, 1.0, 0.99, 2, safe=(np.array([0.4, 0.2]), 0.05))
    follow(judge, tuner, lambda z, c, t, rng: ((z + 0.3) ** 2).sum() + 0.02 * rng.normal(), 60, 1e-6)
    kept, moved, rng = 0, 0, np.random.default_rng(1)
    for c in [np.zeros(2), *rng.normal(size=(40, 2)), *(20 * rng.normal(size=(20, 2)))]:
        found, center = tuner.best(c), judge.center(c)
        z = center if judge.allowed(center[None], c).all() else np.array([0.4, 0.2])
        mean, deviation = (float(each[0]) for each in judge.moments(z[None], c))
        np.testing.assert_allclose(2 * found.point - 1, z, atol=1e-6)
        low, spread = judge.scale
        assert found.loss == pytest.approx(low + (mean - 0.4) / 0.4 * spread, abs=1e-5)
        assert found.high - found.low == pytest.approx(2 * 1.96 * deviation / 0.4 * spread, abs=1e-5)
        kept, moved = kept + (z is not center), moved + (z is center)
    assert kept > 5, "some contexts name a corner that nobody tried"
    assert moved > 0, "and in some the surface knows enough"


def regret(multiplier: float, offset: float, seed: int = 0, rounds: int = 400) -> float:
    tuner, rng, total = QuadraticTuner(space=Box(low=LOW, high=HIGH), seed=seed), np.random.default_rng(seed), 0.0
    target = np.array([0.3, 0.4, 18.0])
    for _ in range(rounds):
        decision = tuner.ask()
        cost = float((((decision.action - target) / (np.array(HIGH) - LOW)) ** 2).sum())
        total += cost
        tuner.tell(decision, multiplier * (cost + 0.1 * rng.normal()) + offset)
    return total / rounds


def test_units_and_offsets_do_not_matter() -> None:
    plain = regret(1.0, 0.0)
    assert plain < 0.04
    assert regret(0.001, 0.0) == pytest.approx(plain, rel=0.05)
    assert regret(1.0, 1000.0) == pytest.approx(plain, rel=0.05)
    assert regret(1e6, -1e7) == pytest.approx(plain, rel=0.05)


def test_one_absurd_loss_is_survived() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    for t in range(600):
        decision = tuner.ask()
        tuner.tell(decision, 1e6 if t == 50 else float((decision.action[0] - 0.3) ** 2))
    assert abs(tuner.weights[0] - 0.3) < 0.1


def test_losses_that_are_all_the_same_at_first() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    for t in range(400):
        decision = tuner.ask()
        tuner.tell(decision, 7.0 if t < 12 else 7.0 + float((decision.action[0] - 0.8) ** 2))
    assert abs(tuner.weights[0] - 0.8) < 0.2, "the first twelve still count"


def test_every_point_lies_in_the_space() -> None:
    tuner = QuadraticTuner(space=Box(low=LOW, high=HIGH))
    for _ in range(200):
        decision = tuner.ask()
        assert (decision.action >= LOW).all()
        assert (decision.action <= HIGH).all()
        tuner.tell(decision, float(decision.action.sum()))
    assert tuner.best().point[1] < -0.9


def test_knobs_speak_in_their_own_units() -> None:
    space = Knobs({"threads": knobs.Integer(1, 64), "wait": knobs.Log(0.01, 10), "ratio": (0, 1)})
    tuner, rng = QuadraticTuner(space=space), np.random.default_rng(0)
    for _ in range(400):
        decision = tuner.ask()
        assert isinstance(decision.action["threads"], int)
        assert 0.01 <= decision.action["wait"] <= 10
        cost = (decision.action["threads"] / 64 - 0.25) ** 2 + (np.log10(decision.action["wait"]) + 1) ** 2 / 9
        tuner.tell(decision, 100 + float(cost + (decision.action["ratio"] - 0.9) ** 2 + 0.02 * rng.normal()))
    best = tuner.best()
    assert abs(best.point["threads"] - 16) < 8
    assert 0.03 < best.point["wait"] < 0.3
    assert best.point["ratio"] > 0.75
    assert best.low <= best.loss <= best.high
    assert best.loss == pytest.approx(100, abs=0.1)
    np.testing.assert_allclose(tuner.weights, list(best.point.values()))


@pytest.mark.parametrize(
    ("space", "says"),
    [(Ball(dim=2), "Box"), (Box(low=[0.0] * 65, high=1.0), "at most 64"), ("box", "space"), (None, "space")],
)
def test_other_spaces_are_refused(space: Any, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        QuadraticTuner(space=space)


@pytest.mark.parametrize(
    "bad", [{"width": -1.0}, {"forgetting": 0.0}, {"forgetting": 1.1}, {"width": "wide"}, {"dim": 21}, {"settle": 1}]
)
def test_bad_settings_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        QuadraticTuner(space=Box(low=0.0, high=1.0), **bad)


def test_losses_and_points_beyond_use_are_refused() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0))
    decision = tuner.ask()
    with pytest.raises(InvalidFeedback, match="at most"):
        tuner.tell(decision, 1e200)
    import msgspec

    with pytest.raises(DecisionMismatch, match="outside"):
        tuner.tell(msgspec.structs.replace(decision, action=np.array([3.0])), 1.0)
    with pytest.raises(DecisionMismatch, match="hold its point"):
        tuner.tell(msgspec.structs.replace(decision, action="there"), 1.0)
    tuner.tell(decision, 1.0)


@pytest.mark.parametrize(
    "safe",
    [
        {"knobs": [0.5]},
        {"knobs": [2.0], "margin": 0.1},
        {"knobs": [0.5, 0.5], "margin": 0.1},
        {"margin": 1.0},
        {"knobs": [0.5], "margin": -1.0},
        {"knobs": "there", "margin": 0.1},
        [0.5],
    ],
)
def test_a_safe_setting_that_is_none_is_refused(safe: Any) -> None:
    with pytest.raises(InvalidArgument, match="safe"):
        QuadraticTuner(space=Box(low=0.0, high=1.0), safe=safe)


def test_more_than_five_knobs_have_no_context() -> None:
    with pytest.raises(InvalidArgument, match="at most 5 with a context"):
        QuadraticTuner(space=Box(low=np.zeros(6), high=np.ones(6)), dim=2)


def test_without_noise_it_settles() -> None:
    tuner, target = QuadraticTuner(space=Box(low=np.zeros(8), high=np.ones(8))), np.linspace(0.2, 0.8, 8)
    losses = []
    for _ in range(1000):
        decision = tuner.ask()
        losses.append(float(((decision.action - target) ** 2).sum()))
        tuner.tell(decision, losses[-1])
    assert np.mean(losses[-100:]) < 1e-6


def test_a_context_moves_the_best_point() -> None:
    tuner, rng, late = QuadraticTuner(space=Knobs({"price": (0, 10)}), dim=2), np.random.default_rng(0), []
    for t in range(600):
        c = rng.normal(size=2)
        decision = tuner.ask(c)
        regret = (decision.action["price"] / 10 - 0.5 - 0.15 * c[0]) ** 2
        late += [regret] * (t >= 500)
        tuner.tell(decision, float(regret + c[1] + 0.05 * rng.normal()))
    assert np.mean(late) < 0.4 * 0.15**2, "the best fixed price pays .0225"
    rich, poor = tuner.best(np.array([1.0, 0.0])), tuner.best(np.array([-1.0, 0.0]))
    assert rich.point["price"] > poor.point["price"] + 1.5
    assert tuner.predict(np.array([1.0, 0.0])) == rich.point
    with pytest.raises(InvalidFeatures, match="2"):
        tuner.ask(np.zeros(3))


def test_a_category_has_a_surface_for_each_value() -> None:
    space = Knobs({"mode": knobs.Category("bulk", "stream", "lazy"), "size": (0, 1)})
    tuner, rng = QuadraticTuner(space=space), np.random.default_rng(1)
    best, shown = {"bulk": (0.2, 0.3), "stream": (0.8, 0.0), "lazy": (0.5, 0.6)}, []
    for _ in range(400):
        decision = tuner.ask()
        place, least = best[decision.action["mode"]]
        shown.append(decision.action["mode"])
        tuner.tell(decision, float(least + (decision.action["size"] - place) ** 2 + 0.1 * rng.normal()))
    assert shown[200:].count("stream") > 180
    found = tuner.best()
    assert found.point["mode"] == "stream"
    assert abs(found.point["size"] - 0.8) < 0.15
    assert tuner.weights.shape == (1,)
    tuner.teach({"mode": "lazy", "size": 0.5}, -5.0)
    assert tuner.best().point["mode"] == "lazy"
    with pytest.raises(InvalidArgument, match="one of bulk, stream, lazy"):
        tuner.teach({"mode": "slow", "size": 0.5}, 1.0)


def test_a_safe_setting_keeps_losses_low() -> None:
    def unsafe(safe: Any) -> int:
        tuner, rng, count = (
            QuadraticTuner(space=Knobs({"a": (0, 1), "b": (0, 1)}), safe=safe),
            np.random.default_rng(2),
            0,
        )
        for _ in range(300):
            decision = tuner.ask()
            loss = 2 * (decision.action["a"] - 0.3) ** 2 + 2 * (decision.action["b"] - 0.2) ** 2
            count += loss > 0.31 + 0.05
            tuner.tell(decision, float(loss + 0.05 * rng.normal()))
        assert abs(tuner.best().point["a"] - 0.3) < 0.2
        return count

    near = {"knobs": {"a": 0.6, "b": 0.46}, "margin": 0.05}
    assert unsafe(near) <= 0.34 * unsafe(None)


def test_examples_with_a_context() -> None:
    tuner = QuadraticTuner(space=Box(low=0.0, high=1.0), dim=1)
    rng = np.random.default_rng(3)
    for _ in range(200):
        c, x = rng.normal(size=1), rng.random(1)
        tuner.teach(c, (x, float((x[0] - 0.5 - 0.2 * c[0]) ** 2)))
    assert abs(tuner.predict(np.ones(1))[0] - 0.7) < 0.1
    assert abs(tuner.predict(-np.ones(1))[0] - 0.3) < 0.1


def test_records_as_a_context(tmp_path: Path) -> None:
    space = Knobs({"price": (0, 10)})
    tuner = smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=20, constant=False),
        learner=smidgen.recommended(loop="tune", space=space, dim=20),
    )
    rng, waiting = np.random.default_rng(5), []
    for t in range(600):
        customer = {"plan": ["free", "team"][int(rng.integers(2))], "seats": float(rng.integers(1, 40))}
        decision = tuner.ask(customer)
        best = (3.0 if customer["plan"] == "free" else 7.0) + 0.05 * (customer["seats"] - 20)
        waiting.append((decision, float(((decision.action["price"] - best) / 10) ** 2 + 0.02 * rng.normal())))
        if t % 5 == 4:  # late, and in another order
            for made, loss in reversed(waiting):
                tuner.tell(smidgen.Decision.from_json(made.to_json()), loss)
            waiting.clear()
    small, large = ({"plan": plan, "seats": 20.0} for plan in ("free", "team"))
    assert abs(tuner.best(small).point["price"] - 3.0) < 1.0
    assert abs(tuner.predict(large)["price"] - 7.0) < 1.0
    tuner.save(tmp_path / "tuner.smidgen")
    again = smidgen.load(tmp_path / "tuner.smidgen")
    assert again.ask(large).action == tuner.ask(large).action
    assert tuner.ask().action["price"] == again.ask({}).action["price"]
    tuner.teach(small, ({"price": 3.0}, 0.0))
    with pytest.raises(NoWeights, match="best"):
        tuner.weights_by_name()
    with pytest.raises(NoWeights, match="best"):
        tuner.explain(decision)
    with pytest.raises(InvalidArgument, match="best point"):
        smidgen.Pipeline(features=smidgen.Vectorizer(dim=8), learner=smidgen.RidgeFil(dim=8)).best()
