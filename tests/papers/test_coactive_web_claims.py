"""Every claim about web search holds in a world like the paper's, and fails in a contrary one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smidgen.decision import FloatArray
from smidgen_papers import coactive, coactive2012
from smidgen_papers.catalogue import claims, figures, study
from smidgen_papers.coactive.series import Rows, plus_minus
from smidgen_papers.coactive.web_claims import approaches_zero
from smidgen_papers.coactive.web_play import points
from smidgen_papers.part import Answer, Answers, Place, Run
from smidgen_papers.runner import show
from smidgen_papers.store import Store

assert coactive.__doc__
assert coactive2012.__doc__  # importing them fills the catalogue
RUN = Run(Place(None, Path("/nowhere")))
Settings = dict[str, Any]


NUMBERS = {
    "alpha": 1.3,
    "level": 0.06,
    "fall": 0.5,
    "deep": 1.2,
    "batch": 0.25,
    "expected": 1.02,
    "svm": 1.05,
    "svm_noisy": 1.3,
    "bandit": 0.9,
    "early": 0.8,
    "late": 1.0,
    "fixed": 1.0,
    "second": 0.0,
    "curve": 3.0,
    "gamma": 0.0,
    "noisy_second": 1.0,
}


def paper(settings: Settings, t: FloatArray, **contrary: float) -> FloatArray:
    """Average regrets as the paper tells them; a random ranking's is 1. ``contrary`` sets a number otherwise."""
    number = NUMBERS | contrary
    learner, user = settings["learner"], settings["user"]
    noisy = "depth" in user
    first = 0.5 * t ** -number["fall"]
    regret = number["level"] + 0.05 * t**-0.5 if noisy else first
    if "strict" in user:
        regret = regret * number["alpha"] ** -np.log10(user["strict"])
    regret = regret * (number["deep"] if user.get("depth") == 25 else 1.0)
    regret = regret * (number["expected"] if "expected" in user else 1.0)
    name = learner["name"]
    if name.startswith("Batch"):
        regret = (number["level"] if noisy else 0.0) + 0.5 * learner["batch"] ** number["batch"] * t**-0.5
    if name == "RankingSVM":
        regret = regret * number["svm_noisy" if noisy else "svm"]
    if name == "DuelingBandit":
        regret = np.full(len(t), number["bandit"]) * t**-0.01
    if name.startswith("Expo"):
        early = number["late"] + (number["early"] - number["late"]) * np.exp(-t / 2000.0)
        regret = regret * (number["fixed"] if "horizon" in learner else early)
    if name.startswith("Second"):
        decades = abs(np.log10(learner["gamma"]) - number["gamma"])
        slow = number["second"] * 0.5 * t**-0.5
        regret = regret * number["noisy_second"] if noisy else 0.2 * np.log1p(t) / t * number["curve"] ** decades + slow
    return np.asarray(regret)


def answers(need: str, **contrary: float) -> Answers:
    """The answers of a study in such a world, with orders that differ a little, less and less."""

    def values(settings: Settings) -> dict[str, Any]:
        t = np.array(points(settings["rounds"]))
        orders = np.linspace(-1.0, 1.0, 20)[settings["first"] : settings["first"] + settings["count"], None]
        spread = contrary.get("spread", -0.5)
        regret = paper(settings, t.astype(float), **contrary) * (
            1.0 + orders * (0.002 + 0.1 * (t / t[-1]) ** spread * 0.02)
        )
        slow = 1.0 if settings["learner"]["name"] == "RankingSVM" else contrary.get("seconds", 1e-3)
        asked, given = settings["user"].get("strict"), contrary.get("given", 0.8)
        return {
            "t": t,
            "regret": regret,
            "loss": 2.0 * regret,
            "slack": (asked - given) * regret if asked else np.full(regret.shape, contrary.get("slack", 0.1)),
            "norm": np.ones(len(regret)),
            "seconds": np.full(len(regret), slow * settings["rounds"]),
            "random": 1.0,
        }

    return Answers(Answer(part.settings, values(part.settings)) for part in study(need).plan(RUN))


CASES: dict[str, dict[str, float]] = {
    "coactive/regret-falls-soon": {"fall": 0.0},
    "coactive/strong-feedback-lower-regret": {"alpha": 0.8},
    "coactive/far-less-than-tenfold": {"alpha": 9.0},
    "coactive/feedback-stronger-than-asked": {"given": 0.15},
    "coactive/strict-to-zero": {"fall": 0.0},
    "coactive/errors-shrink": {"spread": 1.0, "fall": 0.0},
    "coactive/noise-keeps-regret": {"level": 0.0},
    "coactive/regret-meets-slack": {"slack": 0.01},
    "coactive/deeper-is-noisier": {"deep": 0.8},
    "coactive/smaller-batches-faster-strict": {"batch": -0.2},
    "coactive/smaller-batches-faster-noisy": {"batch": -0.2},
    "coactive/batches-better-than-root-k-strict": {"batch": 0.7},
    "coactive/batches-better-than-root-k-noisy": {"batch": 2.0},
    "coactive/expected-as-good": {"expected": 60.0},
    "coactive/expected-to-zero": {"expected": 60.0},
    "coactive/svm-comparable-strict": {"svm": 2.0},
    "coactive/ahead-of-svm-noisy": {"svm_noisy": 0.8},
    "coactive/fraction-of-the-cost": {"seconds": 0.5},
    "coactive/bandit-orders-of-magnitude": {"bandit": 0.1},
    "coactive/bandit-matched-before-100": {"bandit": 0.001},
    "coactive/exponentiated-early-strict": {"early": 1.2},
    "coactive/exponentiated-early-noisy": {"early": 1.2},
    "coactive/exponentiated-late-strict": {"late": 0.5},
    "coactive/exponentiated-late-noisy": {"late": 0.5},
    "coactive/exponentiated-fixed-strict": {"fixed": 0.5},
    "coactive/exponentiated-fixed-noisy": {"fixed": 2.0},
    "coactive/second-order-log-loss": {"second": 1.0},
    "coactive/second-order-log-utility": {"second": 1.0},
    "coactive/convex-slower-loss": {"second": 1.0},
    "coactive/convex-slower-utility": {"second": 1.0},
    "coactive/gamma-wide-range": {"second": 1.0},
    "coactive/gamma-extremes": {"curve": 1.0},
    "coactive/gamma-one-best": {"gamma": -1.0},
    "coactive/noisy-orders-alike": {"noisy_second": 0.5},
    "coactive/summary-second-order": {"noisy_second": 0.5},
    "coactive2012/strong-feedback-lower-regret": {"alpha": 0.8},
    "coactive2012/far-less-than-tenfold": {"alpha": 9.0},
    "coactive2012/strict-to-zero": {"fall": 0.0},
    "coactive2012/noise-keeps-regret": {"level": 0.0},
    "coactive2012/ahead-of-svm": {"svm_noisy": 0.8},
    "coactive2012/fraction-of-the-cost": {"seconds": 0.5},
}


def test_every_web_claim_has_a_case() -> None:
    web = {name for name, claim in claims.items() if all(need.endswith(":web") for need in claim.needs)}
    assert web == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_claim_holds_in_the_papers_world(name: str) -> None:
    found = claims[name].check(RUN, *(answers(need) for need in claims[name].needs))
    assert found.verdict == "holds", found


@pytest.mark.parametrize("name", CASES)
def test_claim_fails_in_a_contrary_world(name: str) -> None:
    found = claims[name].check(RUN, *(answers(need, **CASES[name]) for need in claims[name].needs))
    assert found.verdict == "does not hold here", found
    assert found.reason


def test_a_quick_run_cannot_speak_of_28000_rounds() -> None:
    quick = Run(RUN.place, quick=True)
    name = "coactive/bandit-matched-before-100"
    found = claims[name].check(quick, *(answers(need) for need in claims[name].needs))
    assert found.verdict == "cannot be tested here"
    assert "28,000" in found.reason


def test_the_last_tenth_and_the_middle() -> None:
    t = np.array([1, 50, 90, 100])
    sums = np.array([[1.0, 50.0, 70.0, 71.0]])
    found = Rows(t, sums / t, sums, random=np.full(1, 2.0), seconds=np.ones(1))
    assert found.end == pytest.approx([0.1])
    assert found.middle == pytest.approx([0.5])
    assert found.at(49) == pytest.approx([1.0])
    assert approaches_zero(found).verdict == "cannot be tested here"  # one order has no interval


def test_numbers_have_the_digits_that_their_errors_leave() -> None:
    assert plus_minus(np.array([1.0, 1.2])) == "1.10 ± 0.10"
    assert plus_minus(np.array([0.5])) == "0.5000 ± 0.0000"


@pytest.mark.parametrize("name", ["fig2", "fig7", "fig9", "fig13", "fig15", "fig17", "fig11"])
def test_figures_are_made_of_the_answers(name: str) -> None:
    one = study(f"coactive/{name}:web")
    outcome = one.gather(RUN, answers(f"coactive/{name}:web"))
    assert len(outcome.panels) >= 2
    assert all(np.isfinite(curve.y).all() for panel in outcome.panels for curve in panel.curves)
    assert any("generated" in panel.title for panel in outcome.panels)
    assert any("not at hand" in note for note in outcome.notes)


def test_a_figure_is_shown_from_kept_parts(tmp_path: Path) -> None:
    run = Run(Place(None, tmp_path), quick=True)
    figure = figures["coactive/lemma3"]
    store = Store(run.place)
    for part in figure.studies[0].plan(run):
        store.put(part, part.run(run.place), 0.1)
    shown = show(figure, run)
    assert [finding.verdict for _, finding in shown.findings] == ["holds"]
    assert shown.outcome.panels[0].curves[-1].name == "2/√T"
