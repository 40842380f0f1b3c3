"""Peeking: how often intervals miss the truth when somebody looks again and again."""

from __future__ import annotations

from typing import Any

import numpy as np

from smidgen.evaluate.confidence import FEW, two_sided
from smidgen.evaluate.off_policy import sides_of_doubly_robust, sides_of_ips, sides_of_snips
from smidgen_papers.beyond import paper
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan"]

#: The share of contexts in which the judged policy's choice was rarely shown, and how rarely.
SCENARIOS = ((0.3, 0.02), (0.05, 0.01), (0.1, 0.005))
LOOKS, ROUNDS, TOGETHER = 26, 4000, 50
METHODS = ("ips", "snips", "doubly robust", "normal interval of ips")


def missed(place: Place, *, share: float, p: float, runs: int, seed: int) -> Values:
    """In how many runs each interval (95 %) missed the truth at some look."""
    out = dict.fromkeys(METHODS, 0)
    for run in range(runs):
        for name, each in _misses(np.random.default_rng([seed, run]), share, p).items():
            out[name] += each
    return {"runs": runs, **out}


def _misses(rng: Any, share: float, p: float) -> dict[str, bool]:
    kind = rng.random(ROUNDS) < share
    chance = np.where(kind, p, 0.9)
    shown = rng.random(ROUNDS) < chance
    r = (rng.random(ROUNDS) < np.where(shown, np.where(kind, 0.9, 0.3), 0.5)).astype(float)
    truth, guess = share * 0.9 + (1.0 - share) * 0.3, np.where(kind, 0.8, 0.4)
    w, most = shown / np.where(shown, chance, 1.0 - chance), 1.0 / chance
    looks = np.unique(np.geomspace(60, ROUNDS, LOOKS).astype(int)).tolist()
    enough = np.cumsum(w * r > 0.0)[np.array(looks) - 1] >= FEW
    sides = {
        "ips": sides_of_ips(r, w),
        "snips": sides_of_snips(r, w, most),
        "doubly robust": sides_of_doubly_robust(r, w, guess, np.where(shown, guess, 0.5), most),
    }
    found = {}
    for name, side in sides.items():
        low, high = two_sided(*side, 0.05, looks)
        found[name] = bool((enough & ((truth < low) | (truth > high))).any())
    parts, n = [w[:look] * r[:look] for look in looks], np.array(looks)
    means, errors = np.array([each.mean() for each in parts]), np.array([each.std() for each in parts]) / np.sqrt(n)
    found["normal interval of ips"] = bool((enough & (np.abs(means - truth) > 1.96 * errors)).any())
    return found


def plan(run: Run) -> list[Part]:
    """All scenarios, some runs at a time."""
    parts, together = (1, 10) if run.quick else (6, TOGETHER)
    return [
        part(missed, seconds=20.0, share=share, p=p, runs=together, seed=run.seed + 400 + k)
        for share, p in SCENARIOS
        for k in range(parts)
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Runs with a miss."""
    rows = []
    for share, p in SCENARIOS:
        played = list(answers.where(share=share, p=p))
        runs = sum(each["runs"] for each in played)
        cells = [f"{sum(each[name] for each in played)} of {runs}" for name in METHODS]
        rows.append([f"{share:.0%} of the contexts at p = {p:g}", *cells])
    return Outcome(tables=[Table(f"runs with a miss at one of {LOOKS} looks, declared 5 %", ["", *METHODS], rows)])


add_figure(
    "beyond/peeking",
    title="Intervals under peeking: how often they miss the truth",
    shows="No paper has this: logs in which some choices were rarely shown, looked at 26 times.",
)
add_study("beyond/peeking", "looks", plan=plan, gather=gather)
