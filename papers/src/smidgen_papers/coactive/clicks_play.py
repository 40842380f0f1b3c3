"""The work of Figure 1: a user study with simulated people, who click, and reformulate their queries.

The study's data are not public, so people are modelled. A question is a query of a learning-to-rank set with its
graded documents; the search engine scores them by the least-squares fit of the grades, plus noise for the wording of
each query. Ten results are shown: as they are, reversed, or with the first two swapped. A person reads down to a random
depth, clicks by grade and stops by grade (the cascade models of `smidgen.users.ClickModel`), and asks again with some
probability unless the last click contents them (with the model's probability to stop). How far people read comes from
real clicks of Yandex. Two numbers are then fitted to the two averages that the paper prints of its chains, 2.2 queries
and 1.8 clicks: a factor on all click probabilities, and the probability of asking again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smidgen.decision import FloatArray, IntArray
from smidgen.structures import Ranking, from_chain
from smidgen.structures.ranking import ExtendedRanking
from smidgen.users import ClickModel
from smidgen.users.clicks import MODELS
from smidgen_papers.coactive.web_data import web
from smidgen_papers.data.clicks import Impressions, yandex
from smidgen_papers.part import Place, Values
from smidgen_papers.store import Arrays, prepared

CONDITIONS = ("normal", "reversed", "swapped")
SHOWN = 10
SUBJECTS, QUESTIONS = 16, 10
QUERIES, CLICKS = 2.2, 1.8
#: Longer chains are cut.
LONGEST = 12
#: The readings of DCG's "log i+1".
DISCOUNTS = {
    "log2(i+1)": 1.0 / np.log2(np.arange(2, SHOWN + 2)),
    "1 + log2 i": 1.0 / (1.0 + np.log2(np.arange(1, SHOWN + 1))),
    "1 + ln i": 1.0 / (1.0 + np.log(np.arange(1, SHOWN + 1))),
}
#: How assessors turn grades into ranks: equals share a rank, or the mean of five who err, each on their own.
ASSESSORS = ("ties", "five")
#: Where there are no Yandex data: what `examination` found on them.
READ_BY_DEFAULT = (1.0, 0.86, 0.71, 0.58, 0.46, 0.40, 0.37, 0.30, 0.30, 0.29)


def clicks(
    place: Place, *, source: str, size: list[int] | None, model: str, read: str, studies: int, seed: int
) -> Values:
    """Simulate studies of 16 people with 10 questions each.

    Parameters
    ----------
    place
        Data and results.
    source, size
        Where the questions come from, see `smidgen_papers.coactive.web_data.web`.
    model
        ``"mixed"``: five questions navigational and five informational, as in the study; or a model of `ClickModel`.
    read
        ``"yandex"``: how far people read is fitted to real clicks; ``"default"``: the curve that was fitted before.
    studies
        How many studies.
    seed
        Of everything.

    Returns
    -------
    dict
        Per chain (rows): the number of its ``study``, ``condition``, ``queries``, ``clicks``, ``changed`` (ȳ ≠ y) and
        the DCG ``gain`` by every reading (columns: discounts, for each kind of assessors); ``strength`` and ``again``,
        the fitted numbers.
    """
    world = _world(place, source, size, model, read, seed)
    strength, again = _fitted(world, np.random.default_rng([seed, 2]))
    rng = np.random.default_rng([seed, 3])
    found: dict[str, list[object]] = {
        name: [] for name in ("study", "condition", "queries", "clicks", "changed", "gain")
    }
    for study in range(studies):
        for subject in range(SUBJECTS):
            for question in range(QUESTIONS):
                chain = _chain(world, strength, again, subject % 3, question, rng)
                found["study"].append(study)
                found["condition"].append(subject % 3)
                found["queries"].append(len(chain.lists))
                found["clicks"].append(sum(len(one) for one in chain.clicked))
                better, gain = _gains(chain, rng)
                found["changed"].append(better)
                found["gain"].append(gain)
    return {**{name: np.array(values) for name, values in found.items()}, "strength": strength, "again": again}


@dataclass(frozen=True, eq=False)
class _World:
    """Questions and people: grades and scores of documents, click and stop rates, how far people read."""

    grades: list[IntArray]
    scores: list[FloatArray]
    rates: list[tuple[FloatArray, FloatArray]]
    read: FloatArray


@dataclass(frozen=True, eq=False)
class _Chain:
    """What happened: the lists of documents shown, the documents clicked on each, and the grades of all documents."""

    lists: list[IntArray]
    clicked: list[list[int]]
    grades: IntArray


def _world(place: Place, source: str, size: list[int] | None, model: str, read: str, seed: int) -> _World:
    data = web(place, source=source, size=size, utility="plain", seed=seed)
    table, labels = data.table, data.table.labels
    if labels is None:
        raise ValueError("the set has no labels")
    scores = table.scores(data.w_star)
    blocks = [slice(a, b) for a, b in zip(table.starts[:-1], table.starts[1:], strict=True) if b - a >= 2 * SHOWN]
    blocks = [block for block in blocks if labels[block].max() > labels[block].min()]
    kinds = ["navigational", "informational"] if model == "mixed" else [model, model]
    levels = 3 if labels.max() <= 2 else 5
    return _World(
        grades=[labels[block].astype(np.int64) for block in blocks],
        scores=[(scores[block] - scores[block].mean()) / max(scores[block].std(), 1e-12) for block in blocks],
        rates=[(np.array(MODELS[levels][kind][0]), np.array(MODELS[levels][kind][1])) for kind in kinds],
        read=examination(place, data="yandex")["read"] if read == "yandex" else np.array(READ_BY_DEFAULT),
    )


def _chain(
    world: _World, strength: float, again: float, condition: int, question: int, rng: np.random.Generator
) -> _Chain:
    """One person with one question: queries until a click satisfies, or patience ends."""
    number = int(rng.integers(len(world.grades)))
    grades, scores = world.grades[number], world.scores[number]
    click, stop = world.rates[question % 2]
    attract = np.minimum(1.0, strength * click).tolist()
    lists: list[IntArray] = []
    clicked: list[list[int]] = []
    while len(lists) < LONGEST:
        shown = np.argsort(-(scores + rng.normal(size=len(scores))))[:SHOWN]
        if condition == 1:
            shown = shown[::-1]
        elif condition == 2:
            shown[[0, 1]] = shown[[1, 0]]
        depth = max(1, int((rng.random() < world.read).sum()))
        person = ClickModel(
            labels=grades[shown], click=attract, stop=stop.tolist(), depth=depth, seed=int(rng.integers(2**32))
        )
        places = person.clicks(_PAGE, _PLACES)
        lists.append(shown)
        clicked.append([int(shown[i]) for i in places])
        content = bool(places) and rng.random() < stop[grades[shown[places[-1]]]]
        if content or rng.random() >= again:
            break
    return _Chain(lists, clicked, grades)


_PAGE, _PLACES = Ranking(np.zeros((SHOWN, 1))), np.arange(SHOWN)


def _gains(chain: _Chain, rng: np.random.Generator) -> tuple[bool, list[float]]:
    """Check whether ȳ differs from y, and DCG@10(ȳ) − DCG@10(y) by every reading."""
    first = chain.lists[0]
    met = list(dict.fromkeys(int(document) for shown in chain.lists for document in shown))  # the first list leads
    place = {document: i for i, document in enumerate(met)}
    better = from_chain(
        np.arange(SHOWN),
        [[place[document] for document in one] for one in chain.clicked],
        later=np.zeros((len(met) - SHOWN, 1)) if len(met) > SHOWN else None,
    )
    order = better.order if isinstance(better, ExtendedRanking) else better
    gains = []
    for kind in ASSESSORS:
        relevance = _relevance(chain.grades[met], kind, rng)
        gained = relevance[order[: len(first)]] - relevance[: len(first)]
        gains += [float(np.sum(discount * gained)) for discount in DISCOUNTS.values()]
    return bool((order[: len(first)] != np.arange(len(first))).any()), [0.0 if abs(g) < 1e-9 else g for g in gains]


def _relevance(grades: IntArray, assessors: str, rng: np.random.Generator) -> FloatArray:
    """Ranks of the documents met in a chain, scaled to 0 … 5, the best 5."""
    if assessors == "ties":
        levels, level = np.unique(grades, return_inverse=True)
        return 5.0 * level / max(len(levels) - 1, 1)
    seen = grades + 0.5 * rng.normal(size=(5, len(grades)))
    ranks = np.argsort(np.argsort(seen, axis=1), axis=1)
    return np.asarray(5.0 * ranks.mean(axis=0) / max(len(grades) - 1, 1))


def _fitted(world: _World, rng: np.random.Generator) -> tuple[float, float]:
    """The factor on clicks and the probability of asking again that give the paper's 1.8 clicks and 2.2 queries."""
    strength, again = 0.7, 0.6
    steps: list[tuple[float, float]] = []
    for _ in range(24):
        chains = [_chain(world, strength, again, i % 3, i, rng) for i in range(300)]
        queries = float(np.mean([len(chain.lists) for chain in chains]))
        clicked = float(np.mean([sum(map(len, chain.clicked)) for chain in chains]))
        strength = float(np.clip(strength * (CLICKS / max(clicked, 0.05)) ** 0.5, 0.01, 5.0))
        again = float(np.clip(again * ((QUERIES - 1.0) / max(queries - 1.0, 0.05)) ** 0.5, 0.01, 0.97))
        steps.append((strength, again))
    return float(np.mean([s for s, _ in steps[8:]])), float(np.mean([a for _, a in steps[8:]]))


@prepared()
def examination(place: Place, *, data: str) -> Arrays:
    """How likely people look at each position, from the clicks of a data set."""
    del data  # its name is part of what is kept: other clicks, another curve
    return {"read": position_effect(yandex(place.data))}


def position_effect(pages: Impressions) -> FloatArray:
    """Fit P(click) = read[position]·attract[query, document] by EM; read never rises, and starts at 1."""
    width = pages.docs.shape[1]
    pairs = np.repeat(pages.query, width) * (int(pages.docs.max()) + 1) + pages.docs.ravel()
    _, pair = np.unique(pairs, return_inverse=True)
    position = np.tile(np.arange(width), len(pages))
    clicked = pages.clicked.ravel()
    read, attract = np.linspace(1.0, 0.3, width), np.full(pair.max() + 1, 0.3)
    looks, seen = np.bincount(position), np.bincount(pair)
    for _ in range(100):
        r, a = read[position], attract[pair]
        missed = 1.0 - r * a
        read = np.bincount(position, np.where(clicked, 1.0, r * (1.0 - a) / missed)) / looks
        attract = (np.bincount(pair, np.where(clicked, 1.0, a * (1.0 - r) / missed)) + 0.5) / (seen + 1.0)
    return np.minimum.accumulate(read / read[0])
