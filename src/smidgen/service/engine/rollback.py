"""Undo by replay: what was learnt of one decision, or after a version, is left out of the fold.

Folding a long log takes time. So it is done aside, over what is committed (`Undoing.folded`), and the command itself
only adds what came meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import UNSET

from smidgen.learners import Learner
from smidgen.service.engine.context import Commands
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import Era, Served
from smidgen.service.engine.recovery import first_of, state_of
from smidgen.service.engine.replay import Rewind, Undone, follow, rewinds, undone
from smidgen.service.engine.retention import last_before
from smidgen.service.engine.stories import find_decision, refuse_beside
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Conflict, Erased, Impossible, Retained
from smidgen.service.log.events import stamp
from smidgen.service.schemas import ShardUndone, UndoneReply
from smidgen.service.storage.protocol import Reading
from smidgen.service.storage.records import DecisionRow, Verdict

#: The version of an event that is still to come.
_NEXT = 1 << 62


class Folded(NamedTuple):
    """A learner without what is to be undone.

    Attributes
    ----------
    learner, seq
        The learner, and the last event that went into it.
    version
        The version that is gone back to, or undone.
    rewritten
        How often the past of its model had been changed when the fold began.
    """

    learner: Learner
    seq: int
    version: int
    rewritten: int


class Undoing(Commands):
    """What takes back, for all models."""

    def retract(self, id: str, allowed: str | None = None, ready: Folded | None = None) -> UndoneReply:
        """Undo what was learnt of a decision; it is open again until its window ends."""
        row, model = found_to_undo(lambda: self._models.find(self._log, id, allowed))
        refuse_beside(id, row.beside)
        if row.version is None:
            raise Conflict(f"nothing was learnt of decision {id}", "there is nothing to take back")
        if row.version in undone(self._store, row.shard):
            raise Conflict(f"what was learnt of decision {id} was taken back before", "the model went back beyond it")
        others = [each for each in self._store.beside(id) if each.version is not None]
        self._models.hold(*(self._models.by_shard[each.shard] for each in others))
        for each in (row, *others):
            self._refuse_promoted(self._models.by_shard[each.shard], each)
        key, now = self._log.key(model, row.seq), self._clock()
        verdict = self._store.retracted(row.shard, row.id, now, key)
        self._recent.drop(id)
        ready = ready if ready is not None and ready.rewritten == model.rewritten else None
        model.rewritten += 1
        self._learn_anew(model, key, verdict, ready)
        for other in others:  # those who were taught it
            if other.version is not None and other.version not in undone(self._store, other.shard):
                self._store.retracted(other.shard, other.id, now, key)
                self._learners.leave(self._models.by_shard[other.shard], key)
                self._models.by_shard[other.shard].rewritten += 1
        return UndoneReply(model_version=verdict.version, shard=model.told_shard)

    def roll_back(
        self, name: str, version: int | None, ready: Folded | None = None, *, then: float | None = None
    ) -> UndoneReply:
        """Go back to the weights of a version, or of a moment; what came after stays in the log, and counts no more."""
        model = self._models.get(name)
        if (version is None) == (then is None):
            raise Impossible("a rollback goes to a version or to a time", "give one of the two")
        if then is not None and then > self._clock():
            raise Impossible(f"the time is {stamp(then)}, and that is still to come", "give one that has passed")
        if version is not None and len(model.parts) > 1:
            raise Impossible(
                f"the model {name!r} has {len(model.parts)} shards, and each counts versions of its own",
                'give the moment to go back to, e.g. {"time": "2026-11-17T12:00:00Z"}',
            )
        made: list[ShardUndone] = []
        for part in model.parts:
            to = version if version is not None else version_then(self._store, part, then or 0.0)
            made.append(ShardUndone(to=to, model_version=self._roll_back(part, to, ready)))
        if len(made) > 1:
            return UndoneReply(model_version=model.versions, shards=made)
        return UndoneReply(model_version=model.version, to=UNSET if then is None else made[0].to)

    def _roll_back(self, model: Served, version: int, ready: Folded | None) -> int:
        """The same of a model, or of one shard of it; the version that this makes."""
        if (base := self._store.base(model.shard)) is not None and version < base.floor:
            raise Retained(
                f"version {version} lies under the base of {model.name!r}, whose events retention has folded and"
                " erased",
                f"choose one from {base.floor} to {model.version}, or a time after {stamp(base.at)}",
            )
        verdict = self._store.rolled_back(model.shard, version, self._clock())
        if verdict.status == "unknown":
            raise Impossible(f"there is no version {version}", f"choose one from 0 to {verdict.version}")
        if ready is not None and (ready.rewritten, ready.version) != (model.rewritten, version):
            ready = None
        model.rewritten += 1
        self._return(model, version, verdict)
        self._learn_anew(model, None, verdict, ready)
        return verdict.version

    def _return(self, model: Served, version: int, verdict: Verdict) -> None:
        """Put the settings of that version in force again, if another model was promoted since."""
        era = next((each for each in model.past if version < each.version), None)
        if era is not None and verdict.seq is not None:
            now = Era(model.blueprint, verdict.seq, verdict.version, "rolled_back")
            self._models.put(model, era.blueprint, (*model.past, now))
            self._recent.clear()

    def _refuse_promoted(self, model: Served, row: DecisionRow) -> None:
        """What went into a state that was promoted cannot be taken out of it."""
        gone = undone(self._store, model.shard)
        for era in model.past:
            if era.by == "promoted" and (row.version or 0) < era.version and era.version not in gone:
                raise Conflict(
                    f"what was learnt of it lies before the promotion of {era.source!r} (version {era.version})",
                    f"roll {model.name!r} back beyond that first: version {era.version - 1}",
                )

    def _learn_anew(self, model: Served, key: str | None, verdict: Verdict, ready: Folded | None) -> None:
        """Put a learner without what was undone in the place of the old one; learners of keys come when needed."""
        self._learners.leave(model, key)
        if ready is None or model.keyed or verdict.seq is None:
            return
        gone = undone(self._store, model.shard)
        learner, _ = follow(ready.learner, self._store.changes(model.shard, ready.seq), gone)
        self._learners.enter(model, learner, verdict.seq)
        model.saved = -_NEXT  # a snapshot is due: those before the event may hold what is undone


def version_then(reading: Reading, model: Served, then: float) -> int:
    """The version that was in force at a moment, in seconds since 1970: that of the last event until then."""
    base = reading.base(model.shard)
    first = base.seq if base is not None else 0
    seq = last_before(reading, model.shard, first, model.seq, math.nextafter(then, math.inf))
    if seq == first:
        since = f"its log begins at {stamp(base.at)}" if base is not None else f"it was made {stamp(model.created_at)}"
        raise Impossible(f"nothing is known of {model.name!r} at {stamp(then)}: {since}", "choose a later time")
    return reading.version_at(model.shard, seq)


def find_to_undo(
    log: EventLog, models: Mapping[int, Served], id: str, allowed: str | None
) -> tuple[DecisionRow, Served]:
    """A decision whose feedback may be taken back; one that retention has erased cannot be."""
    return found_to_undo(lambda: find_decision(log, models, id, allowed))


def found_to_undo(look: Callable[[], tuple[DecisionRow, Served]]) -> tuple[DecisionRow, Served]:
    """The same, however it is looked for."""
    try:
        return look()
    except Erased as error:
        raise Retained(error.problem, "what was learnt of it is in the base state, and stays") from error


def folded(
    reading: Reading, model: Served, take_back: tuple[str, int], progress: Progress | None = None
) -> Folded | None:
    """A learner of a model without keys as it will be after an event that takes back, over what is committed.

    Parameters
    ----------
    reading
        What is committed.
    model
        The model.
    take_back
        The type of the event, and the version that it names.
    progress
        Told how far it is.
    """
    if model.keyed:
        return None
    (type, version), rewritten = take_back, model.rewritten
    gone = Undone([*rewinds(reading, model.shard), Rewind(type, _NEXT, version, keeps=True)])
    found = state_of(reading, model, None, gone)
    learner, seq = found if found is not None else first_of(reading, model, None)[:2]
    changes = reading.changes(model.shard, seq)
    if progress is not None:
        changes = progress.watch(changes, seq, model.seq)
    learner, last = follow(learner, changes, gone)
    return Folded(learner, max(seq, last), version, rewritten)
