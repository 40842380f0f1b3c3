"""What a loop's laws need of it: contexts to decide on, feedback that can come, and feedback that cannot.

A new loop adds one class here; every learner registered for it then inherits all laws.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from smidgen import Choice, Decision, Learner, Ranking
from smidgen.learners import cards, learners

DIM = 4


class NBest:
    """A structure that is neither a ranking nor a choice."""

    def __init__(self, candidates: Any) -> None:
        self.rows = candidates

    def phi(self, y: int) -> Any:
        return self.rows[y]

    def argmax(self, w: Any) -> int:
        return int(np.argmax(self.rows @ w))


@dataclass(frozen=True)
class Coactive:
    """Rank or choose, and hear of something better."""

    form: str

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        rng = np.random.default_rng(seed)
        made: list[Any] = []
        for _ in range(n):
            rows = rng.normal(size=(int(rng.integers(2, 9)), DIM)) * (rng.random(DIM) < 0.7)
            features = sparse.csr_array(rows) if as_csr else rows
            if self.form == "ranking":
                made.append(Ranking(features, top=int(rng.integers(1, 4))))
            elif self.form == "choice":
                made.append(Choice(features, rng.permutation(len(rows))[: rng.integers(1, len(rows) + 1)]))
            else:
                made.append(NBest(rows))
        return made

    def feedback(self, learner: Learner, decision: Decision, seed: int) -> Any:
        """Any object of the right form: the laws hold for careless users too."""
        rng = np.random.default_rng([seed, decision.number])
        context = decision.context
        if isinstance(context, Ranking):
            return rng.permutation(len(context))
        if decision.kind == "DuelingBandit":
            return int(rng.integers(2))
        return int(rng.choice(np.flatnonzero(context.available))) if isinstance(context, Choice) else 0

    def impossible(self, decision: Decision) -> Iterator[Any]:
        """Feedback that cannot exist."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1})
        if isinstance(decision.context, Ranking):
            n = len(decision.context)
            yield from (np.zeros(n, int), np.arange(n - 1), np.arange(1, n + 1), np.arange(n) * 1.0, 0)
            yield np.append(np.arange(n), n)
        elif isinstance(decision.context, Choice):
            yield from (-1, len(decision.context), 0.5, [0])
            gone = np.flatnonzero(~decision.context.available)
            if len(gone) and decision.kind != "DuelingBandit":
                yield int(gone[0])

    def unusable(self) -> Iterator[Any]:
        """Contexts that no learner of dimension DIM can decide on."""
        yield from (None, 3, np.zeros(DIM))
        maker = Ranking if self.form == "ranking" else Choice
        yield maker(np.zeros((3, DIM + 1)))
        yield maker(sparse.csr_array(np.zeros((3, DIM - 1))))


LOOPS: dict[str, list[Any]] = {"coactive": [Coactive("ranking"), Coactive("choice"), Coactive("structure")]}


@dataclass(frozen=True)
class Case:
    """One learner in one form of its loop."""

    name: str
    loop: Any

    def make(self, **changes: Any) -> Learner:
        return learners[self.name](**{**cards[self.name].example, **changes})

    def __str__(self) -> str:
        return f"{self.name}-{self.loop.form}"


CASES = [Case(name, loop) for name, card in cards.items() for loop in LOOPS[card.loop]]
WRITABLE = [case for case in CASES if case.loop.form != "structure"]


def play(case: Case, learner: Learner, contexts: list[Any], seed: int = 0) -> list[tuple[Decision, Any]]:
    """Decide and learn in turn; return the log."""
    log = []
    for context in contexts:
        decision = learner.decide(context)
        feedback = case.loop.feedback(learner, decision, seed)
        learner.learn(decision, feedback)
        log.append((decision, feedback))
    return log
