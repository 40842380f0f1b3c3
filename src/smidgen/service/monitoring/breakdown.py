"""Rewards by candidate and by segment.

Which candidate earned how much, and for whom: from the latest decisions of a model's log, at most `LATEST` of them and
`BYTES` bytes. A decision counts once it is closed: answered, or its window is over. One without feedback counts as in
the quality figure. What was decided for a shadow, or not shown yet, does not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import Decision
from smidgen.errors import SmidgenError
from smidgen.evaluate.lift import looks_note
from smidgen.features import Encoded
from smidgen.learners import Feedback
from smidgen.service.engine.description import span_of
from smidgen.service.engine.engine import Engine
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import ServedModel
from smidgen.service.errors import Impossible
from smidgen.service.log.events import DECIDED, Event, stamp
from smidgen.service.loops.slots import slot_rewards
from smidgen.service.monitoring.groups import Groups, as_reply, estimate, group_rows, no_reply
from smidgen.service.schemas import CandidateRow, CandidatesReply, MeanReply, SegmentRow, SegmentsReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import GroupRow, Outcome
from smidgen.structures.slots import by_slot

#: Number of the latest decisions that are read, and how many bytes of them.
LATEST, BYTES = 5_000, 16 << 20
#: Number of rows that are read together.
TOGETHER = 250
#: Number of candidates, or segments, that are listed at most: those with the most decisions.
MOST = 1_000
#: A trend needs this many closed decisions.
TREND_AFTER = 20
#: The fields of replies that say what was shown, by loop.
_SHOWN = ("choice", "label", "forward", "ranking")


class Shown(NamedTuple):
    """A decision as far as breakdowns need it.

    Attributes
    ----------
    at
        Seconds since 1970.
    what
        The id of what was shown: of a ranking, its first item.
    value
        What came of it; None while it is open, or if that is not known.
    explored, ids, decision
        Whether it was no best guess, the ids of the candidates, and the learner's record.
    shard, seq
        Its event.
    """

    at: float
    what: str
    value: float | None
    explored: bool
    ids: Sequence[Any]
    decision: Decision
    shard: int = 0
    seq: int = 0


def latest(
    reading: StoreReader, model: ServedModel, now: float, most: int = LATEST, *, held: bool = False
) -> list[Shown]:
    """Read the latest decisions of a model that were shown, oldest first; ``held``: those of its holdout too."""
    found: list[Shown] = []
    for part in model.parts:
        found += _of_shard(reading, part, now, -(-most // len(model.parts)), BYTES // len(model.parts), held)
    found.sort(key=lambda each: each.at)
    return found


def _of_shard(
    reading: StoreReader, model: ServedModel, now: float, most: int, room: int, held: bool
) -> Iterator[Shown]:
    log, loop = EventLog(reading), model.blueprint.loop
    worst = loop.silence if loop.share or loop.silence is None else loop.terms.reward_range[0]
    rows = [Outcome(*each) for each in reading.query("lately_all" if held else "lately", model.shard, limit=most)]
    for begin in range(0, len(rows), TOGETHER):
        some: list[tuple[Outcome, Event]] = []
        for row in rows[begin : begin + TOGETHER]:
            event = reading.event(model.shard, row.seq)
            if event is not None and event.type in DECIDED:  # not erased meanwhile
                some.append((row, event))
                room -= len(event.body or b"")
        if room < 0 and begin:
            return
        try:
            made = log.decode_decisions(model, [event for _, event in some])
        except SmidgenError:  # of settings that are not known any more
            continue
        for (row, event), (body, decision) in zip(some, made, strict=True):
            ids = list(body.ids)
            if decision.slots is not None:
                yield from _of_slots(log, model, row, ids, decision, worst, now)
                continue
            what = _what(model.blueprint_at(event.seq).loop.answer(decision, ids))
            if what is None:
                continue
            closed = row.feedback_seq is not None or row.expires_at < now
            value = worst if closed and row.measure is None and row.is_unanswered and row.is_forwarded else row.measure
            yield Shown(row.at, what, value, bool(row.explored), ids, decision, model.shard, row.seq)


def _of_slots(
    log: EventLog,
    model: ServedModel,
    row: Outcome,
    ids: Sequence[Any],
    decision: Decision,
    worst: float | None,
    now: float,
) -> Iterator[Shown]:
    """Each slot of a decision as if it had been decided alone."""
    rewards: dict[str, Any] = {}
    if row.feedback_seq is not None and row.measure is not None:
        answer, slots = log.feedback(model, row.feedback_seq), decision.slots or ()
        rewards = dict.fromkeys(slots, row.measure) if answer is None else slot_rewards(answer.feedback, slots)
    silent = worst if row.feedback_seq is not None or (row.expires_at < now and row.is_unanswered) else None
    for slot, kept, single in by_slot(decision):
        value, own = rewards.get(slot, silent), [ids[place] for place in kept]
        what = str(own[single.action])
        yield Shown(row.at, what, value, single.explored, own, single, model.shard, row.seq)


def _what(reply: Mapping[str, Any]) -> str | None:
    field = next((name for name in _SHOWN if name in reply), None)
    if field is None:
        return None
    if field == "forward":
        return "forwarded" if reply[field] else "dropped"
    if field == "ranking":
        return str(reply[field][0]) if reply[field] else None
    return str(reply[field])


def refuse_others(model: ServedModel) -> None:
    """Refuse loops in which nothing is shown that has an id."""
    if Feedback.LOSS in model.blueprint.loop.kinds.values() or model.blueprint.loop.takes_texts:
        loop = model.blueprint.body.loop
        raise Impossible(
            f"models of the loop {loop} have no candidates", "ask this of a choose, rank, label or filter model"
        )


def by_candidate(reading: StoreReader, model: ServedModel, now: float, *, held: bool = False) -> CandidatesReply:
    """Return what each candidate, label or answer of a filter earned, the most shown first.

    ``held`` counts the decisions of a holdout too.
    """
    refuse_others(model)
    with reading.snapshot():
        rows = latest(reading, model, now, held=held)
    grouped: defaultdict[str, list[Shown]] = defaultdict(list)
    for row in rows:
        grouped[row.what].append(row)
    span = span_of(model.blueprint.loop)
    order = sorted(grouped, key=lambda what: (-len(grouped[what]), what))[:MOST]
    found = [
        CandidateRow(
            id=what,
            shown=len(grouped[what]),
            share=len(grouped[what]) / len(rows),
            reward=estimate(_values(grouped[what]), span),
            trend=_trend(_values(grouped[what])),
            last_shown=stamp(grouped[what][-1].at),
        )
        for what in order
    ]
    return CandidatesReply(of=len(rows), candidates=found)


def _values(rows: Sequence[Shown]) -> list[float]:
    return [row.value for row in rows if row.value is not None]


def _trend(values: Sequence[float]) -> float | None:
    """Return the mean of the later half minus that of the earlier half."""
    if len(values) < TREND_AFTER:
        return None
    half = len(values) // 2
    return float(np.mean(values[half:]) - np.mean(values[:half]))


def names_of(engine: Engine, model: ServedModel) -> dict[int, str]:
    """Return the names of the columns of a model's records, by column. Runs where the engine does."""
    refuse_others(model)
    shared = model.blueprint.shared.names
    if model.blueprint.features is None or (model.keyed and not shared) or len(model.parts) > 1:
        raise Impossible(
            "segments need one table of names",
            'they are for models that take records, without keys (leave "features" out)',
        )
    table = engine.learners.table(model, model.blueprint.learner("") if model.keyed else _learner(engine, model))
    return {} if table is None else dict(table.named_columns())


def _learner(engine: Engine, model: ServedModel) -> Any:
    return engine.learners.get(model, None).learner


def by_segment(
    reading: StoreReader, model: ServedModel, by: str, names: Mapping[int, str], now: float
) -> SegmentsReply:
    """Return what decisions earned by the value of a field of their records, the most frequent first.

    Parameters
    ----------
    by
        The field: ``context.device`` of candidates' contexts, ``device`` of records to be labelled or filtered.
    names
        The names of columns (`names_of`).
    """
    with reading.snapshot():
        rows = latest(reading, model, now, held=model.has_holdout)
        sides = _sides(reading, model)
    named = {column: name.removeprefix(f"{by}=") for column, name in names.items() if _is_value(name, by)}
    grouped: defaultdict[str, list[Shown]] = defaultdict(list)
    for row in rows:
        for value in _segments(row.decision, by, named):
            grouped[value].append(row)
    mine = {value: [row for row in some if not _is_held(row, sides)] for value, some in grouped.items()}
    mine = {value: some for value, some in mine.items() if some}
    if not grouped:
        _refuse_field(by, names)
    span = span_of(model.blueprint.loop)
    order = sorted(mine, key=lambda value: (-len(mine[value]), value))[:MOST]
    found = [
        SegmentRow(
            value=value,
            decisions=len(mine[value]),
            reward=estimate(_values(mine[value]), span),
            lift=_lift_of(grouped[value], sides, model, now) if model.has_holdout else None,
        )
        for value in order
    ]
    return SegmentsReply(by=by, segments=found, note=looks_note(len(found)))


#: Decisions of the model and of its holdout, by shard and event.
Sides = Mapping[tuple[int, int], GroupRow]


def _sides(reading: StoreReader, model: ServedModel) -> Sides:
    if not model.has_holdout:
        return {}
    of = LATEST // len(model.parts) * 2
    return {(part.shard, row.seq): row for part in model.parts for row in group_rows(reading, part, of)}


def _is_held(row: Shown, sides: Sides) -> bool:
    side = sides.get((row.shard, row.seq))
    return side is not None and side.holdout


def _lift_of(rows: Sequence[Shown], sides: Sides, model: ServedModel, now: float) -> MeanReply:
    """Return the lift of the model over its holdout in a segment."""
    places = dict.fromkeys((row.shard, row.seq) for row in reversed(rows))  # of several slots once
    some = [side for place in places if (side := sides.get(place)) is not None]
    loop = model.blueprint.loop
    found, (low, high) = Groups(some, loop, now).lift(), span_of(loop) or (0.0, 1.0)
    return no_reply() if found is None else as_reply(found.difference, high - low)


def _is_value(name: str, by: str) -> bool:
    return name.startswith(f"{by}=") and " × " not in name


def _segments(decision: Decision, by: str, named: Mapping[int, str]) -> set[str]:
    """Return the values that a field had: one of a category, several of a set."""
    context = decision.context
    if not isinstance(context, Encoded):
        return set()
    known = {named[column] for column in np.unique(context.indices).tolist() if column in named}
    new = [context.names[place] for place in np.unique(context.new_names).tolist()]
    return known | {name.removeprefix(f"{by}=") for name in new if _is_value(name, by)}


def _refuse_field(by: str, names: Mapping[int, str]) -> None:
    plain = [name for name in names.values() if " × " not in name]
    if by in plain:
        raise Impossible(
            f"by is {by!r}, which is a number", 'segments are by category: send it as a text, e.g. "30-39"'
        )
    fields = sorted({name.partition("=")[0] for name in plain if "=" in name})
    hint = f"choose among {', '.join(fields[:20])}" if fields else "no decision has had a category yet"
    raise Impossible(f"by is {by!r}, and no decision has such a field", hint)


class Offers(NamedTuple):
    """Closed decisions that offered the same candidates, with propensities, oldest first."""

    ids: tuple[str, ...]
    rewards: list[float]
    propensities: list[float]
    actions: list[int]
    explored: list[bool]


def same_offers(rows: Sequence[Shown], span: tuple[float, float]) -> Offers | None:
    """Return those of the decisions that offered the most frequent set of candidates; rewards are scaled to [0, 1]."""
    sets = Counter(tuple(sorted(map(str, row.ids))) for row in rows if row.ids)
    if not sets:
        return None
    ids = max(sets, key=lambda each: sets[each])
    place = {id: i for i, id in enumerate(ids)}
    low, high = span
    found = Offers(ids, [], [], [], [])
    for row in rows:
        p = row.decision.propensity
        if row.value is None or p is None or tuple(sorted(map(str, row.ids))) != ids or row.what not in place:
            continue
        found.rewards.append(min(1.0, max(0.0, (row.value - low) / (high - low))))
        found.propensities.append(p)
        found.actions.append(place[row.what])
        found.explored.append(row.explored)
    return found
