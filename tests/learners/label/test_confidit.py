"""Confidit against Figure 1 in plain numpy, and the laws of its states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_label
import smidgen
from smidgen import Confidit
from smidgen.errors import InvalidArgument, InvalidFeedback, NoWeights
from smidgen.randomness import COIN, uniforms

DIM, K = 5, 4

VARIANTS: list[dict[str, Any]] = [
    {"covariance": "diagonal", "update": "residual", "eta": 0.7, "project": False},
    {"covariance": "diagonal", "update": "printed", "eta": 0.7, "project": False},
    {"covariance": "diagonal", "update": "residual", "eta": 0.7, "project": True},
    {"covariance": "diagonal", "update": "residual", "eta": "theory", "project": False},
    {"covariance": "full", "update": "residual", "eta": 0.7, "project": False},
    {"covariance": "full", "update": "residual", "eta": "theory", "project": False},
    {"covariance": "full", "update": "residual", "eta": 0.7, "project": True},
    {"covariance": "full", "update": "residual", "eta": "theory", "project": True},
]


def ids(variant: dict[str, Any]) -> str:
    return "-".join(str(value) for value in variant.values())


def stream(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, DIM)) * (rng.random((n, DIM)) < 0.8)
    return X, rng.integers(K, size=n)


def unit(x: np.ndarray) -> np.ndarray:
    return x / max(np.linalg.norm(x), 1e-300)


@pytest.mark.parametrize("variant", VARIANTS, ids=ids)
@pytest.mark.parametrize("alpha", [1.0, 0.3, -0.2])
def test_it_is_figure_1(variant: dict[str, Any], alpha: float) -> None:
    settings = {
        name: value for name, value in variant.items() if name != "update" or variant["covariance"] == "diagonal"
    }
    learner = Confidit(dim=DIM, n_classes=K, alpha=alpha, **settings)
    judge = reference_label.Confidit(DIM, K, alpha, **variant)
    X, y = stream(1, 80)
    signs = []
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        action, greedy, means, eps = judge.choose(unit(x), uniforms(0, decision.number, 2, stream=COIN)[1])
        assert (decision.action, decision.greedy) == (action, greedy)
        assert decision.explored == (action != greedy)
        np.testing.assert_allclose(decision.scores, means, atol=1e-9)
        np.testing.assert_allclose(decision.widths, eps, rtol=1e-9, atol=1e-12)
        before = learner.weights
        learner.learn(decision, bool(action == true))
        sign = 1.0 if action == true else sign_of(learner, before, unit(x), action, variant)
        signs.append(sign if action != true else 0.0)
        judge.learn(unit(x), action, sign)
        np.testing.assert_allclose(learner.weights, judge.w, atol=1e-8)
    assert learner.log_determinant == pytest.approx(judge.log_determinant(), rel=1e-9)
    if alpha == 1.0:
        assert 1.0 not in signs, "α = 1 is deterministic: a wrong label is always demoted"
    else:
        assert {1.0, -1.0} <= set(signs)


def sign_of(learner: Confidit, before: np.ndarray, x: np.ndarray, action: int, variant: dict[str, Any]) -> float:
    """The sign that a wrong round drew: a function of seed and number, so ask the learner's own generator."""
    u = uniforms(0, learner.rounds, 1, stream=COIN)[0]
    return -1.0 if learner.params["alpha"] == 1.0 or u < (1 + learner.params["alpha"]) / 2 else 1.0


def test_the_share_of_demotions_is_one_plus_alpha_half() -> None:
    learner = Confidit(dim=2, n_classes=2, alpha=0.2)
    demoted = 0
    for _ in range(2000):
        fresh = learner.decide(np.array([1.0, 0.0]))
        before = learner.weights[fresh.action, 0]
        learner.learn(fresh, False)
        demoted += learner.weights[fresh.action, 0] < before
    assert demoted / 2000 == pytest.approx(0.6, abs=0.04)


@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(-0.9, 1.0))
def test_the_projection_is_feasible_idempotent_and_the_judges(seed: int, n: int, alpha: float) -> None:
    from smidgen.geometry import project_classes

    rng = np.random.default_rng(seed)
    means, widths = rng.normal(size=n) * 2, rng.exponential(size=n) + 0.01
    shifts = project_classes(means, widths, alpha)
    projected = means + shifts * widths
    np.testing.assert_allclose(shifts, reference_label.class_shifts(means, widths, alpha), atol=1e-6)
    assert projected.sum() == pytest.approx(1 + alpha - n * alpha, abs=1e-9)
    assert (projected >= -alpha - 1e-9).all()
    np.testing.assert_allclose(project_classes(projected, widths, alpha), 0.0, atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_projection_equals_a_generic_solvers_answer(seed: int) -> None:
    from scipy.optimize import minimize

    from smidgen.geometry import project_classes

    rng = np.random.default_rng(seed)
    d, classes, alpha = 3, 3, float(rng.uniform(-0.3, 1.0))
    x = rng.normal(size=d)
    x /= np.linalg.norm(x)
    W = rng.normal(size=(classes, d))
    A = [np.eye(d) + (G := rng.normal(size=(d, d))) @ G.T for _ in range(classes)]

    def cost(flat: np.ndarray) -> float:
        U = flat.reshape(classes, d)
        return sum((u - w) @ M @ (u - w) for u, w, M in zip(U, W, A, strict=True))

    solved = minimize(
        cost,
        np.zeros(classes * d),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
        constraints=[
            {"type": "eq", "fun": lambda f: (f.reshape(classes, d) @ x).sum() - (1 + alpha - classes * alpha)},
            {"type": "ineq", "fun": lambda f: f.reshape(classes, d) @ x + alpha},
        ],
    )
    widths = np.array([x @ np.linalg.solve(M, x) for M in A])
    shifts = project_classes(W @ x, widths, alpha)
    ours = np.array([w + c * np.linalg.solve(M, x) for w, c, M in zip(W, shifts, A, strict=True)])
    np.testing.assert_allclose(ours, solved.x.reshape(classes, d), atol=1e-4)
    assert cost(ours.ravel()) <= solved.fun + 1e-6


@pytest.mark.parametrize("project", [False, True])
def test_the_linear_kernel_equals_full(project: bool) -> None:
    settings: dict[str, Any] = {"dim": DIM, "n_classes": K, "eta": 0.5, "alpha": 0.4, "project": project}
    full = Confidit(covariance="full", **settings)
    dual = Confidit(covariance="kernel", kernel="linear", **settings)
    X, y = stream(2, 60)
    for x, true in zip(X, y, strict=True):
        a, b = full.decide(x), dual.decide(x)
        assert (a.action, a.greedy) == (b.action, b.greedy)
        np.testing.assert_allclose(a.scores, b.scores, atol=1e-8)
        np.testing.assert_allclose(a.widths, b.widths, atol=1e-7)
        right = bool(a.action == true)
        full.learn(a, right)
        dual.learn(b, right)
    points, coefficients = dual.support
    np.testing.assert_allclose(coefficients @ points, full.weights, atol=1e-8)
    assert full.log_determinant == pytest.approx(dual.log_determinant, rel=1e-8)


@pytest.mark.parametrize("project", [False, True])
def test_diagonal_equals_full_on_one_hot_inputs(project: bool) -> None:
    settings: dict[str, Any] = {"dim": DIM, "n_classes": K, "eta": 0.5, "project": project, "normalize": False}
    full, diagonal = Confidit(covariance="full", **settings), Confidit(covariance="diagonal", **settings)
    rng = np.random.default_rng(3)
    for _ in range(80):
        x = np.eye(DIM)[rng.integers(DIM)] * rng.uniform(0.5, 2.0)
        a, b = full.decide(x), diagonal.decide(x)
        assert a.action == b.action
        right = bool(rng.random() < 0.4)
        full.learn(a, right)
        diagonal.learn(b, right)
    np.testing.assert_allclose(full.weights, diagonal.weights, atol=1e-9)


def test_the_inverse_is_the_inverse_of_a() -> None:
    learner = Confidit(dim=DIM, n_classes=K, covariance="full", alpha=0.5)
    A = np.array([(1.5**2) * np.eye(DIM) for _ in range(K)])
    X, y = stream(4, 300)
    for x, true in zip(X, y, strict=True):
        decision = learner.decide(x)
        learner.learn(decision, bool(decision.action == true))
        A[decision.action] += np.outer(unit(x), unit(x))
    for c in range(K):
        np.testing.assert_allclose(A[c] @ learner._state_of.inverses(K)[c], np.eye(DIM), atol=1e-9)


def test_a_kernel_learns_what_no_linear_learner_can() -> None:
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)  # exclusive or
    errors = {
        name: Confidit(dim=2, n_classes=2, eta=0.2, normalize=False, **settings).run(X, y).greedy_mistakes[-150:].mean()
        for name, settings in {
            "linear": {"covariance": "full"},
            "rbf": {"covariance": "kernel", "kernel": "rbf", "kernel_params": {"gamma": 4.0}},
        }.items()
    }
    assert errors["rbf"] < 0.12
    assert errors["linear"] > 0.3


def test_modified_confidit_widens_by_the_approximation_error() -> None:
    x = np.ones(DIM)
    plain = Confidit(dim=DIM, n_classes=K, eta="theory")
    for q in (0.5, [0.5], [0.5, 0.5, 0.5]):
        modified = Confidit(dim=DIM, n_classes=K, eta="theory", approximation=q)
        twin = Confidit(dim=DIM, n_classes=K, eta="theory")
        for _ in range(3):
            modified.learn(modified.decide(x), True)
            twin.learn(twin.decide(x), True)
        a, b = modified.decide(x), twin.decide(x)
        factor = (a.widths[0] ** 2 - b.widths[0] ** 2) / (b.widths[0] ** 2 / theory_factor(twin))
        assert factor == pytest.approx(2 * 4 * 3 * 0.5), "2(1+α)²·Σq"
    assert plain.decide(x).widths[0] > 0


def theory_factor(learner: Confidit) -> float:
    memory = learner._memory
    return float(2 * 4 * (0.5 + 0.5 * memory[1] + 9 * np.log((memory[0] + 5) / 0.05)))


def test_versions_are_table_2() -> None:
    table = {n: Confidit.version(n, dim=3, n_classes=2).params for n in range(1, 6)}
    rows = {n: (p["project"], p["eta"] == "theory", p["covariance"]) for n, p in table.items()}
    assert rows == {
        1: (True, True, "full"),
        2: (False, False, "full"),
        3: (False, True, "full"),
        4: (True, False, "full"),
        5: (False, False, "diagonal"),
    }
    assert Confidit.version(2, dim=3, n_classes=2, eta=0.01).params["eta"] == 0.01
    with pytest.raises(InvalidArgument, match="sets eta itself"):
        Confidit.version(1, dim=3, n_classes=2, eta=0.01)
    with pytest.raises(InvalidArgument, match="Table 2"):
        Confidit.version(6, dim=3, n_classes=2)


def test_a_kernel_learner_names_what_to_look_at_and_is_saved_by_name(tmp_path: Path) -> None:
    learner = Confidit(dim=2, n_classes=2, covariance="kernel", kernel=lambda X, Z: X @ Z.T)
    learner.learn(learner.decide(np.ones(2)), True)
    with pytest.raises(NoWeights, match="support"):
        _ = learner.weights
    with pytest.raises(smidgen.errors.NotSaveable, match="register_kernel"):
        learner.save(tmp_path / "learner")
    with pytest.raises(NoWeights, match="weights"):
        _ = Confidit(dim=2, n_classes=2).support


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": 1.1}, "alpha"),
        ({"eta": -1.0}, "eta"),
        ({"eta": "practice"}, "eta"),
        ({"eta": "theory", "delta": 0.0}, "delta"),
        ({"eta": "theory", "norm_bound": -1.0}, "norm_bound"),
        ({"approximation": 0.1}, "theory"),
        ({"eta": "theory", "approximation": [-0.1]}, "approximation"),
        ({"covariance": "banded"}, "covariance"),
        ({"update": "half"}, "update"),
        ({"covariance": "full", "update": "printed"}, "diagonal"),
        ({"kernel": "rbf"}, "covariance='kernel'"),
        ({"covariance": "kernel", "kernel": "unheard-of"}, "kernel"),
        ({"covariance": "kernel", "dtype": "float32"}, "float64"),
        ({"dtype": "float16"}, "dtype"),
        ({"project": 1}, "project"),
        ({"n_classes": 1}, "n_classes"),
        ({"n_classes": None}, "n_classes"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Confidit(**{"dim": 3, "n_classes": 2, **settings})


def states_equal(one: Confidit, other: Confidit) -> bool:
    mine, theirs = one._state(), other._state()
    return all(np.array_equal(mine[name], theirs[name]) for name in mine)


@pytest.mark.parametrize("variant", VARIANTS[:5:2], ids=ids)
def test_moments_of_the_latest_decision_are_used_again_only_while_they_hold(variant: dict[str, Any]) -> None:
    """A learner that is given its decisions back, and one that is given copies, which must be computed again."""
    settings = {
        name: value for name, value in variant.items() if name != "update" or variant["covariance"] == "diagonal"
    }
    learner, judge = (Confidit(dim=DIM, labels=list("abcd"), alpha=0.4, **settings) for _ in range(2))
    X, y = stream(3, 40)

    def both(action: str, i: int) -> None:
        decisions.append((learner.decide(X[i]), smidgen.Decision.from_json(judge.decide(X[i]).to_json())))
        for given_back in action:
            mine, copy = decisions.pop(0 if given_back == "f" else -1)
            learner.learn(mine, mine.action == "abcd"[y[i]])
            judge.learn(copy, copy.action == "abcd"[y[i]])

    decisions: list[tuple[smidgen.Decision, smidgen.Decision]] = []
    for i, action in enumerate(["l", "l", "", "l", "f", "", "", "lf", "l", "f"]):
        both(action, i)
        assert states_equal(learner, judge), action
    both("", 10)
    for one in (learner, judge):
        one.predict(X[11])
        one.run(X[12:20], [*"abcdabcd"])
    both("fl", 20)
    both("", 21)
    for one in (learner, judge):
        one.add_classes("e", "f")
    both("lf", 22)
    assert states_equal(learner, judge)


def test_a_decision_of_a_twin_with_the_same_number_is_another_one() -> None:
    learner, twin, judge = (Confidit(dim=DIM, n_classes=K) for _ in range(3))
    X, _ = stream(4, 3)
    learner.decide(X[0])
    learner.learn(twin.decide(X[1]), True)
    judge.learn(judge.decide(X[1]), True)
    assert states_equal(learner, judge)


def test_the_log_determinant_of_a_wide_learner_is_of_what_it_learnt() -> None:
    learner = Confidit(dim=1000, n_classes=3, alpha=0.3, dtype="float32")
    assert learner.log_determinant == 0.0
    x = np.zeros(1000)
    x[7] = 2.0
    learner.learn(learner.decide(x), True)
    assert learner.log_determinant == pytest.approx(np.log(1.0 + 1.0 / 1.3**2), rel=1e-6)


class TestRewards:
    """A number in [0, 1] in place of the bit."""

    @pytest.mark.parametrize("covariance", ["diagonal", "full", "kernel"])
    @pytest.mark.parametrize("alpha", [1.0, 0.4])
    def test_zero_and_one_are_the_bit(self, covariance: str, alpha: float) -> None:
        bits, rewards = (Confidit(dim=3, n_classes=3, alpha=alpha, covariance=covariance) for _ in range(2))
        rng = np.random.default_rng(0)
        for x in rng.normal(size=(40, 3)):
            right = bool(rng.random() < 0.4)
            d = bits.decide(x)
            assert d == rewards.decide(x)
            bits.learn(d, right)
            rewards.learn(d, [0.0, 1.0][right] if rng.random() < 0.5 else int(right))
        assert bits.to_bytes() == rewards.to_bytes()

    @pytest.mark.parametrize("covariance", ["diagonal", "full"])
    def test_between_them_the_step_goes_to_its_mean(self, covariance: str) -> None:
        learner = Confidit(dim=2, n_classes=2, alpha=0.5, covariance=covariance, normalize=False)
        x, r = np.array([2.0, 0.0]), 0.3
        d = learner.decide(x)
        learner.learn(d, r)
        s = 1.5 * r - 0.5
        np.testing.assert_allclose(learner.weights[d.action], s * x / (1.5**2 + x @ x))

    @pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan"), "1", None, [1.0], 2])
    def test_others_are_refused(self, bad: object) -> None:
        learner = Confidit(dim=2, n_classes=2)
        d = learner.decide(np.ones(2))
        with pytest.raises(InvalidFeedback, match=r"reward in \[0, 1\]"):
            learner.learn(d, bad)
        assert not learner.weights.any()
