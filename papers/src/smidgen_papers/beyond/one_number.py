"""One number with a context: the recommended tuner and Vowpal Wabbit's CATS on losses of three shapes."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

import smidgen
from smidgen.decision import FloatArray
from smidgen.geometry import Box
from smidgen_papers.beyond import paper, reward_peers
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan"]

WORLDS = ("quadratic", "price", "threshold")
#: Numbers of discrete actions and bandwidths of CATS.
CATS = ((4, 0.1), (8, 0.1), (16, 0.05), (16, 0.1), (32, 0.05))
OURS = "recommended"
NOISE = 0.1
_GRID = np.linspace(0.0, 1.0, 401)


def loss(world: str, x: float, context: FloatArray) -> float:
    """The loss of a number in [0, 1]; the best one follows the context."""
    best = 0.15 + 0.7 / (1.0 + math.exp(-1.2 * context[0] - 0.6 * context[1]))
    if world == "quadratic":
        return min(1.0, 2.5 * (x - best) ** 2)
    if world == "price":  # what is earned grows with the price, and falls off steeply beyond what a buyer would pay
        return 1.0 - 0.9 * (x / best if x <= best else max(0.0, 1.0 - 4.0 * (x - best)))
    return 0.1 + 0.3 * x if x >= best else 0.9  # a dose that is too small does nothing, and a larger one costs more


def play(place: Place, *, world: str, contender: str, rounds: int, seed: int) -> Values:
    """Mean regret, of all rounds and of the last quarter."""
    rng, regrets = np.random.default_rng([seed, 8]), np.empty(rounds)
    name, *settings = contender.split()
    peer: Any = None
    if name == OURS:
        tuner = smidgen.recommended(loop="tune", space=Box(low=np.zeros(1), high=np.ones(1)), dim=2, seed=seed)
    else:
        flags = f"--cats {settings[0]} --bandwidth {settings[1]} --min_value 0 --max_value 1 --epsilon 0.05"
        peer = importlib.import_module("vowpalwabbit").Workspace(f"{flags} --random_seed {seed} --quiet")
    for t in range(rounds):
        context, noise = rng.normal(size=2), NOISE * rng.normal()
        if peer is None:
            made = tuner.decide(context)
            x = float(made.action[0])
            found = loss(world, x, context)
            tuner.learn(made, found + noise)
        else:
            row = f"| a:{context[0]:.5f} b:{context[1]:.5f}"
            x, density = peer.predict(row)
            found = loss(world, x, context)
            peer.learn(f"ca {x}:{min(1.0, max(0.0, found + noise)):.6f}:{density:.6f} {row}")
        regrets[t] = found - min(loss(world, float(each), context) for each in _GRID)
    if peer is not None:
        peer.finish()
    return {"regret": float(regrets.mean()), "last": float(regrets[-(rounds // 4) :].mean())}


def _contenders() -> list[str]:
    there = reward_peers.installed("Vowpal Wabbit")
    return [OURS, *(f"CATS {actions} {bandwidth:g}" for actions, bandwidth in CATS if there)]


def plan(run: Run) -> list[Part]:
    """Every contender on every world."""
    rounds, seeds = (150, 1) if run.quick else (2000, 3)
    return [
        part(play, seconds=5.0, world=world, contender=contender, rounds=rounds, seed=run.seed + seed)
        for world in WORLDS
        for contender in _contenders()
        for seed in range(seeds)
    ]


def gather(run: Run, answers: Answers) -> Outcome:
    """Mean regret by world."""
    rows = []
    for contender in dict.fromkeys(answer.settings["contender"] for answer in answers):
        cells = [contender]
        for world in WORLDS:
            played = list(answers.where(world=world, contender=contender))
            regret, last = (float(np.mean([each[name] for each in played])) for name in ("regret", "last"))
            cells.append(f"{regret:.3f}, last quarter {last:.3f}")
        rows.append(cells)
    return Outcome(tables=[Table("Mean regret", ["tuner (CATS: actions, bandwidth)", *WORLDS], rows)])


add_figure(
    "beyond/one-number",
    title="One number with a context: the recommended tuner beside Vowpal Wabbit's CATS",
    shows="No paper has this: losses of three shapes whose best point follows the context.",
)
add_study("beyond/one-number", "losses", plan=plan, gather=gather)
