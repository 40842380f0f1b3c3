"""A bound on the influence of one feedback: rows of features far beyond the usual are scaled down before the step.

The guard looks at features, never at steps: one that held back large steps would leave a learner deaf when tastes turn.
It is part of the fold: what it has seen is saved with the learner, so that replays, snapshots and what-if agree.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from smidgen import serialization
from smidgen.decision import Decision, FloatArray
from smidgen.errors import InvalidRecord, NotSaveable, SmidgenError
from smidgen.features import Row
from smidgen.features.rows import longest as longest_of
from smidgen.features.rows import longest_row
from smidgen.serialization import UNREADABLE
from smidgen.state import LearntNumbers
from smidgen.structures import Choice, Ranking, structured
from smidgen.structures.slots import Page

#: Number of rows that are kept and then learned again under the bound.
FIRST = 20
#: A row may be this many times as long as the quantile; a longer one is scaled to the quantile.
TIMES = 10.0
#: The share of rows that are no longer than the quantile, in percent.
PERCENT = 95
#: Past this many rows all counts are halved: the bound follows features whose scale changes permanently.
MEMORY = 1_000
#: The kept rows are learned again earlier if they take more bytes than this.
KEPT_BYTES = 1 << 22
_STEPS = 8  # buckets between a power of two and the next
_HINT = "give what Learner.save wrote; if it was that, restore it from a copy"


class Lengths:
    """Distribution of row lengths: counts in buckets an eighth of a power of two wide, so that nothing rounds.

    Examples
    --------
    >>> from smidgen.learners.guard import Lengths
    >>> seen = Lengths()
    >>> for length in [1.0] * 19 + [1e100]:
    ...     seen.add(length)
    >>> seen.quantile()
    1.125
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self._total = 0

    def add(self, length: float) -> None:
        """Count a length above zero."""
        share, power = math.frexp(length)
        bucket = power * _STEPS + int((share - 0.5) * 2 * _STEPS)
        self._counts[bucket] = self._counts.get(bucket, 0) + 1
        self._total += 1
        if self._total >= MEMORY:
            self._halve()

    def add_all(self, lengths: FloatArray) -> None:
        """Count lengths above zero, one after the other."""
        shares, powers = np.frexp(lengths)
        buckets = (powers * _STEPS + ((shares - 0.5) * 2 * _STEPS).astype(np.int64)).tolist()
        while buckets:
            now, buckets = buckets[: MEMORY - self._total], buckets[MEMORY - self._total :]
            for bucket, count in Counter(now).items():
                self._counts[bucket] = self._counts.get(bucket, 0) + count
            self._total += len(now)
            if self._total >= MEMORY:
                self._halve()

    def _halve(self) -> None:
        self._counts = {each: count // 2 for each, count in self._counts.items() if count > 1}
        self._total = sum(self._counts.values())

    def least(self) -> float:
        """Lower bound on every quantile until a shorter row is added."""
        return _end(min(self._counts)) if self._counts else math.inf

    def quantile(self) -> float:
        """The upper end of the bucket in which the 95 % quantile lies."""
        left = -(-PERCENT * self._total // 100)
        for bucket in sorted(self._counts):
            left -= self._counts[bucket]
            if left <= 0:
                return _end(bucket)
        return math.inf

    def pairs(self) -> list[tuple[int, int]]:
        """Buckets and counts, in order."""
        return sorted(self._counts.items())

    @classmethod
    def of(cls, pairs: list[tuple[int, int]]) -> Lengths:
        """Restore from `pairs`."""
        made = cls()
        made._counts = dict(pairs)
        made._total = sum(made._counts.values())
        powers = [bucket // _STEPS for bucket in made._counts]
        fits = len(made._counts) == len(pairs) and made._total < MEMORY
        if not fits or any(count < 1 for _, count in pairs) or any(abs(power) > 1100 for power in powers):
            raise InvalidRecord("the guard's recorded norms are not valid", _HINT)
        return made


def _end(bucket: int) -> float:
    """The upper end of a bucket."""
    power, step = divmod(bucket, _STEPS)
    return math.ldexp(0.5 + (step + 1) / (2 * _STEPS), min(power, 1010))


class _Saved(msgspec.Struct, array_like=True):
    """A guard as bytes."""

    scaled: int
    settled: bool
    lengths: list[tuple[int, int]]
    kept: list[tuple[bytes, bytes]]
    start: bytes | None = None


_saved = msgspec.msgpack.Decoder(_Saved)


class _Guarded(Protocol):
    """Interface of a `Learner` that a guard needs."""

    _learnt: LearntNumbers

    def fresh(self) -> Self: ...
    def start(self) -> dict[str, NDArray[Any]]: ...
    def to_compact(self, decision: Decision) -> bytes: ...
    def from_compact(self, content: bytes | memoryview) -> Decision: ...
    def _learn(self, decision: Decision, feedback: Any) -> None: ...
    def _state(self) -> dict[str, NDArray[Any]]: ...
    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None: ...
    def _notes(self) -> dict[str, Any]: ...
    def _take_notes(self, notes: Mapping[str, Any]) -> None: ...
    def _start_from(self, start: Mapping[str, NDArray[Any]]) -> None: ...


class Guard:
    """Scales down the rows that a learner learns from, where they are far longer than the usual.

    The length of a decision is that of its longest row; decisions without features, or with zeros only, do not count.
    The first `FIRST` decisions are learned as they are and kept; then all are learned again under the bound, so that an
    outlier among them does no more harm than one after them. From then on a decision longer than `TIMES` times the 95 %
    quantile of those before it is scaled down to that quantile.
    """

    def __init__(self) -> None:
        self.scaled = 0  #: how many decisions were scaled down
        self._lengths = Lengths()
        self._settled = False
        self._kept: deque[tuple[Decision, Any]] = deque()
        self._seen = 0
        self._bytes = 0
        self._start: Mapping[str, NDArray[Any]] | None = None  # what the learner began with

    def begin(self, start: Mapping[str, NDArray[Any]]) -> None:
        """Keep the learner's initial state, until its first decisions need not be learned again."""
        self._start = {name: array.copy() for name, array in start.items()}

    def learn(self, learner: _Guarded, decision: Decision, feedback: Any) -> None:
        """Let the learner take its step, under the bound; a refusal leaves everything as it was."""
        length = longest(decision.context)
        if not self._settled:
            learner._learn(decision, feedback)
            self._keep(learner, decision, feedback, length)
            return
        taken = self._bounded(decision, length)
        learner._learn(taken, feedback)
        self.scaled += taken is not decision
        if length > 0.0:
            self._lengths.add(length)

    @property
    def settled(self) -> bool:
        """True if the first decisions are over."""
        return self._settled

    def unbounded(self, lengths: FloatArray) -> tuple[int, Lengths]:
        """Number of the next decisions, given their lengths, that are learned unscaled; and all lengths seen by then.

        The guard is past its first decisions; nothing changes before `passed` is called.
        """
        seen = Lengths.of(self._lengths.pairs())
        above = lengths[lengths > 0.0]
        if not len(above) or above.max() <= TIMES * min(seen.least(), above.min()):  # none can be too long
            seen.add_all(above)
            return len(lengths), seen
        for count, length in enumerate(lengths.tolist()):
            if TIMES * seen.quantile() < length:
                return count, seen
            if length > 0.0:
                seen.add(length)
        return len(lengths), seen

    def passed(self, seen: Lengths) -> None:
        """The decisions of `unbounded` were learnt."""
        self._lengths = seen

    def _bounded(self, decision: Decision, length: float) -> Decision:
        usual = self._lengths.quantile()
        if not TIMES * usual < length:
            return decision
        return msgspec.structs.replace(decision, context=scaled(decision.context, usual))

    def _keep(self, learner: _Guarded, decision: Decision, feedback: Any, length: float) -> None:
        self._kept.append((decision, feedback))
        self._bytes += _bytes(decision.context)
        if length > 0.0:
            self._lengths.add(length)
            self._seen += 1
        if self._seen >= FIRST or self._bytes > KEPT_BYTES:
            self._settle(learner)

    def _settle(self, learner: _Guarded) -> None:
        """Learn the first decisions again, under the bound that they set."""
        bounded = [self._bounded(decision, longest(decision.context)) for decision, _ in self._kept]
        if any(mine is not theirs for mine, (theirs, _) in zip(bounded, self._kept, strict=True)):
            twin = learner.fresh()
            twin._take_notes(learner._notes())
            if self._start is not None:
                twin._start_from(self._start)
            for (before, feedback), taken in zip(self._kept, bounded, strict=True):
                with suppress(SmidgenError):
                    twin._learn(taken, feedback)
                    twin._learnt.add(before.number)
                self.scaled += taken is not before
            learner._restore(twin._state())
        self._kept.clear()
        self._settled, self._bytes, self._seen, self._start = True, 0, 0, None

    def array(self, learner: _Guarded) -> NDArray[np.uint8]:
        """All that it remembers, as bytes."""
        kept = [(learner.to_compact(decision), serialization.encode(feedback)) for decision, feedback in self._kept]
        start = None if self._start is None else serialization.encode(self._start)
        saved = _Saved(self.scaled, self._settled, self._lengths.pairs(), kept, start)
        return np.frombuffer(msgspec.msgpack.encode(saved), np.uint8)

    @classmethod
    def of(cls, learner: _Guarded, array: NDArray[Any]) -> Guard:
        """The guard of this learner that `array` gave."""
        if array.dtype != np.uint8 or array.ndim != 1:
            raise InvalidRecord("the guard is not a byte string", _HINT)
        try:
            saved = _saved.decode(array.tobytes())
        except UNREADABLE as error:
            raise InvalidRecord(f"the guard cannot be read: {error}", _HINT) from error
        made = cls()
        made.scaled, made._settled, made._lengths = saved.scaled, saved.settled, Lengths.of(saved.lengths)
        if saved.start is not None:
            made._start = serialization.decode(saved.start)
            fits = isinstance(made._start, dict) and made._start.keys() == learner.start().keys()
            if not fits or not all(isinstance(each, np.ndarray) for each in made._start.values()):
                raise InvalidRecord("the initial state of the guarded learner cannot be read", _HINT)
        for brief, feedback in saved.kept:
            decision = learner.from_compact(brief)
            made._kept.append((decision, serialization.decode(feedback)))
            made._bytes += _bytes(decision.context)
            made._seen += longest(decision.context) > 0.0
        if saved.scaled < 0 or (saved.settled and saved.kept) or made._seen >= FIRST:
            raise InvalidRecord("the guard's parts do not match", _HINT)
        return made


def longest(context: Any) -> float:
    """The length of the longest row of features; 0 if there are none, or if it is unknown."""
    if type(context) is Ranking or type(context) is Choice:  # as below, at once
        return longest_row(context.rows)
    if isinstance(context, Row):
        return longest_of(np.asarray(context.values, dtype=np.float64)[None, :])
    if isinstance(context, Page):
        return context.longest()
    known = structured(context)
    return 0.0 if known is None else known.longest()


def scaled(context: Any, length: float) -> Any:
    """Copy of the context scaled so that its longest row has that length."""
    factor = length / longest(context)
    if isinstance(context, Row):
        with np.errstate(under="ignore"):
            return Row(context.indices, (context.values * factor).astype(context.values.dtype), context.dim)
    return context.scaled(factor)


def _bytes(context: Any) -> int:
    """Bytes needed to keep a context; a context of unknown length is not kept."""
    if isinstance(context, Row):
        return context.values.nbytes + context.indices.nbytes
    if isinstance(context, (Ranking, Choice)):
        return 16 * context.rows.shape[0] * context.rows.shape[1]
    if isinstance(context, Page):
        return sum(_bytes(choice) for choice in context.choices)
    if structured(context) is None:
        return 64
    with suppress(NotSaveable):
        return len(serialization.encode(context)) if longest(context) > 0.0 else KEPT_BYTES + 1
    return KEPT_BYTES + 1
