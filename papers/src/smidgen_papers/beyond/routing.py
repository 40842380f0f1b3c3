"""Routing prompts between language models: quality of learned routers next to single models, chance and the oracle."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import smidgen
from smidgen_papers.beyond import paper
from smidgen_papers.beyond.budgets import DIM, DOLLARS, has_routing, records, static_mix
from smidgen_papers.catalogue import add_figure, add_study
from smidgen_papers.outcome import Outcome, Table
from smidgen_papers.part import Answers, Part, Place, Run, Values, part

__all__ = ["gather", "paper", "plan", "route"]

#: What the router reads of a prompt, and whether it keeps to a limit of spend.
WAYS = ("words", "words as a vector", "words and vector", "words, budget")
#: Numbers of the vector into which words are hashed.
NUMBERS = 64


def _vector(prompt: str) -> list[float]:
    """Words of a prompt, hashed into a vector."""
    out = np.zeros(NUMBERS)
    for word in prompt.lower().split():
        hashed = zlib.crc32(word.encode())
        out[(hashed >> 1) % NUMBERS] += 1.0 if hashed & 1 else -1.0
    return [float(x) for x in out]


def route(place: Place, *, way: str, order: int, prompts: int) -> Values:
    """Quality and cost of one router in one order of the prompts, and those of what it is compared with."""
    told = records(place)
    names = list(told[0]["arms"])
    rng = np.random.default_rng(order)
    shuffled = [told[i] for i in rng.permutation(len(told))[:prompts]]
    text = ("prompt",) if "words" in way.replace("words as a vector", "") else ()
    budget = smidgen.Budget({"usd": DOLLARS}) if "budget" in way else None
    router = smidgen.Pipeline(
        features=smidgen.Vectorizer(dim=DIM, text=text, vectors=NUMBERS),
        learner=smidgen.ChoiceBank(dim=DIM, seed=order, budget=budget),
    )
    good, paid = np.empty(prompts), np.empty(prompts)
    for t, record in enumerate(shuffled):
        context: dict[str, Any] = {"letters": len(record["prompt"])}
        context |= {"prompt": record["prompt"]} if text else {}
        context |= {"words": _vector(record["prompt"])} if "vector" in way else {}
        decision = router.decide(smidgen.Candidates({name: {} for name in names}, context=context))
        shown = record["arms"][names[decision.action]]
        router.learn(decision, float(shown["reward"]), costs=None if budget is None else {"usd": shown["cost"]})
        good[t], paid[t] = shown["reward"], shown["cost"]
    last = slice(-(prompts // 3), None)
    every = np.array([[record["arms"][name]["reward"] for name in names] for record in shuffled[last]])
    chance = rng.integers(len(names), size=len(every))
    return {
        "quality": float(good.mean()),
        "last third": float(good[last].mean()),
        "cost": float(paid.mean()),
        "best single, last third": float(every.mean(axis=0).max()),
        "random, last third": float(every[np.arange(len(every)), chance].mean()),
    }


def plan(run: Run) -> list[Part]:
    """Every way in every order."""
    if not has_routing(run):
        return []
    orders, prompts = (1, 300) if run.quick else (10, 1785)
    return [part(route, seconds=5.0, way=way, order=order, prompts=prompts) for way in WAYS for order in range(orders)]


def gather(run: Run, answers: Answers) -> Outcome:
    """Quality over all prompts and over the last third, and cost, by router; single models below."""
    if not has_routing(run):
        return Outcome(tables=[])
    told = records(run.place)
    arms = list(told[0]["arms"])
    quality, costs = (np.array([[each["arms"][a][x] for a in arms] for each in told]) for x in ("reward", "cost"))
    rows: list[list[Any]] = []
    for way in WAYS:
        found = answers.where(way=way)
        late = np.array([answer["last third"] for answer in found])
        ahead = late - np.array([answer["best single, last third"] for answer in found])
        rows.append(
            [
                f"smidgen, {way}",
                f"{np.mean([answer['quality'] for answer in found]):.3f}",
                f"{late.mean():.3f}",
                f"{ahead.mean():+.3f}",
                f"{np.mean([answer['cost'] for answer in found]):.5f}",
            ]
        )
    chance = np.mean([answer["random, last third"] for answer in answers.where(way=WAYS[0])])
    rows.append(["random", f"{quality.mean():.3f}", f"{chance:.3f}", "", f"{costs.mean():.5f}"])
    rows += [
        [f"always {arm}", f"{quality[:, i].mean():.3f}", "", "", f"{costs[:, i].mean():.5f}"]
        for i, arm in enumerate(arms)
    ]
    mix = static_mix(quality.mean(axis=0), costs.mean(axis=0), DOLLARS)
    rows.append([f"static mix at ${DOLLARS}", f"{mix:.3f}", "", "", f"{DOLLARS:.5f}"])
    rows.append(["oracle", f"{quality.max(axis=1).mean():.3f}", "", "", ""])
    heads = ["router", "quality", "last third", "less best single model", "dollars a prompt"]
    return Outcome(tables=[Table("Means of the orders", heads, rows)])


add_figure(
    "beyond/routing",
    title="Routing prompts between language models",
    shows="Learned routers on prompts with the judged quality and the real cost of three language models.",
)
add_study("beyond/routing", "quality", plan=plan, gather=gather)
