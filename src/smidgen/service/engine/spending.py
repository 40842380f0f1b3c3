"""Spend of a model with a budget: the prices of its currencies, as a fold over its log.

Each decision that was shown is paid with the cost that it was expected to have; costs that are reported replace that,
and the estimates of costs learn from them. Rollbacks and retractions leave what was spent as it is. The events of a
person who is forgotten are gone, and everything is folded again without them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from smidgen.checks import suggest
from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.features import Encoded, Rows
from smidgen.learners import Learner, saving
from smidgen.learners.choose.base import RewardLearner
from smidgen.learners.pacing import Pacer, QuotingPacer
from smidgen.learners.pipeline import unwrap
from smidgen.learners.record_adapter import known_rows
from smidgen.serialization import UNREADABLE
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Impossible, json_text
from smidgen.service.log import codec
from smidgen.service.log.events import DECIDED, Event
from smidgen.service.schemas import BudgetFigures, Limits, PerDay
from smidgen.service.storage.protocol import Store, StoreReader
from smidgen.structures import Choice

#: A day in seconds, and the parts of it in which decisions are counted.
DAY_S, PART_S = 86_400.0, 900.0
#: A limit per day is divided by the decisions of the last day, this many at least, and on the first day by more.
FEWEST, FIRST_DAY = 100, 1000
#: Number of decisions that are remembered while they wait to be shown, or whose costs were reported.
REMEMBERED = 10_000
#: Number of decisions that are cached.
LATEST = 500
#: The form of saved spending.
FORM = 1
#: The kind of its states, and the key that they are stored under: longer than any that an app can send.
KIND, PLACE = "Spending", "spending".ljust(257)
#: Number of events after which the writer saves it again: a start folds the later ones.
SAVED_EVERY = 2_048
#: What closes a decision, or reports on it, and implies that it was shown.
_REPORTS = ("feedback", "recorded", "reported", "settled", "expired")


class Spending:
    """The budget of one shard of a model.

    Parameters
    ----------
    dim
        Number of features from which costs are estimated; 0: the means of the candidates.
    """

    def __init__(self, dim: int) -> None:
        self.seq = 0
        self.saved = 0  # the last event that the state in the store holds
        self.rewritten, self.forgotten = 0, 0  # of the model, and the last event that erased others, when it was read
        self.dim = dim
        self.limits: Limits = {}
        self.pacer = Pacer({}, dim)
        self._first: float | None = None  # when the first decision was paid
        self._parts: OrderedDict[int, int] = OrderedDict()  # decisions by part of a day
        self._ahead: OrderedDict[str, dict[str, float]] = OrderedDict()  # costs of decisions that were not shown yet
        self._reported: OrderedDict[str, None] = OrderedDict()
        self._promoted = 0  # the version of the last promotion
        self._latest: OrderedDict[str, tuple[Decision, dict[str, float] | None]] = OrderedDict()  # need not be read

    def follow(self, reading: StoreReader, shard: int, last: int | None = None) -> bool:
        """Take the events after those that were taken, up to one; says no where retention has erased some of them."""
        while last is None or self.seq < last:
            limit = 1000 if last is None else min(1000, last - self.seq)
            if not (chunk := reading.events(shard, self.seq, limit)):
                break
            if chunk[0].seq != self.seq + 1:
                return False
            for event in chunk:
                self.apply(event, reading, shard)
                self.seq = event.seq
        return True

    def apply(self, event: Event, reading: StoreReader, shard: int) -> None:
        """Take one event."""
        kind = event.type
        if kind in ("created", "amended"):
            self._amend(codec.read_fields(event.body, event.seq), kind)
        elif kind == "promoted":
            self._promoted = event.made or 0
            self.pacer.forget_columns()
        elif kind == "imported":
            self.pacer.forget_columns()
        elif kind == "rolled_back":
            version = codec.read_fields(event.body, event.seq).get("version")
            if isinstance(version, int) and version < self._promoted:
                self.pacer.forget_columns()
        elif self.limits:
            self._spend(event, reading, shard)

    def _spend(self, event: Event, reading: StoreReader, shard: int) -> None:
        if event.type in DECIDED:
            self._decided(event)
        elif event.type == "shown" or event.type in _REPORTS:
            if (waiting := self._ahead.pop(event.decision or "", None)) is not None:
                self._pay(waiting, event.at)
            costs = reported_costs(event) if event.type in _REPORTS else None
            if costs:
                self._report(event.decision or "", costs, reading, shard)

    def _amend(self, event: Mapping[str, Any], kind: str) -> None:
        given = event.get("model" if kind == "created" else "changes")
        if kind == "created" and isinstance(terms := (event.get("resolved") or {}).get("terms"), dict):
            given = terms  # of a copy: as they were amended
        if not isinstance(given, dict) or (kind == "amended" and "budget" not in given):
            return
        found = given.get("budget")
        self.limits = {} if found is None else msgspec.convert(found, Limits)
        self.pacer.limit_to({name: self._limit(name, 0.0) for name in self.limits})

    def _limit(self, name: str, at: float) -> float:
        """The limit of a currency per decision, at a moment."""
        limit = self.limits[name]
        if not isinstance(limit, PerDay):
            return float(limit)
        many = sum(self._parts.values())
        young = self._first is None or at - self._first < DAY_S
        return limit.per_day / max(many, FIRST_DAY if young else FEWEST)

    def _decided(self, event: Event) -> None:
        body = codec.read_decision(event.body, event.seq)
        shared = body.shared or {}
        id, costs = event.decision or "", shared.get("spent")
        known = self._latest.get(id)
        decision = known[0] if known is not None else read_record(body.record)
        if decision is None or decision.costs is None:
            return
        self.note(id, decision, costs)
        if costs is None:
            costs = decision.costs_of_action()
        if shared.get("ahead"):
            _remember(self._ahead, id, costs)
        else:
            self._pay(costs, event.at)

    def _pay(self, costs: Mapping[str, float], at: float) -> None:
        if any(isinstance(limit, PerDay) for limit in self.limits.values()):
            self._count(at)
            for name in self.limits:
                self.pacer.limits[name] = self._limit(name, at)
        self.pacer.pay(costs)

    def _count(self, at: float) -> None:
        self._first = at if self._first is None else self._first
        part = int(at // PART_S)
        self._parts[part] = self._parts.get(part, 0) + 1
        for old in [each for each in self._parts if each <= part - DAY_S / PART_S]:
            del self._parts[old]

    def _report(self, id: str, costs: Mapping[str, float], reading: StoreReader, shard: int) -> None:
        if (found := self._latest.get(id) or _read_decision(id, reading, shard)) is None:
            return
        decision, spent = found
        paid = {} if id in self._reported else spent if spent is not None else decision.costs_of_action()
        _remember(self._reported, id, None)
        self.pacer.pay_rest({name: cost - paid.get(name, 0.0) for name, cost in costs.items()})
        if spent is None and paid:
            self.pacer.learn_action(_rows(decision.context, self.dim), decision, costs)

    def note(self, id: str, decision: Decision, spent: dict[str, float] | None = None) -> None:
        """Cache a decision as its event has it; ``spent`` is what another one cost that was shown instead."""
        _remember(self._latest, id, (decision, spent), LATEST)

    # As bytes, for a checkpoint of retention and for a state in the store

    def to_bytes(self) -> bytes:
        """All that is remembered."""
        fields = {
            "limits": msgspec.to_builtins(self.limits),
            "pacer": self.pacer.to_bytes(),
            "now": self.pacer.limits,
            "first": self._first,
            "parts": list(self._parts.items()),
            "ahead": list(self._ahead.items()),
            "reported": list(self._reported),
            "promoted": self._promoted,
        }
        return msgspec.msgpack.encode([FORM, self.dim, fields])

    def save(self, store: Store, shard: int) -> None:
        """Keep the state in the store if the last one is old, so that a start need not fold the whole log."""
        if self.seq - self.saved < SAVED_EVERY:
            return
        store.publish(shard, PLACE, self.seq, self._state())
        self.saved = self.seq

    def _state(self) -> bytes:
        header = saving.Header(kind=KIND, settings_version=1, state_version=1, params={}, decided=0, taught=0, notes={})
        return saving.encode_learner(header, {"content": np.frombuffer(self.to_bytes(), np.uint8)})

    def _load(self, reading: StoreReader, shard: int, first: int, last: int | None) -> bool:
        """Begin with the state in the store, if it is not from before what was erased or rewritten."""
        for state in reading.states(shard, PLACE):
            upto = state.seq if last is None else last
            if not state.own or state.is_outdated or not max(first, reading.last_forgetting(shard)) < state.seq <= upto:
                continue
            try:
                header, arrays = saving.decode_learner(state.content, state.place)
                content = arrays["content"].tobytes()
                if header.kind == KIND and msgspec.msgpack.decode(content)[:2] == [FORM, self.dim]:
                    self._restore(content)
                    self.seq = self.saved = state.seq
                    return True
            except (SmidgenError, *UNREADABLE, KeyError, TypeError):
                continue
        return False

    @classmethod
    def read(cls, reading: StoreReader, shard: int, dim: int, last: int | None = None) -> Spending:
        """Fold a log from its beginning, its checkpoint, or the state in the store."""
        spending, checkpoint = cls(dim), reading.checkpoint(shard)
        if spending._load(reading, shard, checkpoint.seq if checkpoint is not None else 0, last):
            pass
        elif checkpoint is not None:
            settings = codec.read_fields(checkpoint.body, checkpoint.seq)
            if isinstance(content := settings.get("budget"), bytes):
                spending._restore(content)
            else:
                spending._amend(settings, "created")
            spending.seq = checkpoint.seq
        spending.follow(reading, shard, last)
        return spending

    def _restore(self, content: bytes) -> None:
        form, dim, fields = msgspec.msgpack.decode(content)
        self.limits = msgspec.convert(fields["limits"], Limits)
        self.pacer = Pacer(fields["now"], self.dim)
        if form == FORM and dim == self.dim:
            self.pacer.restore(fields["pacer"])
        self._first, self._promoted = fields["first"], fields["promoted"]
        self._parts = OrderedDict((part, count) for part, count in fields["parts"])
        self._ahead = OrderedDict((id, costs) for id, costs in fields["ahead"])
        self._reported = OrderedDict.fromkeys(fields["reported"])


def drop_saved(store: Store, shard: int) -> None:
    """Take what was spent out of the store: it may tell of somebody who is forgotten, and is folded again."""
    if any(True for _ in store.states(shard, PLACE)):
        store.publish(shard, PLACE, 0, Spending(0)._state())


def attach_prices(learner: Learner, pacer: Pacer | None) -> None:
    """Let a learner decide with the prices of a budget, which the log pays, or without prices."""
    inner = unwrap(learner)
    if isinstance(inner, RewardLearner):
        inner._pacer = None if pacer is None else QuotingPacer(pacer)


def reads_budgets(model: ServedModel) -> bool:
    """Check whether a model has, or had, a budget of its own."""
    return model.leader is None and model.blueprint.terms.budget is not None


def check_currencies(model: ServedModel, costs: Mapping[str, Any], field: str, *, needed: bool = True) -> None:
    """Refuse costs in a currency that the budget of a model, or of its champion, does not have.

    Without a budget they are refused if it is ``needed``: what is reported may be for a budget to come.
    """
    if not costs:
        return
    first = model.leader if model.leader is not None else model
    budget = first.blueprint.terms.budget
    if budget is None and not needed:
        return
    if budget is None:
        raise Impossible(
            f'{field} is given and the model "{first.name}" has no budget',
            f'set one: PATCH /v1/models/{first.name} with {{"budget": {{"usd": 0.001}}}}, or remove "costs"',
        )
    for name in costs:
        if name not in budget:
            raise Impossible(f"{field} has the unknown currency {json_text(name)}", suggest(name, budget))


def spending_of(model: ServedModel, reading: StoreReader, known: Spending | None) -> Spending:
    """The spending of a shard up to the last event that a reader sees: what is known, followed, or folded again."""
    dim, rewritten = columns_of(model), model.rewritten
    if known is not None and known.rewritten != rewritten and reading.last_forgetting(model.shard) == known.forgotten:
        known.rewritten = rewritten
    current = known is not None and known.dim == dim and known.rewritten == rewritten
    if known is not None and current and known.follow(reading, model.shard):
        return known
    spending = Spending.read(reading, model.shard, dim)
    spending.rewritten, spending.forgotten = rewritten, reading.last_forgetting(model.shard)
    return spending


_lock = threading.Lock()


def budget_figures(reading: StoreReader, model: ServedModel) -> dict[str, BudgetFigures] | None:
    """The limit, the mean, the recent mean and the price by currency; of several shards their means over decisions."""
    if not reads_budgets(model):
        return None
    with _lock:  # readers share what they have folded; the writer has its own
        for part in model.parts:
            part.spending_read = spending_of(part, reading, part.spending_read)
        pacers = [part.spending_read.pacer for part in model.parts if part.spending_read is not None]
        each = [(pacer.paid, pacer.figures()) for pacer in pacers]
    found: dict[str, BudgetFigures] = {}
    for name in each[0][1]:
        of = [(paid, figures[name]) for paid, figures in each if name in figures]
        found[name] = BudgetFigures(
            limit=of[0][1]["limit"] or 0.0,
            mean=_mean([(paid, one["mean"]) for paid, one in of]),
            recent=_mean([(min(paid, 200), one["recent"]) for paid, one in of]),
            price=_mean([(1, one["price"]) for _, one in of]) or 0.0,
        )
    return found


def _mean(values: Sequence[tuple[int, float | None]]) -> float | None:
    known = [(weight, value) for weight, value in values if value is not None and weight]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total else None


def columns_of(model: ServedModel) -> int:
    """The columns that rows of a model may have, at any time; none where keys have columns of their own."""
    every = [model.blueprint, *(era.blueprint for era in model.past)]
    if model.keyed and any(each.features is not None and not each.shared.names for each in every):
        return 0
    return max((each.dim or 0 for each in every), default=0)


def read_record(record: bytes) -> Decision | None:
    """A decision as its event holds it, of any learner; None if it cannot be read."""
    try:
        return saving.read_compact(record, "", "")
    except (SmidgenError, *UNREADABLE):
        return None


def reported_costs(event: Event) -> dict[str, float] | None:
    """The costs that an event reports."""
    if event.type == "reported":
        feedback = codec.read_fields(event.body, event.seq).get("feedback")
    elif event.type in ("feedback", "recorded"):
        feedback = codec.read_feedback(event.body, event.seq).feedback
    else:
        return None
    costs = feedback.get("costs") if isinstance(feedback, dict) else None
    return costs if isinstance(costs, dict) else None


def _rows(context: Any, dim: int) -> Rows | None:
    rows: Rows | None = None
    if isinstance(context, Choice):
        rows = context.rows
    elif isinstance(context, Encoded) and context.candidates:
        rows = known_rows(context)
    return rows if rows is not None and (not dim or rows.shape[1] <= dim) else None


def _read_decision(id: str, reading: StoreReader, shard: int) -> tuple[Decision, dict[str, float] | None] | None:
    """A decision from its event, and what was spent in its place."""
    row = reading.decision(id)
    event = reading.event(shard, row.seq) if row is not None and row.shard == shard else None
    if event is None or event.type not in DECIDED:
        return None
    body = codec.read_decision(event.body, event.seq)
    decision = read_record(body.record)
    if decision is None or decision.costs is None:
        return None
    return decision, (body.shared or {}).get("spent")


def _remember(book: OrderedDict[str, Any], id: str, value: Any, most: int = REMEMBERED) -> None:
    book[id] = value
    while len(book) > most:
        book.popitem(last=False)
