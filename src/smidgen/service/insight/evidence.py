"""What a model's health is judged by: the latest decisions and feedbacks of its log, so many and no more.

All of it is read through a reading view, never by the writer, and each part only when a finding asks for it. A model
with a million decisions costs as much as one with a thousand.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from typing import NamedTuple

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.service.insight.quality import committed
from smidgen.service.insight.tables import FeatureTable, table
from smidgen.service.insight.tracing import Step, Tracing
from smidgen.service.models.served import Served
from smidgen.service.store.events import Event
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import Counts, Outcome

#: How many of the latest decisions are looked at, and how many of them with their features.
DECISIONS, WITH_FEATURES = 400, 100
#: How many of the latest learnt feedbacks are looked at (and of the first), and how many of them step by step.
FEEDBACKS, STEPS = 200, 100
#: How many events of the beginning are looked at.
FIRST_EVENTS = 1_000
#: How many bytes of features, and of feedback with its decisions, are read at most.
BYTES = 4 << 20


class Beginning(NamedTuple):
    """The first feedbacks that were learnt, and the first decisions.

    Attributes
    ----------
    measured, total, squares
        How many of the first feedbacks have a measure; the sum of the measures, and of their squares.
    explored
        How many of the first decisions explored.
    """

    measured: int
    total: float
    squares: float
    explored: int

    def all_are(self, value: float) -> bool:
        """Whether every measure is this one."""
        spread = self.squares - 2.0 * value * self.total + self.measured * value * value
        return spread <= 1e-9 * max(1.0, self.squares)


class Evidence:
    """The latest of a model's log.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    now
        Seconds since 1970: windows are over, or are not.
    """

    def __init__(self, reading: Reading, model: Served, now: float) -> None:
        self.reading = reading
        self.model = model
        self.now = now
        self.counts: Counts = committed(reading, model)
        self.loop = model.blueprint.loop
        self.card = model.blueprint.card
        self._log = EventLog(reading)
        self._made: dict[int, Decision] = {}

    @property
    def learns_silence(self) -> bool:
        """Whether it learns what silence is worth, when a window is over."""
        return self.model.blueprint.terms.default_reward is not None

    @property
    def best(self) -> float | None:
        """The measure of good news; None where there is no such."""
        if self.loop.silence is None:
            return None
        return 1.0 if self.loop.share else self.model.blueprint.terms.reward_range[1]

    @cached_property
    def latest(self) -> list[Outcome]:
        """The latest decisions, oldest first."""
        return [Outcome(*row) for row in self.reading.look("lately", self.model.slot, limit=DECISIONS)][::-1]

    @cached_property
    def shown(self) -> list[Outcome]:
        """Those of them that anybody saw."""
        return [row for row in self.latest if row.went_out]

    @cached_property
    def ended(self) -> list[Outcome]:
        """The latest decisions that anybody saw and whose window is over, oldest first."""
        rows = self.reading.look("ended", self.model.slot, now=self.now, limit=DECISIONS)
        return [row for row in (Outcome(*each) for each in rows) if row.went_out][::-1]

    @cached_property
    def answers(self) -> list[Outcome]:
        """The latest decisions from which something was learnt, oldest first."""
        return [Outcome(*row) for row in self.reading.look("answers", self.model.slot, limit=FEEDBACKS)][::-1]

    @cached_property
    def measures(self) -> list[float]:
        """Their figures, where they have any."""
        return [row.measure for row in self.answers if row.measure is not None]

    @cached_property
    def beginning(self) -> Beginning:
        """How it began."""
        slot = self.model.slot
        learnt = self.reading.look("learnt_blocks", slot, after=0, upto=FEEDBACKS, block=FEEDBACKS)
        made = self.reading.look("made_blocks", slot, after=0, upto=FIRST_EVENTS, block=FIRST_EVENTS)
        _, _, measured, total, squares, *_ = learnt[0] if learnt else (0,) * 8
        return Beginning(int(measured), float(total), float(squares), int(made[0][2]) if made else 0)

    @cached_property
    def decisions(self) -> list[Decision]:
        """The latest decisions with their features, oldest first; fewer, if they are large."""
        found: list[Decision] = []
        size = 0
        for row in reversed(self.latest[-WITH_FEATURES:]):
            event = self.reading.event(self.model.slot, row.seq)
            if event is None or event.type != "decision":  # erased meanwhile
                continue
            size += len(event.body or b"")
            if size > BYTES and found:
                break
            try:
                found.append(self._recall(event))
            except InvalidRecord:  # of settings that are not known any more: smidgen log verify tells more
                continue
        return found[::-1]

    @cached_property
    def table(self) -> FeatureTable:
        """The features of these decisions, column by column."""
        return table([decision.context for decision in self.decisions])

    def column(self, index: int) -> str:
        """What a column is called: by its name, or as the loop calls what has none."""
        names, hashed = self.model.blueprint.names, self.model.hashed
        called = hashed.called(index) if hashed is not None else None
        return names[index] if names is not None else called or self.loop.weight_name(index)

    @cached_property
    def steps(self) -> list[Step]:
        """The latest feedbacks, each with what it did to a twin of the learner, oldest first."""
        return Tracing(self.reading, self.model, self._recall).steps(self.answers[-STEPS:], self.counts.version, BYTES)

    def _recall(self, event: Event) -> Decision:
        """A decision's record, read once."""
        if (made := self._made.get(event.seq)) is None:
            made = self._made[event.seq] = self._log.made(self.model, event)
        return made

    @cached_property
    def kinds(self) -> Counter[str]:
        """How often each kind of feedback came; what the model was made for, as long as nothing has come."""
        heard = Counter(step.kind for step in self.steps)
        usual = self.model.blueprint.feedback
        return heard or Counter({usual: 0} if usual is not None else {})
