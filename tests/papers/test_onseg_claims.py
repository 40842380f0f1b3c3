"""The checks of the ONSEG paper's claims, on answers made up so that each must hold and must fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen_papers import onseg
from smidgen_papers.catalogue import claims, study
from smidgen_papers.claims import Finding
from smidgen_papers.outcome import Outcome
from smidgen_papers.part import Answer, Answers, Place, Run

HOLDS, FAILS, OPEN = "holds", "does not hold here", "cannot be tested here"
Make = Callable[[dict[str, Any]], dict[str, Any]]
_RNG = np.random.default_rng(0)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(place=Place(data=None, kept=tmp_path))


def _answers(run: Run, key: str, make: Make) -> Answers:
    return Answers(Answer(part.settings, make(dict(part.settings))) for part in study(key).plan(run))


def _verdict(run: Run, claim: str, make: Make) -> Finding:
    found = claims[f"onseg/{claim}"]
    finding = found.check(run, *(_answers(run, key, make) for key in found.needs))
    assert isinstance(finding, Finding)
    return finding


def _comparison(levels: dict[str, float]) -> Make:
    """F(X^T) by learner, β and δ; the most specific name counts."""

    def make(settings: dict[str, Any]) -> dict[str, Any]:
        if "learner" not in settings:
            fixed = {"best": 0.01, "centre": 1.0, "best_mistakes": 0.01, "centre_mistakes": 1.0}
            return {**fixed, "F": 1.0, "G": 1.0, "D": 10.0, "r": 5.0, "rows": 10, "dim": 3, "norm": 1.0}
        names = [f"{settings['learner']} {settings['beta']} {settings['reach']}", settings["learner"]]
        level = next(levels[name] for name in names if name in levels)
        values = np.abs(level + 0.001 * _RNG.normal(size=(settings["repeats"], 3)))
        series = dict.fromkeys(("losses", "base_losses", "mistakes", "base_mistakes", "projected"), values)
        outside = bool(levels.get("outside", 0.0))
        made = {"delta": 0.2, "gamma": 0.3, "beta": 1e-5, "outside": outside, "least_growth": 1.1, "most_growth": 2.5}
        return {"at": np.array([1, 2, 3]), **series, **made}

    return make


@pytest.mark.parametrize(
    ("claim", "better", "worse"),
    [
        ("regression-beats-ogdeg", "ONSEG", "OGDEG"),
        ("regression-theory-beta", "ONSEG theory theorem", "OGDEG"),
        ("regression-practical-beta", "ONSEG practical theorem", "OGDEG"),
        ("regression-second-order-helps", "ONS", "OGD"),
        ("regression-against-gradients", "ONSEG", "OGD"),
        ("classification-beats-ogdeg", "ONSEG", "OGDEG"),
        ("classification-beats-ogdeg-inside", "ONSEG printed fifth", "OGDEG  fifth"),
        ("classification-second-order-helps", "ONS", "OGD"),
        ("regression-newton-helps", "ONSEG", "frozen"),
        ("classification-newton-helps", "ONSEG", "frozen"),
        ("classification-against-gradients", "ONSEG", "OGD"),
    ],
)
def test_comparisons(claim: str, better: str, worse: str, run: Run) -> None:
    usual = dict.fromkeys(("OGD", "ONS", "OGDEG", "ONSEG", "frozen"), 0.5)
    holds = _verdict(run, claim, _comparison({**usual, better: 0.1, worse: 0.3}))
    fails = _verdict(run, claim, _comparison({**usual, better: 0.3, worse: 0.1}))
    even = _verdict(run, claim, _comparison(usual))
    assert holds.verdict == HOLDS
    assert "ahead on 6" in holds.reason
    assert fails.verdict == FAILS
    assert "behind on 6" in fails.reason
    assert even.verdict in (OPEN, FAILS)  # a tie is never a success
    assert even.verdict == OPEN or "95 %" in even.effect


def test_points_inside(run: Run) -> None:
    usual = dict.fromkeys(("OGD", "ONS", "OGDEG", "ONSEG", "frozen"), 0.5)
    assert _verdict(run, "points-stay-inside", _comparison(usual)).verdict == HOLDS
    assert _verdict(run, "points-stay-inside", _comparison({**usual, "outside": 1.0})).verdict == FAILS


def _tuned(better: float) -> Make:
    def make(settings: dict[str, Any]) -> dict[str, Any]:
        level = better if settings["learner"] == "ONSEG" else 0.2
        values = level + 0.001 * _RNG.normal(size=(settings["repeats"], 3))
        return {
            "at": np.array([1, 2, 3]),
            "losses": values,
            "grid": np.ones((5, 7)),
            "reach": 0.1,
            "factor": 1.0,
            "best": 0.1,
        }

    return make


def test_tuned(run: Run) -> None:
    assert _verdict(run, "tuned-beats-ogdeg", _tuned(0.1)).verdict == HOLDS
    assert _verdict(run, "tuned-beats-ogdeg", _tuned(0.3)).verdict == FAILS


def _regret(exponents: dict[str, float]) -> Make:
    def make(settings: dict[str, Any]) -> dict[str, Any]:
        T = 3000 * settings["epochs"]
        noise = np.exp(0.01 * _RNG.normal(size=settings["repeats"]))
        regret = T ** exponents.get(settings["form"], 0.9) * noise
        return {"T": T, "regret": regret, "dim": 8, "F": 4.0, "D": 2.0, "r": 1.0, "G": 6.0, "centre": 0.03}

    return make


def test_rates(run: Run) -> None:
    assert _verdict(run, "rate-below-ogdeg", _regret({"ONSEG": 0.6, "OGDEG": 0.8})).verdict == HOLDS
    assert _verdict(run, "rate-below-ogdeg", _regret({"ONSEG": 0.9, "OGDEG": 0.8})).verdict == FAILS
    for claim in ("rate-theorem-1", "rate-theorem-2"):  # what is measured does not mend a theorem
        finding = _verdict(run, claim, _regret({"ONSEG": 0.6, "ONSEG, Lipschitz": 0.4}))
        assert finding.verdict == FAILS
        assert "5d·log T/α" in finding.reason
    assert "in the printed bound 1.3" in _verdict(run, "rate-theorem-1", _regret({})).effect  # 4/3, but for logs
    assert "in the printed bound 1," in _verdict(run, "rate-theorem-2", _regret({})).effect
    assert _verdict(run, "bound-holds", _regret({})).verdict == HOLDS
    assert _verdict(run, "bound-holds", _regret({"ONSEG": 4.0})).verdict == FAILS


def _seconds(table: dict[str, float], power: dict[str, float]) -> Make:
    def make(settings: dict[str, Any]) -> dict[str, Any]:
        name = settings["learner"]
        best = table[name] * settings["dim"] ** power[name] * (3.0 if settings["far"] else 1.0)
        return {"nanoseconds": best * (1.0 + 0.001 * np.arange(settings["repeats"])), "projected": 0.5}

    return make


def test_times(run: Run) -> None:
    usual = {"OGD": 1.0, "ONS": 2.0, "OGDEG": 1.0, "ONSEG": 2.0}
    quick = _seconds({"OGD": 900.0, "ONS": 9.0, "OGDEG": 1.0, "ONSEG": 1.0}, usual)
    slow = _seconds({"OGD": 1.0, "ONS": 9.0, "OGDEG": 1.0, "ONSEG": 20.0}, usual)
    assert _verdict(run, "runs-faster-than-gradients", quick).verdict == HOLDS
    assert _verdict(run, "runs-faster-than-gradients", slow).verdict == FAILS
    assert _verdict(run, "cost-per-iteration", slow).verdict == HOLDS
    assert "3 times" in _verdict(run, "cost-per-iteration", slow).reason
    cubic = _seconds({"OGD": 1.0, "ONS": 1.0, "OGDEG": 1.0, "ONSEG": 1.0}, {**usual, "ONSEG": 3.0})
    assert _verdict(run, "cost-per-iteration", cubic).verdict == FAILS


def _constants(F: float, least: float) -> Make:
    def make(settings: dict[str, Any]) -> dict[str, Any]:
        dim = {"abalone": 7, "kin8nm": 8, "ionosphere": 33, "cancer": 9}[settings["table"]]
        bends = {"least_curvature": least, "most_curvature": 1e6}
        sizes = {"rows": 100, "dim": dim, "D": 2 * settings["radius"], "r": settings["radius"], "exp_concavity": 1.0}
        implied = {"abalone": 90.1, "kin8nm": 25.8, "ionosphere": 24.5, "cancer": 89.1}[settings["table"]]
        return {**bends, **sizes, "F": F * implied, "G": 1.0, "best": 0.1, "centre": 0.2}

    return make


def test_constants(run: Run) -> None:
    assert _verdict(run, "beta-by-algorithm-1", _constants(1.0, 0.0)).verdict == HOLDS  # the F that the β imply
    assert _verdict(run, "beta-by-algorithm-1", _constants(50.0, 0.0)).verdict == FAILS
    assert _verdict(run, "losses-are-nice", _constants(1.0, 0.0)).verdict == FAILS
    assert _verdict(run, "losses-are-nice", _constants(1.0, 0.5)).verdict == HOLDS


def _earned(onseg_: float, delta: float = 10.0) -> Make:
    def make(settings: dict[str, Any]) -> dict[str, Any]:
        n = settings["trials"]
        level = onseg_ if settings["choice"].startswith("ONSEG") else 0.1
        values = level + 0.01 * _RNG.normal(size=(n, 3))
        edges = {"uniform": np.full(n, 0.1), "best": np.full(n, 0.5), "delta": delta, "gamma": 0.5 * delta, "r": 1.0}
        return {"at": np.array([1, 2, 3]), "returns": values, **edges}

    return make


def test_portfolio(run: Run, tmp_path: Path) -> None:
    assert _verdict(run, "portfolio-beats-ogdeg", _earned(0.2)).verdict == HOLDS
    assert _verdict(run, "portfolio-beats-ogdeg", _earned(0.05)).verdict == FAILS
    assert _verdict(run, "portfolio-printed-returns", _earned(2.88)).verdict == OPEN
    assert _verdict(run, "portfolio-theorem-1", _earned(0.2)).verdict == FAILS
    assert _verdict(run, "portfolio-theorem-1", _earned(0.2, delta=0.1)).verdict == HOLDS
    assert "OGD ran on 100 trials" in _verdict(run, "portfolio-no-gradient", _earned(0.2)).effect
    (tmp_path / "stocks").mkdir()
    (tmp_path / "stocks" / "prices.csv").write_text("date,A\n2005-02-04,1\n")
    real = Run(place=Place(data=tmp_path, kept=tmp_path))
    assert _verdict(real, "portfolio-printed-returns", _earned(2.88)).verdict == HOLDS
    assert _verdict(real, "portfolio-printed-returns", _earned(0.3)).verdict == FAILS


USUAL = dict.fromkeys(("OGD", "ONS", "OGDEG", "ONSEG", "frozen"), 0.5)
SHOWN: list[tuple[str, Make, int, int]] = [
    ("onseg/fig1:abalone", _comparison(USUAL), 1, 2),
    ("onseg/fig2:cancer", _comparison({**USUAL, "outside": 1.0}), 2, 3),
    ("onseg/fig3:stocks", _earned(0.2), 2, 2),
    ("onseg/table2:constants", _constants(1.0, 0.0), 0, 2),
    ("onseg/tuned:cancer", _tuned(0.1), 1, 1),
    ("onseg/bound:kin8nm", _regret({}), 2, 1),
    ("onseg/time:made-up", _seconds(dict.fromkeys(USUAL, 1.0), dict.fromkeys(USUAL, 1.0)), 2, 1),
]


@pytest.mark.parametrize(("key", "make", "panels", "tables"), SHOWN, ids=[each[0] for each in SHOWN])
@pytest.mark.parametrize("quick", [True, False])
def test_what_is_shown(key: str, make: Make, panels: int, tables: int, quick: bool, tmp_path: Path) -> None:
    run = Run(place=Place(data=None, kept=tmp_path), quick=quick)
    outcome = study(key).gather(run, _answers(run, key, make))
    assert isinstance(outcome, Outcome)
    assert len(outcome.panels) == (panels if not (quick and key == "onseg/fig3:stocks") else 1)
    assert len(outcome.tables) == tables
    for table in outcome.tables:
        assert table.rows
        assert all(len(row) == len(table.columns) for row in table.rows)
    for panel in outcome.panels:
        assert "generated" in panel.title or key == "onseg/time:made-up"
        assert all(np.isfinite(curve.y).all() and len(curve.x) == len(curve.y) for curve in panel.curves)
    assert onseg.paper.PRINTED
