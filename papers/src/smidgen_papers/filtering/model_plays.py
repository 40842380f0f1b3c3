"""RIDGE-FIL and P-RIDGE-FIL on the model of Section 2: the work behind Theorem 3 and Lemma 2."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen import Ball
from smidgen.data.synthetic import FilterStream, filter_stream
from smidgen.learners.filter import AppleTasting, PRidgeFil, RidgeFil, RidgeFull
from smidgen_papers.outcome import checkpoints
from smidgen_papers.part import Place, Values


def _stream(items: int, dim: int, margin: float, seed: int, run: int) -> FilterStream:
    return filter_stream(
        rounds=items, dim=dim, margin=margin, seed=int(np.random.SeedSequence([seed, run]).generate_state(1)[0])
    )


def randomised(place: Place, *, dim: int, margin: float, horizons: list[int], runs: int, seed: int) -> Values:
    """P-RIDGE-FIL, started again for every horizon: regret by what it did and by the sign of its margin, mistakes.

    One row per run, one column per horizon.
    """
    found: dict[str, list[list[float]]] = {"regret": [], "by_margin": [], "mistakes": [], "best": []}
    for run in range(runs):
        stream = _stream(max(horizons), dim, margin, seed, run)
        rows: dict[str, list[float]] = {name: [] for name in found}
        for n in horizons:
            head = FilterStream(stream.X[:n], stream.y[:n], stream.u)
            history = PRidgeFil(dim=dim, horizon=n, seed=seed + run).run(head.X, head.y)
            rows["regret"].append(float(head.regret(history.actions)[-1]))
            rows["by_margin"].append(float(head.regret(history.greedy)[-1]))
            rows["mistakes"].append(float(history.mistakes.sum()))
            rows["best"].append(float((head.bayes != head.y).sum()))
        for name, row in rows.items():
            found[name].append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def modelled(
    place: Place, *, learner: str, settings: dict[str, Any], dim: int, margin: float, items: int, runs: int, seed: int
) -> Values:
    """A filter along one long stream of the model: cumulative regret, forwarded items."""
    at = np.array(checkpoints(items, 41)) - 1
    regret, forwarded, mistakes, best = [], [], [], []
    for run in range(runs):
        stream = _stream(items, dim, margin, seed, run)
        history = _made(learner, dim, settings, seed + run).run(stream.X, stream.y)
        regret.append(stream.regret(history.actions)[at])
        forwarded.append(np.cumsum(history.actions)[at])
        mistakes.append(float(history.mistakes.sum()))
        best.append(float((stream.bayes != stream.y).sum()))
    return {
        "items": at + 1,
        "regret": np.array(regret),
        "forwarded": np.array(forwarded),
        "mistakes": np.array(mistakes),
        "best": np.array(best),
    }


def _made(learner: str, dim: int, settings: dict[str, Any], seed: int) -> Any:
    if learner == "RIDGE-FULL":
        return RidgeFull(dim=dim, **settings)
    if learner == "STAP on RIDGE-FULL":
        return AppleTasting(learner=RidgeFull(dim=dim, **settings), seed=seed)
    return RidgeFil(dim=dim, **settings)


def lemma(place: Place, *, printed: bool, dim: int, margin: float, items: int, runs: int, seed: int) -> Values:
    """Lemma 2 at every update of P-RIDGE-FIL: the left side minus the right, and the regret.

    ``printed`` takes the step with A_k⁻¹ as Figure 2 has it, otherwise with A_{k+1}⁻¹. Both start from A = I: the
    printed A_{k+1} = S Sᵀ has no inverse.
    """
    excess, regret, longest = [], [], []
    for run in range(runs):
        stream = _stream(items, dim, margin, seed, run)
        coins = np.random.default_rng([seed, run, 7]).random(items)
        p = (1.0 + 1.0 / np.sqrt(items)) / (2.0 * np.sqrt(items))
        A, inverse, w, u = np.eye(dim), np.eye(dim), np.zeros(dim), stream.u
        actions, unit_ball = np.zeros(items, np.bool_), Ball(dim=dim)
        over, length = [], 0.0
        for t, x in enumerate(stream.X):
            product = inverse @ x
            guess, width = float(w @ x), float(x @ product)
            actions[t] = guess >= 0.0 or coins[t] < p
            if not actions[t]:
                continue
            y = 1.0 if stream.y[t] else -1.0
            step = y - guess if printed else (y - guess) / (1.0 + width)  # the old inverse goes that much further
            inverse -= np.outer(product, product) / (1.0 + width)
            free = w + step * product
            length = max(length, float(np.linalg.norm(free)))
            after = unit_ball.project_in_norm(free, inverse)
            larger = A + np.outer(x, x)
            left = 0.5 * (guess - y) ** 2 - 0.5 * (float(u @ x) - y) ** 2
            progress = 0.5 * (u - w) @ A @ (u - w) - 0.5 * (u - after) @ larger @ (u - after)
            over.append(left - 2.0 * np.log1p(width) - float(progress))
            A, w = larger, after
        excess.append(over)
        regret.append(float(stream.regret(actions)[-1]))
        longest.append(length)
    return {
        "worst": np.array([max(row) for row in excess]),
        "broken": np.array([float(np.mean(np.array(row) > 1e-9)) for row in excess]),
        "updates": np.array([len(row) for row in excess]),
        "regret": np.array(regret),
        "longest": np.array(longest),
    }


def expected_margin(place: Place, *, dim: int, examples: int, draws: int, seed: int) -> Values:
    """The mean of w·x by eq. 3 over many draws of the labels of fixed examples, and what the paper's formula says.

    Returns the differences in standard errors, one per item that is asked about.
    """
    rng = np.random.default_rng([seed, 11])
    stream = _stream(examples + 20, dim, 0.0, seed, 0)
    S, asked = stream.X[:examples], stream.X[examples:]
    inverse = np.linalg.inv(np.eye(dim) + S.T @ S)
    labels = np.where(rng.random((draws, examples)) < (1.0 + S @ stream.u) / 2.0, 1.0, -1.0)
    scores, formula = [], []
    for x in asked:
        weights = np.linalg.inv(np.eye(dim) + S.T @ S + np.outer(x, x)) @ S.T
        seen = labels @ (weights.T @ x)
        predicted = (stream.u @ x - stream.u @ inverse @ x) / (1.0 + x @ inverse @ x)
        scores.append(float((seen.mean() - predicted) / (seen.std(ddof=1) / np.sqrt(draws))))
        formula.append(float(predicted))
    return {"scores": np.array(scores), "formula": np.array(formula), "true": asked @ stream.u}


def kernelled(place: Place, *, dim: int, items: int, runs: int, seed: int) -> Values:
    """How many decisions of RIDGE-FIL differ between the linear kernel and the full matrix, run by run."""
    differ = []
    for run in range(runs):
        stream = _stream(items, dim, 0.1, seed, run)
        forms = ({"kernel": "linear"}, {"covariance": "full"})
        one, other = (_made("RIDGE-FIL", dim, form, seed).run(stream.X, stream.y).actions for form in forms)
        differ.append(int(np.sum(one != other)))
    return {"differ": np.array(differ)}


def drifting(place: Place, *, c: float, forgetting: float, dim: int, items: int, runs: int, seed: int) -> Values:
    """RIDGE-FIL on labels of a u that turns by half a circle over the stream: regret, share forwarded."""
    regret, forwarded = [], []
    for run in range(runs):
        rng = np.random.default_rng([seed, run, 13])
        X = rng.normal(size=(items, dim))
        X /= np.linalg.norm(X, axis=1)[:, None]
        plane, _ = np.linalg.qr(rng.normal(size=(dim, 2)))
        angle = np.pi * np.arange(items) / items
        margins = np.sum(X * (np.column_stack([np.cos(angle), np.sin(angle)]) @ plane.T), axis=1)
        relevant = rng.random(items) < (1.0 + margins) / 2.0
        history = RidgeFil(dim=dim, c=c, forgetting=forgetting).run(X, relevant)
        regret.append(float(np.abs(margins) @ (history.actions != (margins >= 0.0))))
        forwarded.append(float(history.actions.mean()))
    return {"regret": np.array(regret), "forwarded": np.array(forwarded)}
