"""The part of a log that health checks look at.

What each feedback did: the latest of a log, learnt again by a twin that begins with nothing.

The twin has the settings of the served learner and reads the same records; its weights are seen before and after each
step. It belongs to the request, so nobody else waits for it.

The evidence for health checks: a limited number of the latest decisions and feedbacks of a model's log.

All of it is read through a reading view, never by the writer, and each part only when a finding asks for it. A model
with a million decisions costs as much as one with a thousand.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smidgen.decision import Decision, FloatArray, IntArray
from smidgen.errors import InvalidRecord, NoWeights, SmidgenError
from smidgen.features import DenseRows, Encoded, Row
from smidgen.learners import Feedback, Learner
from smidgen.learners.pipeline import as_row_decision, unwrap
from smidgen.service.engine.description import committed_counts
from smidgen.service.engine.log_reader import EventLog, decode_feedback
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.replay import LearningEvent, as_learner_input
from smidgen.service.engine.restarts import InMemory, ModelRestart, detects_change, read_restarts
from smidgen.service.log import codec
from smidgen.service.log import events as log_events
from smidgen.service.log.events import Event
from smidgen.service.schemas import Code, Finding, Severity
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import Counts, Outcome
from smidgen.structures import Choice, Clicks, Ranking

# The features of many decisions, column by column: how large they are, and whether they tell anything apart.

#: Maximum number of numbers that are compared.
NUMBERS = 1_000_000


class Lines(NamedTuple):
    """The rows of one decision, as CSR arrays."""

    starts: IntArray
    columns: NDArray[Any]
    values: FloatArray


class FeatureTable(NamedTuple):
    """Figures of columns over the rows of many decisions.

    Attributes
    ----------
    decisions, rows
        How many there were.
    columns
        The columns that were met, in order.
    size
        Of each: the root of its mean square, where it is not zero.
    varies
        Of each: whether it takes two values: among the candidates of a decision, or among all rows if a decision has
        one row.
    fixed
        Of each: whether it has one value throughout, other than zero.
    alike
        In how many decisions of at least two candidates all rows are the same; of single rows, all decisions or none.
    compared
        How many decisions there are in which rows can be compared.
    """

    decisions: int
    rows: int
    columns: IntArray
    size: FloatArray
    varies: NDArray[np.bool_]
    fixed: NDArray[np.bool_]
    alike: int
    compared: int


def lines(context: Any) -> Lines | None:
    """The rows of a decision; new names of a record have columns beyond its own."""
    if isinstance(context, Row):
        return _entries(np.array([0, len(context.indices)]), context.indices, context.values)
    if isinstance(context, Encoded):
        new = np.arange(context.dim, context.dim + len(context.names), dtype=np.uint32)
        return _entries(*context.with_columns(new))
    if not isinstance(context, Ranking | Choice):
        return None
    rows = context.rows
    if isinstance(rows, DenseRows):
        n, d = rows.shape
        return _entries(np.arange(0, n * d + 1, d), np.tile(np.arange(d), n), rows.array.ravel())
    return _entries(rows.indptr, rows.indices, rows.data)


def _entries(starts: Any, columns: Any, values: Any) -> Lines:
    """Without the entries that are zero: there and not there are the same."""
    given = np.asarray(values, dtype=np.float64)
    kept = given != 0.0
    before = np.concatenate([[0], np.cumsum(kept)])
    return Lines(before[np.asarray(starts, dtype=np.int64)], np.asarray(columns)[kept].astype(np.int64), given[kept])


def table(contexts: list[Any]) -> FeatureTable:
    """Figures over the contexts of decisions; those without features are passed over."""
    parts: list[Lines] = []
    offers, left = False, NUMBERS
    for context in reversed(contexts):
        part = lines(context)
        if part is None:
            continue
        left -= len(part.values)
        if left < 0 and parts:
            break
        parts.append(part)
        offers = offers or isinstance(context, Ranking | Choice) or bool(getattr(context, "candidates", False))
    if not parts:
        none = np.zeros(0)
        return FeatureTable(0, 0, none.astype(np.int64), none, none.astype(np.bool_), none.astype(np.bool_), 0, 0)
    several = [each for each in parts if len(each.starts) > 2] if offers else [_stacked(parts)]
    met, place = np.unique(np.concatenate([each.columns for each in parts]), return_inverse=True)
    values = np.concatenate([each.values for each in parts])
    count = np.bincount(place, minlength=len(met))
    with np.errstate(over="ignore"):
        size = np.sqrt(np.bincount(place, weights=values**2, minlength=len(met)) / np.maximum(count, 1))
    varies = np.zeros(len(met), np.bool_)
    for each in several:
        varies[np.searchsorted(met, _varying(each))] = True
    rows = sum(len(each.starts) - 1 for each in parts)
    fixed = (count == rows) & ~_spread(place, values, len(met))
    alike = sum(not len(_varying(each)) for each in several if len(each.starts) > 2)
    compared = len(several) if offers else len(parts) if len(parts) > 1 else 0
    return FeatureTable(len(parts), rows, met, size, varies, fixed, alike if offers else alike * len(parts), compared)


def _stacked(parts: list[Lines]) -> Lines:
    """Single rows, one below the other."""
    ends = np.cumsum([len(each.values) for each in parts])
    return Lines(
        np.concatenate([[0], ends]),
        np.concatenate([each.columns for each in parts]),
        np.concatenate([each.values for each in parts]),
    )


def _varying(rows: Lines) -> IntArray:
    """The columns that do not have one value in all rows."""
    met, place, count = np.unique(rows.columns, return_inverse=True, return_counts=True)
    return met[(count < len(rows.starts) - 1) | _spread(place, rows.values, len(met))]


def _spread(place: NDArray[Any], values: FloatArray, n: int) -> NDArray[np.bool_]:
    """Of each of n groups: whether its values differ."""
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    return high > low


#: The events from whose bodies a learner learns about a decision: an answer, or that there was none.
LEARNT = log_events.ANSWERED
#: Number of keys of a keyed model that have a twin: those with the most feedback.
TWINS = 16
#: A twin may hold this many bytes, by its card, and this many weights are compared; larger ones report no steps.
TWIN_BYTES, WEIGHTS = 32 << 20, 200_000
#: Seconds after which no more steps are taken.
PATIENCE_S = 0.5


class Update(NamedTuple):
    """A feedback that was learnt.

    Attributes
    ----------
    version, key
        The version that it made, and whose learner learnt it.
    kind, value
        The kind of feedback (a word of the cards), and what the app sent.
    lesson
        The feedback as the learner took it.
    decision
        What it was the answer to, on rows of features.
    measure
        The loop's figure.
    moved, weight
        How far the twin's weights moved, and how long they are then; None where it is unknown.
    scaled
        Whether the features were scaled down before the step, or those of the first ones after it.
    """

    version: int
    key: str | None
    kind: str
    value: Any
    learner_input: Any
    decision: Decision
    measure: float | None
    moved: float | None
    weight: float | None
    scaled: bool


class UpdateTrace:
    """The latest feedbacks of a model, step by step.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    recall
        Reads the record of a decision's event.
    """

    def __init__(self, reading: StoreReader, model: ServedModel, recall: Callable[[Event], Decision]) -> None:
        self._reading = reading
        self._model = model
        self._recall = recall
        self._twins: dict[str | None, _Twin] = {}

    def steps(self, answers: Sequence[Outcome], versions: int, most: int) -> list[Update]:
        """Updates for these answers, oldest first: the latest whose bodies fit in ``most`` bytes.

        If they are all that the model has learnt (``versions``), names of records find the columns that they have.
        """
        pairs, end = self._pairs(answers, most), time.monotonic() + PATIENCE_S
        traced, whole = self._traced([row for row, _, _ in pairs]), len(pairs) == versions
        found: list[Update] = []
        for row, feedback, made in pairs:
            try:
                twin = self._twin(row.key, whole=whole)
                found.append(self._step(twin, row, feedback, made, row.key in traced and time.monotonic() < end))
            except SmidgenError:  # a record that cannot be read any more, or a twin that refuses it
                continue
        return found

    def _pairs(self, answers: Sequence[Outcome], most: int) -> list[tuple[Outcome, Event, Event]]:
        found: list[tuple[Outcome, Event, Event]] = []
        size = 0
        for row in reversed(answers):
            if row.feedback_seq is None or not self._model.is_current(row.seq):
                continue
            feedback = self._reading.event(self._model.shard, row.feedback_seq)
            made = self._reading.event(self._model.shard, row.seq)
            if feedback is None or made is None or feedback.type not in LEARNT or made.type != "decision":
                continue
            size += len(feedback.body or b"") + len(made.body or b"")
            if size > most and found:
                break
            found.append((row, feedback, made))
        return found[::-1]

    def _traced(self, answers: Sequence[Outcome]) -> set[str | None]:
        """Keys whose learners are traced step by step."""
        settings = self._model.blueprint.settings
        try:
            fits = self._model.blueprint.card.size(settings) <= TWIN_BYTES
        except (AttributeError, LookupError, TypeError, ValueError):  # a plugin's card, for settings of another form
            fits = False
        return {key for key, _ in Counter(row.key for row in answers).most_common(TWINS)} if fits else set()

    def _twin(self, key: str | None, *, whole: bool) -> _Twin:
        if (twin := self._twins.get(key)) is None:
            twin = self._twins[key] = _Twin(self._model.blueprint.learner(key), whole=whole)
        return twin

    def _step(self, twin: _Twin, row: Outcome, feedback: Event, made: Event, traced: bool) -> Update:
        sent = codec.read_feedback(feedback.body, feedback.seq)
        lesson = codec.read_value(sent.learn, feedback.seq)
        decision = codec.as_learnt(self._recall(made), sent.row, feedback.seq)
        field, value = next(iter(sent.feedback.items()), ("", None))
        known = self._model.blueprint.loop.kinds
        kind = str(known.get(field, field) if feedback.type == "feedback" else Feedback.REWARD)  # silence is a reward
        blueprint = self._model.blueprint
        if blueprint.shared.names:
            found, lesson = as_learner_input(twin.learner, LearningEvent(feedback.type, decision, lesson, sent.places))
            decision = rows = found or decision
        else:
            rows = as_row_decision(twin.learner, decision)
        moved, weight, scaled = twin.learn(decision, rows, lesson) if traced else (None, None, False)
        return Update(row.version or 0, row.key, kind, value, lesson, rows, row.measure, moved, weight, scaled)


class _Twin:
    """A learner that begins with nothing, and how its weights move."""

    def __init__(self, learner: Learner, *, whole: bool) -> None:
        self.learner = learner
        self._target = learner if whole else unwrap(learner)
        self._before = self._weights()

    def learn(self, decision: Decision, rows: Decision, lesson: Any) -> tuple[float | None, float | None, bool]:
        """Take the step: how far the weights moved, how long they are, and whether features were scaled down."""
        scaled = self._target.guarded
        self._target.learn(decision if self._target is self.learner else rows, lesson)
        now, before = self._weights(), self._before
        self._before = now
        if now is None or before is None or now.shape != before.shape:
            return None, None, self._target.guarded != scaled
        return _length(now - before), _length(now), self._target.guarded != scaled

    def _weights(self) -> FloatArray | None:
        try:
            weights = np.asarray(self._target.weights, dtype=np.float64)
        except NoWeights:
            return None
        return weights if weights.size <= WEIGHTS else None


def _length(vector: FloatArray) -> float:
    """Its Euclidean length, by adding up: the threads of a matrix library would wait for one another here."""
    with np.errstate(over="ignore"):
        return math.sqrt(float(np.square(vector).sum()))


#: Number of the latest decisions that are examined, and how many of them with their features.
DECISIONS, WITH_FEATURES = 400, 100
#: Number of the latest learnt feedbacks that are examined (and of the first), and how many of them step by step.
FEEDBACKS, STEPS = 200, 100
#: Number of the latest closed decisions, or answers, that are searched for a fall.
DRIFT_ROWS = 900
#: Number of events of the beginning that are examined.
FIRST_EVENTS = 1_000
#: Number of bytes of features, and of feedback with its decisions, that are read at most.
BYTES = 4 << 20


class FirstFeedback(NamedTuple):
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
        """True if every measure equals this value."""
        spread = self.squares - 2.0 * value * self.total + self.measured * value * value
        return spread <= 1e-9 * max(1.0, self.squares)


#: Number of keys whose learners are searched for fresh starts, and number of events that they may be behind.
RESTART_KEYS, RESTART_EVENTS = 8, 5_000


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
    in_memory
        Gives learners that are in memory; those that are not are recovered from the log.
    """

    def __init__(
        self, reading: StoreReader, model: ServedModel, now: float, in_memory: InMemory = lambda model, key: None
    ) -> None:
        self.reading = reading
        self.model = model
        self.now = now
        self._in_memory = in_memory
        self.counts: Counts = committed_counts(reading, model)
        self.loop = model.blueprint.loop
        self.card = model.blueprint.card
        self._log = EventLog(reading)
        self._made: dict[int, Decision] = {}

    @property
    def learns_silence(self) -> bool:
        """True if the model learns a default reward when a window expires."""
        return self.model.blueprint.terms.default_reward is not None

    @property
    def learns_at_ends(self) -> bool:
        """True if something is learned when a window ends: a default reward, or what was reported."""
        return self.learns_silence or self.model.blueprint.terms.rewards != "first"

    @property
    def best(self) -> float | None:
        """The measure of good news; None where there is no such."""
        if self.loop.silence is None:
            return None
        return 1.0 if self.loop.share else self.model.blueprint.terms.reward_range[1]

    @cached_property
    def latest(self) -> list[Outcome]:
        """The latest decisions, oldest first."""
        return [Outcome(*row) for row in self.reading.query("lately", self.model.shard, limit=DECISIONS)][::-1]

    @cached_property
    def shown(self) -> list[Outcome]:
        """Those of them that were shown."""
        return [row for row in self.latest if row.is_forwarded]

    @cached_property
    def ended(self) -> list[Outcome]:
        """The latest decisions that were shown and whose window is over, oldest first."""
        rows = self.reading.query("ended", self.model.shard, now=self.now, limit=DECISIONS)
        return [row for row in (Outcome(*each) for each in rows) if row.is_forwarded][::-1]

    @cached_property
    def answers(self) -> list[Outcome]:
        """The latest decisions from which something was learnt, oldest first."""
        return [Outcome(*row) for row in self.reading.query("answers", self.model.shard, limit=FEEDBACKS)][::-1]

    @cached_property
    def restarts(self) -> list[tuple[str | None, ModelRestart]]:
        """The fresh starts of the learner, or of those of the latest keys; none of those that are far from memory."""
        if not detects_change(self.model):
            return []
        latest = dict.fromkeys(row.key for row in reversed(self.answers)) if self.model.keyed else {None: None}
        found: list[tuple[str | None, ModelRestart]] = []
        for key in list(latest)[:RESTART_KEYS]:
            held = self._in_memory(self.model, key)
            if held is None and self._behind(key) > RESTART_EVENTS:
                continue
            found += [(key, each) for each in read_restarts(self.reading, self.model, key, held) or ()]
        return found

    def _behind(self, key: str | None) -> int:
        """Number of the shard's events after the newest state of a learner."""
        newest = next(iter(self.reading.states(self.model.shard, key)), None)
        base = self.reading.checkpoint(self.model.shard)
        known = max(0 if newest is None else newest.seq, 0 if base is None else base.seq)
        return self.counts.seq - known

    @cached_property
    def measures(self) -> list[float]:
        """Their figures, where they have any."""
        return [row.measure for row in self.answers if row.measure is not None]

    @cached_property
    def judged(self) -> list[float]:
        """The latest figures in the order in which a fall is searched for, oldest first.

        Without ``default_reward``, answers count as they came. With it, a decision counts once its window is over, in
        the order of decisions, so that a burst of ``expired`` and the first window change nothing: answers that came
        early wait for the decisions made at the same time. Decisions without feedback count by the present default.
        Left out are decisions with another window than the present one, and those without feedback whose window met a
        pause of the log: nobody could report then.
        """
        window, default = self.model.blueprint.terms.window_s, self.model.blueprint.terms.default_reward
        if default is None:
            found = self.reading.query("answers", self.model.shard, limit=DRIFT_ROWS)
        else:
            found = self.reading.query("ended", self.model.shard, now=self.now, limit=DRIFT_ROWS)
        rows = [row for row in (Outcome(*each) for each in found[::-1]) if row.is_forwarded]
        alike = [row for row in rows if abs(row.expires_at - row.at - window) <= 1e-3 + 1e-9 * window]
        if default is None:
            return [row.measure for row in alike if row.measure is not None and not row.is_unanswered]
        pauses = _pauses(rows, self.now, window)
        values = []
        for row in alike:
            if row.is_unanswered and any(begin < row.expires_at and end > row.at for begin, end in pauses):
                continue
            value = default if row.is_unanswered else row.measure
            if value is not None:
                values.append(value)
        return values

    @cached_property
    def beginning(self) -> FirstFeedback:
        """The first feedback to the model."""
        shard = self.model.shard
        learnt = self.reading.query("learnt_blocks", shard, after=0, upto=FEEDBACKS, block=FEEDBACKS)
        made = self.reading.query("made_blocks", shard, after=0, upto=FIRST_EVENTS, block=FIRST_EVENTS)
        _, _, measured, total, squares, *_ = learnt[0] if learnt else (0,) * 8
        return FirstFeedback(int(measured), float(total), float(squares), int(made[0][2]) if made else 0)

    @cached_property
    def decisions(self) -> list[Decision]:
        """The latest decisions with their features, oldest first; fewer, if they are large."""
        found: list[Decision] = []
        size = 0
        for row in reversed(self.latest[-WITH_FEATURES:]):
            event = self.reading.event(self.model.shard, row.seq)
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
        """Name of a column, or the loop's label for one without a name."""
        names, hashed = self.model.blueprint.names, self.model.hashed
        called = hashed.label(index) if hashed is not None else None
        return names[index] if names is not None else called or self.loop.weight_name(index)

    @cached_property
    def steps(self) -> list[Update]:
        """The latest feedbacks, each with what it did to a twin of the learner, oldest first."""
        return UpdateTrace(self.reading, self.model, self._recall).steps(
            self.answers[-STEPS:], self.counts.version, BYTES
        )

    def _recall(self, event: Event) -> Decision:
        """A decision's record, read once."""
        if (made := self._made.get(event.seq)) is None:
            made = self._made[event.seq] = self._log.record_of(self.model, event)
        return made

    @cached_property
    def kinds(self) -> Counter[str]:
        """Number of feedback events of each kind; before the first one, the expected kind."""
        kinds = Counter(step.kind for step in self.steps)
        usual = self.model.blueprint.feedback
        return kinds or Counter({usual: 0} if usual is not None else {})


#: A pause is this share of a window without an event, and this many times as long as the usual time between two.
PAUSE_SHARE, PAUSE_TIMES = 0.25, 20.0


def _pauses(rows: Sequence[Outcome], now: float, window: float) -> list[tuple[float, float]]:
    """Return the times in which nothing was decided and nothing reported: begin and end of each."""
    times = (
        {row.at for row in rows}
        | {row.answered_at for row in rows if row.answered_at and not row.is_unanswered}
        | {now}
    )
    moments = np.sort(np.array(list(times)))
    gaps = np.diff(moments)
    if not len(gaps):
        return []
    long = np.flatnonzero(gaps > max(PAUSE_SHARE * window, PAUSE_TIMES * float(np.median(gaps))))
    return [(float(moments[i]), float(moments[i + 1])) for i in long]


# A limited number of the latest lists that a rank model has shown, and of those that were clicked, from its log.

#: Number of the latest lists that are examined, and how many of the latest answered ones.
SHOWN, ANSWERED = 400, 2_000
#: Number of bytes of decisions that are read at most for either.
LIST_BYTES = 16 << 20


class ClickedRanking(NamedTuple):
    """A list and the clicks on it."""

    decision: Decision
    clicks: Clicks


class RecentRankings:
    """Reads the lists of a model.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model, of the loop rank, or one shard of it.
    """

    def __init__(self, reading: StoreReader, model: ServedModel) -> None:
        self._reading = reading
        self._model = model
        self._log = EventLog(reading)
        self._of = len(model.parts)  # shards that share what may be read

    def shown(self, most: int = SHOWN) -> list[Decision]:
        """The latest lists that were shown, the latest first."""
        rows = (Outcome(*row) for row in self._reading.query("lately", self._model.shard, limit=-(-most // self._of)))
        return [decision for _, decision in self._decisions(row for row in rows if row.is_forwarded)]

    def clicked(self, most: int = ANSWERED) -> list[ClickedRanking]:
        """The latest lists that were answered with clicks, perhaps with none, and learnt from; the latest first."""
        rows = (Outcome(*row) for row in self._reading.query("answers", self._model.shard, limit=-(-most // self._of)))
        found: list[ClickedRanking] = []
        for row, decision in self._decisions(rows):
            event = self._event(row.feedback_seq)
            if event is None or event.type != "feedback":
                continue
            lesson = decode_feedback(event).learn
            if isinstance(lesson, Clicks):
                found.append(ClickedRanking(decision, lesson))
        return found

    def _decisions(self, rows: Iterable[Outcome]) -> Iterator[tuple[Outcome, Decision]]:
        size = 0
        for row in rows:
            event = self._event(row.seq)
            if event is None or event.type != "decision":  # erased meanwhile
                continue
            size += len(event.body or b"")
            if size > LIST_BYTES // self._of:
                return
            try:
                yield row, self._log.record_of(self._model, event)
            except SmidgenError:  # of settings that are not known any more
                continue

    def _event(self, seq: int | None) -> Event | None:
        return self._reading.event(self._model.shard, seq) if seq is not None else None


# What every finding is: a look at the evidence, and what is said if something is there.


class Check(ABC):
    """Looks for one thing.

    A class derived from this one in a module ``checks_…`` is one more check. Its thresholds are constants of the
    module, in capitals; the guide to health has all of them with their numbers, and a test compares. None of them may
    wait for more than 40 decisions or feedbacks.
    """

    #: What it is about.
    code: ClassVar[Code]

    @abstractmethod
    def run(self, evidence: Evidence) -> Finding | None:
        """A finding, or None."""

    def finding(
        self, severity: Severity, message: str, hint: str, figures: dict[str, float | int | str | None]
    ) -> Finding:
        """Make a finding: the message with its figures in words, a hint, and the same figures for programs."""
        return Finding(code=self.code, severity=severity, message=message, hint=hint, figures=figures)


def percent(share: float) -> str:
    """A share as people read it.

    Examples
    --------
    >>> from smidgen.service.monitoring.evidence import percent
    >>> percent(0.5), percent(0.9999), percent(0.002)
    ('50 %', '99.9 %', '0.2 %')
    """
    shown = 100.0 * share if share == 1.0 or share <= 0.9995 else 99.9
    return f"{shown:.3g} %"
