"""Lemma 3: an adversary against whom every coactive learner has average regret of order 1/√T."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from smidgen.evaluate.compare import simulate
from smidgen.theory import bounds
from smidgen.users import Adversary
from smidgen_papers.catalogue import add_claim, add_study
from smidgen_papers.claims import Finding
from smidgen_papers.coactive.algorithms import ALGORITHMS
from smidgen_papers.outcome import Curve, Outcome, Panel, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

#: Every learner of the paper, with settings; the horizon is the number of features.
LEARNERS: dict[str, dict[str, Any]] = {
    "PreferencePerceptron": {},
    "BatchPreferencePerceptron": {"batch": 10},
    "ExponentiatedPreferencePerceptron": {"bound": 1.0},
    "ConvexPreferencePerceptron": {"radius": 1.0},
    "SecondOrderPreferencePerceptron": {"radius": 1.0},
}
HORIZONS = {False: (10, 30, 100, 300, 1000), True: (10, 30, 100)}


def adversary(place: Place, *, learner: str, settings: dict[str, Any], horizon: int, seed: int) -> Values:
    """Play one learner against the adversary for as many rounds as there are features."""
    user = Adversary(horizon=horizon)
    player = ALGORITHMS[learner](dim=horizon, seed=seed, **settings)
    history = simulate(player, user.contexts(), user, utility=user.w_star)
    return {
        "regret": float(history.average_regret[-1]),
        "slack": float(np.abs(history.slacks).max()),
        "w_norm": float(np.linalg.norm(user.w_star())),
        "bound": float(bounds.lower_bound(T=horizon, per_round=True)),
    }


def plan(run: Run) -> Iterable[Part]:
    """All learners, all horizons."""
    for learner, settings in LEARNERS.items():
        for horizon in HORIZONS[run.quick]:
            seconds = 0.05 + 5e-9 * horizon**3 if learner.startswith("Second") else 0.05 + 1e-7 * horizon**2
            yield part(adversary, seconds=seconds, learner=learner, settings=settings, horizon=horizon, seed=run.seed)


def gather(run: Run, answers: Answers) -> Outcome:
    """Average regret over the horizon, with the bound."""
    horizons = np.array(HORIZONS[run.quick], dtype=np.float64)
    curves = [
        Curve(name, horizons, np.array([answer["regret"] for answer in answers.where(learner=name)]), style="points")
        for name in LEARNERS
    ]
    limit = Curve("2/√T", horizons, np.asarray(bounds.lower_bound(T=horizons, per_round=True)), style="dashed")
    panel = Panel("adversary of Lemma 3", "rounds T = features", "average regret", [*curves, limit], "log", "log")
    rows = [
        [answer.settings["learner"], answer.settings["horizon"], f"{answer['regret']:.4f}", f"{answer['bound']:.4f}"]
        for answer in answers
    ]
    return Outcome(panels=[panel], tables=[Table("Average regret", ["learner", "T", "regret", "2/√T"], rows)])


add_study("coactive/lemma3", "adversary", plan=plan, gather=gather)


@add_claim(
    "coactive/lower-bound",
    says="For every coactive learner there are contexts and a w* with ‖w*‖ = 1 such that its average regret is of "
    "order 1/√T, "
    "although all feedback is 1-informative.",
    where="Lemma 3",
    needs="coactive/lemma3:adversary",
)
def _lower(run: Run, answers: Answers) -> Finding:
    least = min(float(answer["regret"]) / float(answer["bound"]) for answer in answers)
    fair = all(answer["slack"] < 1e-9 and abs(answer["w_norm"] - 1.0) < 1e-9 for answer in answers)
    effect = (
        f"the smallest regret over {len(LEARNERS)} learners and T up to {max(HORIZONS[run.quick])} is {least:.6f} "
        "times 2/√T; "
        f"feedback is {'always' if fair else 'not always'} 1-informative and ‖w*‖ = 1"
    )
    reason = (
        "no repetitions: nothing is random here" if fair and least > 1.0 - 1e-9 else "a learner escaped the adversary"
    )
    return Finding("holds" if fair and least > 1.0 - 1e-9 else "does not hold here", effect, reason)
