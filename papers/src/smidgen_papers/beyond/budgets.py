"""Choices under a ceiling of spend: budgets next to a static mix, no budget, and cost subtracted from the reward."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np

import smidgen
from smidgen.decision import FloatArray
from smidgen_papers.beyond import paper
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "has_routing", "paper", "plan", "records", "routing", "simulated"]

#: Who chooses: the same learner with a budget, without one, and with the reward less cost/limit.
WAYS = ("budget", "no budget", "cost subtracted")
#: Three candidates: what they cost, the limit, and how often they are right, on all requests or on hard and easy ones.
COSTS, LIMIT = np.array([1.0, 4.0, 20.0]), 3.0
QUALITY = {"alike": ((0.6, 0.8, 0.9),), "hard and easy": ((0.35, 0.72, 0.9), (0.85, 0.88, 0.9))}
#: The limit of the routing data, below the data folder, in dollars per prompt.
FILE, DOLLARS = "routing/paretobandit_val.jsonl.gz", 0.00023
DIM = 2048


def simulated(place: Place, *, world: str, way: str, rounds: int, seed: int) -> Values:
    """Three candidates: quality, and spend over the limit, in all and in the second half."""
    rng, kinds = np.random.default_rng([seed, 23]), QUALITY[world]
    learner = smidgen.ChoiceBank(dim=3 * len(kinds), seed=seed, budget=_budget(way, {"usd": LIMIT}))
    spent, good = np.empty(rounds), np.empty(rounds)
    for t in range(rounds):
        kind = int(rng.integers(len(kinds)))
        rows = np.zeros((3, 3 * len(kinds)))
        rows[np.arange(3), 3 * kind + np.arange(3)] = 1.0
        decision = learner.decide(smidgen.Choice(rows, costs={"usd": COSTS}))
        spent[t], good[t] = COSTS[decision.action] / LIMIT, kinds[kind][decision.action]
        learner.learn(decision, _reward(way, float(rng.random() < good[t]), spent[t]))
    return _figures(spent, good)


def records(place: Place) -> list[dict[str, Any]]:
    """The prompts of the routing data, each with what its models would have given; none without a data folder."""
    if place.data is None:
        return []
    with gzip.open(place.data / FILE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def routing(place: Place, *, way: str, order: int, prompts: int, dearer: bool) -> Values:
    """Prompts and three language models; costs are known only after the answer. `dearer`: then all prices × 3."""
    told = records(place)
    names = list(told[0]["arms"])
    shuffled = [told[i] for i in np.random.default_rng(order).permutation(len(told))[:prompts]]
    later = [told[i] for i in np.random.default_rng(order + 99).permutation(len(told))[:prompts]] if dearer else []
    learner = smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=DIM, text=("prompt",)),
        learner=smidgen.ChoiceBank(dim=DIM, seed=order, budget=_budget(way, {"usd": DOLLARS})),
    )
    spent, good = [], []
    for t, record in enumerate([*shuffled, *later]):
        context = {"prompt": record["prompt"], "letters": len(record["prompt"])}
        decision = learner.decide(smidgen.Candidates({name: {} for name in names}, context=context))
        shown = record["arms"][names[decision.action]]
        cost = shown["cost"] * (3.0 if t >= len(shuffled) else 1.0)
        reported = {"usd": cost} if way == "budget" else None
        learner.learn(decision, _reward(way, float(shown["reward"]), cost / DOLLARS), costs=reported)
        spent.append(cost / DOLLARS)
        good.append(shown["reward"])
    n = len(shuffled)
    found = _figures(np.array(spent[:n]), np.array(good[:n]))
    return found | ({"changed": float(np.mean(spent[n + 200 : n + 500]))} if dearer else {})


def _budget(way: str, limits: dict[str, float]) -> smidgen.Budget | None:
    return smidgen.Budget(limits) if way == "budget" else None


def _reward(way: str, reward: float, spent: float) -> float:
    """The reward as the learner hears it; with cost subtracted, a tenth of cost/limit less."""
    return min(max(reward - 0.1 * spent, 0.0), 1.0) if way == "cost subtracted" else reward


def _figures(spent: FloatArray, good: FloatArray) -> Values:
    half = len(spent) // 2
    return {
        "quality": float(good.mean()),
        "quality, second half": float(good[half:].mean()),
        "spend, first half": float(spent[:half].mean()),
        "spend, second half": float(spent[half:].mean()),
        "spend after 500": float(spent[min(500, half) :].mean()),
    }


def static_mix(quality: FloatArray, costs: FloatArray, limit: float) -> float:
    """The highest quality that one fixed share of two candidates has at the limit."""
    best = max([q for q, c in zip(quality, costs, strict=True) if c <= limit], default=0.0)
    for low, cheap in zip(quality, costs, strict=True):
        for high, dear in zip(quality, costs, strict=True):
            if cheap <= limit < dear:
                best = max(best, low + (high - low) * (limit - cheap) / (dear - cheap))
    return float(best)


def has_routing(run: Run) -> bool:
    """Check whether the data folder has the routing data."""
    return run.place.data is not None and (run.place.data / FILE).exists()


def plan(run: Run) -> list[Part]:
    """Every way in every world."""
    rounds, seeds = (400, 2) if run.quick else (3000, 10)
    parts = [
        part(simulated, world=world, way=way, rounds=rounds, seed=run.seed + s)
        for world in QUALITY
        for way in WAYS
        for s in range(seeds)
    ]
    if has_routing(run):
        orders, prompts = (1, 300) if run.quick else (5, 1785)
        parts += [
            part(routing, seconds=3.0, way=way, order=order, prompts=prompts, dearer=dearer)
            for way in WAYS
            for order in range(orders)
            for dearer in ((False, True) if way == "budget" else (False,))
        ]
    return parts


def gather(run: Run, answers: Answers) -> Outcome:
    """Quality and spend over the limit, by world and way."""
    names = ["quality", "quality, second half", "spend, first half", "spend, second half", "spend after 500"]
    rows = []
    for world, kinds in QUALITY.items():
        mix = static_mix(np.mean(kinds, axis=0), COSTS, LIMIT)
        rows.append([f"three candidates, {world}", "static mix, figures known", f"{mix:.3f}", "", "1", "1", "1"])
        rows += [
            [f"three candidates, {world}", way, *_spans(answers.where(world=world, way=way), names)] for way in WAYS
        ]
    if has_routing(run):
        told = records(run.place)
        arms = list(told[0]["arms"])
        mean = [np.mean([[each["arms"][a][x] for a in arms] for each in told], axis=0) for x in ("reward", "cost")]
        rows.append(
            ["routing", "static mix, figures known", f"{static_mix(mean[0], mean[1], DOLLARS):.3f}", "", "1", "1", "1"]
        )
        rows += [["routing", way, *_spans(answers.where(way=way, dearer=False), names)] for way in WAYS]
    tables = [Table("Means; in brackets the lowest and the highest of the orders", ["world", "way", *names], rows)]
    changed = [answer["changed"] for answer in answers.where(dearer=True)]
    if changed:
        what = [f"{np.mean(changed):.3f} ({min(changed):.3f} to {max(changed):.3f})"]
        tables.append(
            Table("Prices × 3: spend over the limit, prompts 200 to 500 after the change", ["budget"], [what])
        )
    return Outcome(tables=tables)


def _spans(answers: Answers, names: list[str]) -> list[str]:
    found = [np.array([answer[name] for answer in answers]) for name in names]
    return [f"{each.mean():.3f} ({each.min():.3f} to {each.max():.3f})" for each in found]


add_figure(
    "beyond/budgets",
    title="Budgets: quality under a ceiling of spend",
    shows="Choices by reward at a mean cost, next to a static mix, no budget, and cost subtracted from the reward.",
)
add_study("beyond/budgets", "spend", plan=plan, gather=gather)
