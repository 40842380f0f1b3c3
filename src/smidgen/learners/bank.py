"""Common parts of banks of models: random cosines of a row, the leading model, and restarts when rewards fall.

All models of a bank learn every reward. The plain one decides, unless another was closer to the rewards of what was
shown, by more than one standard error of the difference (prequential: each reward is estimated before it is learnt).
Rewards that fall (the last 100 against up to 400 before them, five standard errors) start all models from scratch. All
of it is part of what is saved, and changes in `learn` only: decisions that are never learnt cost nothing.

Rewards are counted in the order of the decisions. Where answers come late (silence, at the end of a window), the others
wait for them: as many decisions as the latest answer so far was late, and half of that more. An answer that is later
than that makes the counting begin again: so neither the first window nor a burst of silence looks like a change.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from smidgen._core import bank
from smidgen.decision import FloatArray
from smidgen.errors import InvalidRecord
from smidgen.randomness import DIRECTION, stream_key
from smidgen.state.second_order import Indices

#: Who leads, as the compiled core says it (_core/bank.cpp), and by name.
PLAIN, CURVED, ARMS = 0, 1, 2
LEADERS = ("plain", "curved", "context-free")
#: The number of cosines; columns from DIRECTIONS on share the directions of those below.
COSINES, DIRECTIONS = 100, 4096
#: The length of a book, and where it says who leads, how many answers there were, where the next one goes, how far
#: others were ahead, whether answers have been late, and the latest rewards.
BOOK, LEADER, ANSWERS, NEXT, GAINS, LATE, RING = 511, 0, 1, 2, 6, 10, 11
#: Number of fresh starts that are remembered, the latest.
REMEMBERED = 16
_HINT = "give what Learner.save wrote"
#: Columns in use up to which matrices are full.
LARGE = 256

#: Ω/2π by column and, behind it, the phases; which of them are made; the key that makes them.
Directions: TypeAlias = tuple[FloatArray, NDArray[np.uint8], NDArray[np.uint64]]


@lru_cache(maxsize=8)
def directions(seed: int) -> Directions:
    """The directions of a seed, made as columns come; learners of one seed share them."""
    return np.zeros((DIRECTIONS + 1, COSINES)), np.zeros(DIRECTIONS + 1, np.uint8), stream_key(seed, DIRECTION)


class Restart(NamedTuple):
    """A fresh start.

    Attributes
    ----------
    round
        How many rewards had been learnt.
    reason
        Why.
    decision
        The number of the decision whose answer was the last before it; 0 if it is not known.
    """

    round: int
    reason: str
    decision: int = 0


def pack_restarts(restarts: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Rounds and decisions of fresh starts, as they are saved: in turn, decisions below zero."""
    return np.array([(at, -number) for at, number in restarts], np.int64).ravel()


def unpack_restarts(saved: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return what `pack_restarts` packed."""
    return [(at, -number) for at, number in saved.reshape(-1, 2).tolist()]


def check_restarts(saved: NDArray[np.int64]) -> None:
    """Refuse what `pack_restarts` does not give."""
    if len(saved) % 2 or (saved[::2] < 1).any() or (saved[1::2] > 0).any() or len(saved) > 2 * REMEMBERED:
        raise InvalidRecord("its fresh starts have another layout than this version writes", _HINT)


#: Answers to decisions further back than this are not counted, and no more of them wait.
FURTHEST = 4096


class Book:
    """State of a bank: the leader, the latest rewards in the order of decisions, and the restarts."""

    __slots__ = ("_counted", "_hold", "_newest", "_restarts", "_waiting", "numbers")

    def __init__(self) -> None:
        self.numbers: FloatArray = np.zeros(BOOK)
        self._restarts: list[tuple[int, int]] = []
        self._newest, self._hold, self._counted = 0, 0, 0
        self._waiting: list[tuple[int, float]] = []  # a heap of decisions and rewards

    @property
    def leader(self) -> int:
        """Index of the leading model."""
        return int(self.numbers[LEADER])

    @property
    def restarts(self) -> list[Restart]:
        """The latest fresh starts."""
        return [Restart(at, "rewards changed", number) for at, number in self._restarts]

    def is_next(self, number: int) -> bool:
        """True if an answer counts at once: none before it is newer, and none has been late.

        The answers to the slots of one decision follow one another.
        """
        return not self._hold and number >= self._newest

    def take_turn(self, number: int) -> None:
        """Note that the answer to a decision was counted at once."""
        self._newest = self._counted = number

    def follow(self, plain: float, curved: float | None) -> None:
        """Take the squared errors of the models."""
        bank.follow_errors(self.numbers, plain, -1.0 if curved is None else curved, -1.0)

    def count(self, reward: float) -> bool:
        """Count a reward; whether rewards have fallen."""
        return bank.count_reward(self.numbers, reward)

    def count_late(self, number: int, reward: float) -> bool:
        """Let an answer take its turn, and count those whose turn it is; whether rewards have fallen."""
        late = self._newest - number
        self._newest = max(self._newest, number)
        if late > FURTHEST:
            return False
        if late > self._hold:
            self._hold = min(FURTHEST, late + -(-late // 2))
            self.numbers[ANSWERS:GAINS] = 0.0
            self.numbers[RING:], self.numbers[LATE] = 0.0, 1.0
        if number > self._counted:
            heapq.heappush(self._waiting, (number, reward))
        fallen = False
        while self._waiting and (self._waiting[0][0] + self._hold <= self._newest or len(self._waiting) > FURTHEST):
            self._counted, worth = heapq.heappop(self._waiting)
            fallen = self.count(worth) or fallen
        return fallen

    def start_again(self, now: int, number: int) -> None:
        """Forget the rewards and the leader, and remember the fresh start: its round and its decision."""
        self.numbers = np.zeros(BOOK)
        self.numbers[LATE] = float(self._hold > 0)
        self._restarts = [*self._restarts, (now, number)][-REMEMBERED:]
        self._counted, self._waiting = self._newest, []  # what was decided before says nothing of the new models

    def copy(self) -> Book:
        """Another one of the same content."""
        made = Book()
        made.numbers, made._restarts, made._waiting = self.numbers.copy(), list(self._restarts), list(self._waiting)
        made._newest, made._hold, made._counted = self._newest, self._hold, self._counted
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All that is remembered."""
        waiting = sorted(self._waiting)
        return {
            "book": self.numbers,
            "restarts": pack_restarts(self._restarts),
            "turns": np.array([self._newest, self._hold, self._counted], np.int64),
            "waiting": np.array([number for number, _ in waiting], np.int64),
            "waiting_rewards": np.array([reward for _, reward in waiting], np.float64),
        }

    @staticmethod
    def check(arrays: Mapping[str, NDArray[Any]]) -> None:
        """Refuse arrays of the right form whose numbers no book has: kernels go where they point."""
        book, starts = arrays["book"], arrays["restarts"]
        sound = (
            bool(np.isfinite(book).all())
            and book[LEADER] in (PLAIN, CURVED, ARMS)
            and book[ANSWERS] >= 0.0
            and book[LATE] in (0.0, 1.0)
        )
        waits, turns = len(arrays["waiting"]), arrays["turns"]
        sound = sound and waits == len(arrays["waiting_rewards"]) and waits <= FURTHEST and 0 <= turns[1] <= FURTHEST
        check_restarts(starts)
        if not sound or not 0.0 <= book[NEXT] < BOOK - RING or book[NEXT] % 1.0:
            raise InvalidRecord("the book of the bank is not one", _HINT)

    KEYS = ("book", "restarts", "turns", "waiting", "waiting_rewards")

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over saved arrays."""
        self.numbers = arrays["book"]
        self._restarts = unpack_restarts(arrays["restarts"])
        self._newest, self._hold, self._counted = arrays["turns"].tolist()
        self._waiting = list(zip(arrays["waiting"].tolist(), arrays["waiting_rewards"].tolist(), strict=True))


def unit_entries(idx: Indices, val: FloatArray, dim: int, seed: int, curved: bool) -> tuple[Indices, FloatArray]:
    """The entries of a row of unit length, with its cosines (columns from ``dim`` on) if asked for."""
    size = len(val) + (COSINES if curved else 0)
    where, what = np.empty(size, np.uint32), np.empty(size)
    n = bank.seen_row(idx, val, dim, curved, directions(seed), where, what)
    return where[:n], what[:n]


def curvature_name(names: Mapping[int, str], columns: NDArray[Any]) -> str:
    """A common name for all cosine columns: the curvature of the named features."""
    found = sorted({names[c] for c in columns.tolist() if c in names and names[c] != "(constant)"})
    return f"(curvature of {', '.join(found[:3])}{', …' if len(found) > 3 else ''})" if found else "(curvature)"
