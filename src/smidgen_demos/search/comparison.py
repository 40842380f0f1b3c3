"""Users who only look at the top: the default for clicks, compared with a learner that shows its best list.

The library simulates them in the background; no model of the service takes part. Both learners get the same users with
the same questions in the same order. Each user reacts to what that learner showed.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta

from smidgen.decision import FloatArray
from smidgen.evaluate.play import play
from smidgen.learners import Feedback, Learner, Loop
from smidgen.learners.recommended import find
from smidgen.service.schemas import Message
from smidgen.structures import Ranking
from smidgen.users import PositionBased
from smidgen_demos.search.features import NAMES
from smidgen_demos.search.index import Index
from smidgen_demos.search.searches import SHOWN
from smidgen_demos.search.visitors import TASTE, Visitor, visitor

USERS, STEP, HELD_OUT = 200, 20, 100
#: Where the visitors of this comparison begin, so that they are nobody else's.
FIRST = 2_000_000
#: How likely each place is looked at, and how likely a click is then, by grade; even what is useless is clicked.
READ = tuple(1.0 / place for place in range(1, SHOWN + 1))
CLICK = (0.3, 0.4, 0.5, 0.7, 0.9)


class CompareBody(Message):
    """Number of the run; each run has its own questions, orders and clicks."""

    run: Annotated[int, Meta(ge=0, le=9)] = 0


class Query(NamedTuple):
    """A question with its candidates, and what a visitor thinks of each."""

    ranking: Ranking
    grades: FloatArray


def compare(run: int, index: Index) -> dict[str, Any]:
    """One run: after every twenty users, how well each learner ranks unseen queries.

    The figure is nDCG over the places that are shown (Järvelin and Kekäläinen, 2002), by the visitors' grades, of the
    list without chance. ``ceiling`` is that of somebody who knows the taste.
    """
    asked, held_out = _queries(index, run, USERS), _held_out(index)
    order = np.random.default_rng([12, run]).permutation(USERS)
    taste = np.array([TASTE[name] for name in NAMES])
    ceiling = [ndcg(np.argsort(-(query.ranking.rows.dense() @ taste), kind="stable"), query) for query in held_out]
    curves = []
    for feedback in (Feedback.CLICKS, Feedback.BETTER):
        learner, values = _learner(feedback, run), []
        for start in range(0, USERS + 1, STEP):
            values.append(_quality(learner, held_out))
            part = [asked[i] for i in order[start : start + STEP]]
            if part:
                play(learner, [query.ranking for query in part], _people(part, feedback, 100 * run + start))
        curves.append({"learner": type(learner).__name__, "feedback": str(feedback), "values": values})
    users = list(range(0, USERS + 1, STEP))
    return {"run": run, "users": users, "curves": curves, "ceiling": float(np.mean(ceiling)), "held_out": HELD_OUT}


def ndcg(order: Any, query: Query) -> float:
    """Discounted gain of an order over its first places, as a share of the best possible."""
    gains = np.exp2(query.grades) - 1.0
    discounts = 1.0 / np.log2(np.arange(2.0, 2.0 + min(SHOWN, len(gains))))
    best = np.sort(gains)[::-1][: len(discounts)] @ discounts
    return float(gains[np.asarray(order)[: len(discounts)]] @ discounts / best)


def _learner(feedback: str, seed: int) -> Learner:
    """The one to begin with for this feedback, whatever the number of features."""
    cls, case = find(Loop.RANK, feedback)
    return cls(**{**cls.card.first, **case.settings, "dim": len(NAMES), "seed": seed})


def _people(part: list[Query], feedback: str, seed: int) -> PositionBased:
    """Simulated users who click. A learner of preferred rankings receives the ranking that the clicks imply."""
    labels = [query.grades for query in part]
    return PositionBased(labels=labels, read=READ, click=CLICK, feedback=str(feedback), seed=seed)


def _quality(learner: Learner, queries: list[Query]) -> float:
    return float(np.mean([ndcg(learner.predict(query.ranking), query) for query in queries]))


def _queries(index: Index, run: int, many: int) -> list[Query]:
    first = FIRST + 1000 * run
    return [_query(visitor(number, index)) for number in range(first, first + many)]


@cache
def _held_out(index: Index) -> list[Query]:
    """Questions that nobody learns from, the same in all runs."""
    return [_query(visitor(FIRST - number, index)) for number in range(1, HELD_OUT + 1)]


def _query(who: Visitor) -> Query:
    return Query(Ranking(np.array(who.search.rows), top=SHOWN), who.grades)
