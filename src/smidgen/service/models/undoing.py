"""Undo by replay: what was learnt of one decision, or after a version, is left out of the fold.

Folding a long log takes time. So it is done aside, over what is committed (`Undoing.folded`), and the command itself
only adds what came meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from smidgen.learners import Learner
from smidgen.service.messages import UndoneReply
from smidgen.service.models.fold import Undone, follow, rewinds, undone
from smidgen.service.models.progress import Progress
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import Era, LearnerCache, Served
from smidgen.service.models.starts import first_of
from smidgen.service.models.stories import find, refuse_beside
from smidgen.service.refusals import Conflict, Erased, Impossible, Retained
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Reading, Store
from smidgen.service.store.rows import DecisionRow, Verdict

#: The version of an event that is still to come.
_NEXT = 1 << 62


class Folded(NamedTuple):
    """A learner without what is to be undone.

    Attributes
    ----------
    learner, seq
        The learner, and the last event that went into it.
    rewritten
        How often the past of its model had been changed when the fold began.
    """

    learner: Learner
    seq: int
    rewritten: int


class Undoing:
    """What takes back, for all models.

    Parameters
    ----------
    models, store, log, learners
        Whose events they are, where it is written, how decisions are found, who learns anew.
    recent
        The decisions that wait for feedback in memory.
    clock
        Seconds since 1970.
    """

    def __init__(
        self,
        models: Registry,
        store: Store,
        log: EventLog,
        learners: LearnerCache,
        recent: Recent,
        clock: Callable[[], float],
    ) -> None:
        self._models = models
        self._store = store
        self._log = log
        self._learners = learners
        self._recent = recent
        self._clock = clock

    def retract(self, id: str, allowed: str | None = None, ready: Folded | None = None) -> UndoneReply:
        """Undo what was learnt of a decision; it is open again until its window ends."""
        row, model = found_to_undo(lambda: self._models.find(self._log, id, allowed))
        refuse_beside(id, row.beside)
        if row.version is None:
            raise Conflict(f"nothing was learnt of decision {id}", "there is nothing to take back")
        if row.version in undone(self._store, row.slot):
            raise Conflict(f"what was learnt of decision {id} was taken back before", "the model went back beyond it")
        others = [each for each in self._store.beside(id) if each.version is not None]
        self._models.hold(*(self._models.by_slot[each.slot] for each in others))
        for each in (row, *others):
            self._refuse_promoted(self._models.by_slot[each.slot], each)
        key, now = self._log.key(model, row.seq), self._clock()
        verdict = self._store.retracted(row.slot, row.id, now, key)
        self._recent.drop(id)
        ready = ready if ready is not None and ready.rewritten == model.rewritten else None
        model.rewritten += 1
        self._learn_anew(model, key, verdict, ready)
        for other in others:  # those who were taught it
            if other.version is not None and other.version not in undone(self._store, other.slot):
                self._store.retracted(other.slot, other.id, now, key)
                self._learners.leave(self._models.by_slot[other.slot], key)
                self._models.by_slot[other.slot].rewritten += 1
        return UndoneReply(model_version=verdict.version)

    def roll_back(self, name: str, version: int, ready: Folded | None = None) -> UndoneReply:
        """Go back to the weights of a version; what came after stays in the log, and counts no more."""
        model = self._models.get(name)
        if (base := self._store.base(model.slot)) is not None and version < base.floor:
            raise Retained(
                f"version {version} lies under the base of {name!r}, whose events retention has folded and erased",
                f"choose one from {base.floor} to {model.version}",
            )
        verdict = self._store.rolled_back(model.slot, version, self._clock())
        if verdict.status == "unknown":
            raise Impossible(f"there is no version {version}", f"choose one from 0 to {verdict.version}")
        ready = ready if ready is not None and ready.rewritten == model.rewritten else None
        model.rewritten += 1
        self._return(model, version, verdict)
        self._learn_anew(model, None, verdict, ready)
        return UndoneReply(model_version=verdict.version)

    def _return(self, model: Served, version: int, verdict: Verdict) -> None:
        """Put the settings of that version in force again, if another model was promoted since."""
        era = next((each for each in model.past if version < each.version), None)
        if era is not None and verdict.seq is not None:
            now = Era(model.blueprint, verdict.seq, verdict.version, "rolled_back")
            self._models.put(model, era.blueprint, (*model.past, now))
            self._recent.clear()

    def _refuse_promoted(self, model: Served, row: DecisionRow) -> None:
        """What went into a state that was promoted cannot be taken out of it."""
        gone = undone(self._store, model.slot)
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
        gone = undone(self._store, model.slot)
        learner, _ = follow(ready.learner, self._store.changes(model.slot, ready.seq), gone)
        self._learners.enter(model, learner, verdict.seq)
        model.saved = -_NEXT  # a snapshot is due: those before the event may hold what is undone


def find_to_undo(
    log: EventLog, models: Mapping[int, Served], id: str, allowed: str | None
) -> tuple[DecisionRow, Served]:
    """A decision whose feedback may be taken back; one that retention has erased cannot be."""
    return found_to_undo(lambda: find(log, models, id, allowed))


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
    gone = Undone([*rewinds(reading, model.slot), (type, _NEXT, version)])
    found = LearnerCache.state_of(reading, model, None, gone)
    learner, seq = found if found is not None else first_of(reading, model, None)[:2]
    changes = reading.changes(model.slot, seq)
    if progress is not None:
        changes = progress.watch(changes, seq, model.seq)
    learner, last = follow(learner, changes, gone)
    return Folded(learner, max(seq, last), rewritten)
