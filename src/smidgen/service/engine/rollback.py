"""Undo by replay: what was learnt of one decision, or after a version, is left out of the fold.

Folding a long log takes time. It happens outside of the batch, over what is committed (`refold`); the command itself
only adds what came meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from msgspec import UNSET

from smidgen.learners import Learner
from smidgen.service.engine.context import CommandHandler
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.model import ServedModel, SettingsEpoch
from smidgen.service.engine.recovery import initial_learner, latest_usable_snapshot
from smidgen.service.engine.replay import UndoEvent, UndoneVersions, read_undo_events, read_undone, replay
from smidgen.service.engine.retention import last_before
from smidgen.service.engine.stories import find_decision, refuse_follower
from smidgen.service.engine.undo import Progress
from smidgen.service.errors import Conflict, Erased, Impossible, Retained
from smidgen.service.log.events import stamp
from smidgen.service.schemas import ShardUndone, UndoneReply
from smidgen.service.storage.protocol import StoreReader
from smidgen.service.storage.records import DecisionRow, WriteResult

#: The version of an event that is still to come.
_NEXT = 1 << 62


class RefoldedLearner(NamedTuple):
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


class RollbackHandler(CommandHandler):
    """Retracts feedback and rolls models back."""

    def retract(self, id: str, allowed: str | None = None, ready: RefoldedLearner | None = None) -> UndoneReply:
        """Undo what was learnt of a decision; it is open again until its window ends."""
        row, model = check_retractable(lambda: self._models.find(self._log, id, allowed))
        refuse_follower(id, row.beside)
        if row.reported and row.feedback_seq is None:
            dropped = self._store.withdraw_reports(row.shard, id, self._clock(), self._log.key(model, row.seq))
            self._open_decisions.drop(id)
            return UndoneReply(model_version=dropped.version, shard=model.shard_in_reply)
        if row.version is None:
            raise Conflict(f"the model learned nothing from decision {id}", "only learned feedback can be retracted")
        if row.version in read_undone(self._store, row.shard):
            raise Conflict(
                f"the feedback on decision {id} was already undone by a rollback", "nothing is left to retract"
            )
        others = [each for each in self._store.follower_decisions(id) if each.version is not None]
        self._models.acquire(*(self._models.by_shard[each.shard] for each in others))
        for each in (row, *others):
            self._refuse_promoted(self._models.by_shard[each.shard], each)
        key, now = self._log.key(model, row.seq), self._clock()
        verdict = self._store.write_retraction(row.shard, row.id, now, key)
        self._open_decisions.drop(id)
        ready = ready if ready is not None and ready.rewritten == model.rewritten else None
        model.rewritten += 1
        self._replace_learner(model, key, verdict, ready)
        for other in others:  # those who were taught it
            if other.version is not None and other.version not in read_undone(self._store, other.shard):
                self._store.write_retraction(other.shard, other.id, now, key)
                self._learners.evict(self._models.by_shard[other.shard], key)
                self._models.by_shard[other.shard].rewritten += 1
        return UndoneReply(model_version=verdict.version, shard=model.shard_in_reply)

    def roll_back(
        self, name: str, version: int | None, ready: RefoldedLearner | None = None, *, then: float | None = None
    ) -> UndoneReply:
        """Go back to the weights of a version, or of a moment; what came after stays in the log, and counts no more."""
        model = self._models.get(name)
        if (version is None) == (then is None):
            raise Impossible(
                "a rollback needs either version or time", 'send {"version": 12} or {"time": "2026-11-17T12:00:00Z"}'
            )
        if then is not None and then > self._clock():
            raise Impossible(f"time is {stamp(then)}, which is in the future", "send a time in the past")
        if version is not None and len(model.parts) > 1:
            raise Impossible(
                f'version does not work with the {len(model.parts)} shards of "{name}": each numbers its own versions',
                'send a time, e.g. {"time": "2026-11-17T12:00:00Z"}',
            )
        done: list[ShardUndone] = []
        for part in model.parts:
            to = version if version is not None else version_at_time(self._store, part, then or 0.0)
            done.append(ShardUndone(to=to, model_version=self._roll_back(part, to, ready)))
        if len(done) > 1:
            return UndoneReply(model_version=model.versions, shards=done)
        return UndoneReply(model_version=model.version, to=UNSET if then is None else done[0].to)

    def _roll_back(self, model: ServedModel, version: int, ready: RefoldedLearner | None) -> int:
        """Roll back a model with one shard, or one shard; returns the new version."""
        if (checkpoint := self._store.checkpoint(model.shard)) is not None and version < checkpoint.floor:
            raise Retained(
                f'version {version} is before the retention checkpoint of "{model.name}": its events are erased',
                f"choose a version from {checkpoint.floor} to {model.version}, or a time after {stamp(checkpoint.at)}",
            )
        verdict = self._store.write_rollback(model.shard, version, self._clock())
        if verdict.status == "unknown":
            raise Impossible(f"there is no version {version}", f"choose a version from 0 to {verdict.version}")
        if ready is not None and (ready.rewritten, ready.version) != (model.rewritten, version):
            ready = None
        model.rewritten += 1
        self._restore_settings(model, version, verdict)
        self._replace_learner(model, None, verdict, ready)
        return verdict.version

    def _restore_settings(self, model: ServedModel, version: int, verdict: WriteResult) -> None:
        """Put the settings of that version in force again, if another model was promoted since."""
        era = next((each for each in model.past if version < each.version), None)
        if era is not None and verdict.seq is not None:
            now = SettingsEpoch(model.blueprint, verdict.seq, verdict.version, "rolled_back")
            self._models.replace_settings(model, era.blueprint, (*model.past, now))
            self._open_decisions.clear()

    def _refuse_promoted(self, model: ServedModel, row: DecisionRow) -> None:
        """Refuse to retract feedback that is part of a promoted state."""
        undone = read_undone(self._store, model.shard)
        for era in model.past:
            if era.by == "promoted" and (row.version or 0) < era.version and era.version not in undone:
                raise Conflict(
                    f'the feedback was learned before the promotion of "{era.source}" (version {era.version})',
                    f'roll "{model.name}" back to version {era.version - 1} first',
                )

    def _replace_learner(
        self, model: ServedModel, key: str | None, verdict: WriteResult, ready: RefoldedLearner | None
    ) -> None:
        """Replace the learner by one without the undone events; learners of keys are rebuilt when needed."""
        self._learners.evict(model, key)
        if ready is None or model.keyed or verdict.seq is None:
            return
        undone = read_undone(self._store, model.shard)
        learner, _ = replay(ready.learner, self._store.changes(model.shard, ready.seq), undone)
        self._learners.put(model, learner, verdict.seq)
        model.saved = -_NEXT  # a snapshot is due: those before the event may hold what is undone


def version_at_time(reading: StoreReader, model: ServedModel, then: float) -> int:
    """The version that was in force at a moment, in seconds since 1970: that of the last event until then."""
    checkpoint = reading.checkpoint(model.shard)
    first = checkpoint.seq if checkpoint is not None else 0
    seq = last_before(reading, model.shard, first, model.seq, math.nextafter(then, math.inf))
    if seq == first:
        since = (
            f"its log begins at {stamp(checkpoint.at)}"
            if checkpoint is not None
            else f"it was made {stamp(model.created_at)}"
        )
        raise Impossible(f'the state of "{model.name}" at {stamp(then)} is not known: {since}', "choose a later time")
    return reading.version_at(model.shard, seq)


def find_retractable(
    log: EventLog, models: Mapping[int, ServedModel], id: str, allowed: str | None
) -> tuple[DecisionRow, ServedModel]:
    """A decision whose feedback may be taken back; one that retention has erased cannot be."""
    return check_retractable(lambda: find_decision(log, models, id, allowed))


def check_retractable(look: Callable[[], tuple[DecisionRow, ServedModel]]) -> tuple[DecisionRow, ServedModel]:
    """Find a decision by ``look``, and refuse one that retention has erased."""
    try:
        return look()
    except Erased as error:
        raise Retained(error.problem, "it is part of the retention checkpoint and cannot be retracted") from error


def refold(
    reading: StoreReader, model: ServedModel, take_back: tuple[str, int], progress: Progress | None = None
) -> RefoldedLearner | None:
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
        Receives the progress.
    """
    if model.keyed:
        return None
    (type, version), rewritten = take_back, model.rewritten
    undone = UndoneVersions([*read_undo_events(reading, model.shard), UndoEvent(type, _NEXT, version, keeps=True)])
    found = latest_usable_snapshot(reading, model, None, undone)
    learner, seq = found if found is not None else initial_learner(reading, model, None)[:2]
    changes = reading.changes(model.shard, seq)
    if progress is not None:
        changes = progress.watch(changes, seq, model.seq)
    learner, last = replay(learner, changes, undone)
    return RefoldedLearner(learner, max(seq, last), version, rewritten)
