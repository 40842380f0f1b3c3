"""The label model of eq. 2, and learners on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smidgen import Confidit, bounds
from smidgen.data import label_stream
from smidgen.errors import SmidgenError


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(2, 6), st.floats(-0.9, 1.0), st.floats(0.1, 1.0))
def test_the_model_is_well_defined(seed: int, dim: int, K: int, alpha: float, strength: float) -> None:
    stream = label_stream(rounds=50, dim=dim, n_classes=K, alpha=alpha, strength=strength, seed=seed)
    scores = stream.X @ stream.U.T
    np.testing.assert_allclose(np.linalg.norm(stream.X, axis=1), 1.0)
    np.testing.assert_allclose(scores.sum(axis=1), 1 + alpha - K * alpha, atol=1e-9)
    assert (scores >= -alpha - 1e-9).all()
    assert set(stream.y) <= set(range(K))


def test_labels_come_with_their_probabilities() -> None:
    stream = label_stream(rounds=30_000, dim=4, n_classes=3, seed=1)
    for c in range(3):
        assert (stream.y == c).mean() == pytest.approx(stream.probabilities[:, c].mean(), abs=0.01)
    hit = (stream.y == stream.bayes).mean()
    assert hit == pytest.approx(stream.probabilities.max(axis=1).mean(), abs=0.01)
    assert stream.regret(stream.bayes)[-1] == 0.0


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_regret_stays_below_theorem_1(alpha: float) -> None:
    stream = label_stream(rounds=3000, dim=5, n_classes=3, alpha=alpha, seed=2)
    norm = float(np.linalg.norm(stream.U))
    learner = Confidit.version(1, dim=5, n_classes=3, alpha=alpha, norm_bound=norm, delta=0.05)
    regret = stream.regret(learner.run(stream.X, stream.y).actions)
    T = np.arange(1, 3001)
    settings = {"alpha": alpha, "norm_bound": norm, "delta": 0.05}
    B3 = bounds.determinant_bound(T=T, dim=5, n_classes=3, alpha=alpha)
    assert learner.log_determinant <= B3[-1]
    assert (regret <= bounds.confidit(T=T, log_determinant=B3, **settings)).all()
    assert regret[-1] <= bounds.confidit(T=3000, log_determinant=learner.log_determinant, **settings)


def test_regret_grows_sublinearly_and_that_of_guessing_does_not() -> None:
    slopes = []
    for seed in range(3):
        stream = label_stream(rounds=40_000, dim=5, n_classes=3, alpha=1.0, seed=seed)
        learned = stream.regret(
            Confidit(dim=5, n_classes=3, eta=0.3, covariance="full").run(stream.X, stream.y).actions
        )
        guessed = stream.regret(np.random.default_rng(seed).integers(3, size=40_000))
        slopes.append([np.log(r[-1] / r[2000]) / np.log(40_000 / 2001) for r in (learned, guessed)])
    learned_slope, guessed_slope = np.mean(slopes, axis=0)
    assert learned_slope < 0.7, "about T^(1/2) or less"
    assert guessed_slope == pytest.approx(1.0, abs=0.02)


def test_the_confidence_interval_covers_the_true_scores() -> None:
    """Lemma 6 in numbers: |w_i·x − u_i·x| ≤ ε_i for all rounds and classes, with eq. 9."""
    stream = label_stream(rounds=300, dim=5, n_classes=3, alpha=1.0, seed=3)
    norm = float(np.linalg.norm(stream.U))
    learner = Confidit.version(1, dim=5, n_classes=3, alpha=1.0, norm_bound=norm)
    for x, y in zip(stream.X, stream.y, strict=True):
        decision = learner.decide(x)
        assert (np.abs(decision.scores - stream.U @ x) <= decision.widths + 1e-9).all()
        learner.learn(decision, bool(decision.action == y))


def test_margin_bound_is_the_formula() -> None:
    value = bounds.confidit_margin(T=100, alpha=0.5, norm_bound=2.0, delta=0.1, log_determinant=7.0, margin=0.25)
    B1, B2 = 1.5 + 1 / 1.5, 4 + 18 * np.log(104 / 0.1)
    assert value == pytest.approx(4 / 0.25 * B1 * (B2 + 7) * 7)
    modified = bounds.confidit(T=100, alpha=0.5, norm_bound=2.0, delta=0.1, log_determinant=7.0, approximation=3.0)
    assert modified == pytest.approx(6 + 2 * np.sqrt((1 + 1.5**-2) * 100 * (B2 + 7 + 6) * 7))


@pytest.mark.parametrize(
    "bad", [{"alpha": -0.1}, {"delta": 0.0}, {"norm_bound": -1.0}, {"T": 0}], ids=lambda bad: next(iter(bad))
)
def test_bad_arguments_are_refused(bad: dict[str, float]) -> None:
    settings = {"T": 10, "alpha": 1.0, "norm_bound": 1.0, "delta": 0.1, "log_determinant": 1.0, **bad}
    with pytest.raises(SmidgenError):
        bounds.confidit(**settings)
