"""What the laws of a loop need of it: contexts to decide on, feedback that can come, and feedback that cannot."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from smidgen.decision import Decision
from smidgen.records import structure
from smidgen.structures import Choice, Clicks, Ranking
from smidgen.testing.sparse import as_sparse


@dataclass(frozen=True)
class Form(ABC):
    """One form of a loop. Derive from it to hold learners of a loop of your own against the laws.

    Attributes
    ----------
    name
        What it is called.
    dim
        How many features there are.
    """

    name: str
    dim: int = 4

    @abstractmethod
    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """So many contexts, the same for the same seed; with ``as_csr``, the same features as sparse rows."""

    @abstractmethod
    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Feedback that may come for a decision: by a careless user, the same for the same seed and number."""

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """The answer that an example may have, for `Learner.teach`."""
        return self.feedback(learner, learner.decide(context), seed)

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Feedback that cannot exist."""
        yield from (None, "better", float("nan"), [[0]], {"rank": 1})

    def unusable(self) -> Iterator[Any]:
        """Contexts that no learner of this dimension can decide on."""
        yield from ()

    def huge(self) -> list[Any]:
        """Contexts at the end of floating point."""
        return []

    def resized(self, context: Any, sizes: Any) -> Any:
        """A context whose columns are scaled by what ``sizes`` gives for their number; one without stays as it is."""
        return context

    def resized_feedback(self, feedback: Any, sizes: Any) -> Any:
        """Feedback of another size, where it has one."""
        return feedback

    def may_learn(self, learner: Any, decision: Decision) -> bool:
        """Whether a decision can have feedback: all can, but for what a filter drops."""
        return True


def times(values: Any, sizes: Any) -> Any:
    """Products of any size, cut where floating point ends."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.asarray(values) * sizes, posinf=1e308, neginf=-1e308)


@structure("smidgen.testing.NBest")
@dataclass(frozen=True, eq=False)
class NBest:
    """A structure that is neither a ranking nor a choice, and gives no more than it must."""

    rows: Any

    def phi(self, y: int) -> Any:
        """The features of one of them."""
        return self.rows[y]

    def argmax(self, w: Any) -> int:
        """The best of them."""
        with np.errstate(all="ignore"):
            return int(np.argmax(self.rows @ w))

    def candidates(self) -> list[int]:
        """All of them."""
        return list(range(len(self.rows)))


@dataclass(frozen=True)
class CoactiveForm(Form):
    """Rank or choose, and hear of something better."""

    def contexts(self, seed: int, n: int, *, as_csr: bool = False) -> list[Any]:
        """Rankings, choices or lists, some columns empty."""
        rng = np.random.default_rng(seed)
        made: list[Any] = []
        for _ in range(n):
            rows = rng.normal(size=(int(rng.integers(2, 9)), self.dim)) * (rng.random(self.dim) < 0.7)
            features = as_sparse(rows) if as_csr else rows
            if self.name == "ranking":
                made.append(Ranking(features, top=int(rng.integers(1, 4))))
            elif self.name == "choice":
                made.append(Choice(features, rng.permutation(len(rows))[: rng.integers(1, len(rows) + 1)]))
            else:
                made.append(NBest(rows))
        return made

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Any object of the right form: the laws hold for careless users too."""
        rng = np.random.default_rng([seed, decision.number])
        context = decision.context
        if isinstance(context, Ranking):
            return rng.permutation(len(context))
        if learner.card.shows_pairs:
            return int(rng.integers(2))
        if isinstance(context, Choice):
            return int(rng.choice(np.flatnonzero(context.available)))
        return int(rng.integers(len(context.rows)))

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An order, or the first that is on offer."""
        if isinstance(context, Ranking):
            return np.random.default_rng(seed).permutation(len(context))
        return int(np.flatnonzero(context.available)[0]) if isinstance(context, Choice) else 0

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Strange documents, too few, too many, twice; items that are not on offer."""
        yield from super().impossible(learner, decision)
        if isinstance(decision.context, Ranking):
            n = len(decision.context)
            yield from (np.zeros(n, int), np.arange(n - 1), np.arange(1, n + 1), np.arange(n) * 1.0, 0)
            yield np.append(np.arange(n), n)
        elif isinstance(decision.context, Choice):
            yield from (-1, len(decision.context), 0.5, [0])
            gone = np.flatnonzero(~decision.context.available)
            if len(gone) and not learner.card.shows_pairs:
                yield int(gone[0])

    def unusable(self) -> Iterator[Any]:
        """What is no structure, and rows of another length."""
        yield from (None, 3, np.zeros(self.dim))
        maker = Ranking if self.name == "ranking" else Choice
        yield maker(np.zeros((3, self.dim + 1)))
        yield maker(as_sparse(np.zeros((3, max(1, self.dim - 1)))) if self.dim > 1 else np.zeros((3, 3)))

    def huge(self) -> list[Any]:
        """Rows of 1e300."""
        return [self.resized(c, lambda d: np.full(d, 1e300)) for c in self.contexts(10, 5)]

    def resized(self, context: Any, sizes: Any) -> Any:
        """Other rows in the same form."""
        if isinstance(context, NBest):
            return NBest(times(context.rows, sizes(context.rows.shape[1])))
        rows = context.rows.dense()
        return type(context)(times(rows, sizes(rows.shape[1])))


@dataclass(frozen=True)
class Rewarded(CoactiveForm):
    """Choose, and hear a number in [0, 1] for what was shown."""

    def answer(self, learner: Any, context: Any, seed: int) -> Any:
        """An item with its reward."""
        rng = np.random.default_rng([seed, 99])
        return int(rng.choice(np.flatnonzero(context.available))), float(rng.random())

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """A reward, in several Python forms."""
        rng = np.random.default_rng([seed, decision.number])
        forms: list[Any] = [0.0, 1.0, 0, 1, float(rng.random()), np.float32(rng.random())]
        return forms[rng.integers(6)]

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """What is no number, or none from 0 to 1."""
        yield from (None, "better", float("nan"), float("inf"), [[0]], {"rank": 1}, True, -0.1, 1.5, 2, [0.5], 0.5j)


@dataclass(frozen=True)
class Clicking(CoactiveForm):
    """Rank, and hear clicks, or none, or of a better ranking."""

    def feedback(self, learner: Any, decision: Decision, seed: int) -> Any:
        """Mostly clicks."""
        rng = np.random.default_rng([seed, decision.number])
        n = len(decision.context)
        if "better" in learner.card.kinds and rng.random() < 0.3:
            return rng.permutation(n)
        return Clicks(rng.permutation(n)[: rng.integers(0, 3)])

    def impossible(self, learner: Any, decision: Decision) -> Iterator[Any]:
        """Clicks on what was not there."""
        yield from super().impossible(learner, decision)
        yield from (Clicks([len(decision.context)]), Clicks([0, 10**6]))

    def unusable(self) -> Iterator[Any]:
        """What cannot be ranked."""
        yield from super().unusable()
        yield from (Choice(np.zeros((3, self.dim))), NBest(np.zeros((3, self.dim))))
