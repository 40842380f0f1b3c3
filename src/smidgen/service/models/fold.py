"""Weights are a fold over the log: what each kind of event does to a learner, and which events count no more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.learners import Learner
from smidgen.learners.amending import add_classes, amended
from smidgen.learners.records.around import inside, takes_records
from smidgen.service.loops.lesson import Lesson
from smidgen.service.models.building import begun
from smidgen.service.models.keyed_rows import Begun, Change, begin, read, told_to
from smidgen.service.store import bodies
from smidgen.service.store.events import ERASED, REWINDS, Event
from smidgen.service.store.protocol import Reading

#: What an event does to a learner: given the decision that it is about, if any, what the learner is told, and whose
#: learner it is.
Step = Callable[[Learner, Decision | None, Any, str | None], Learner]
STEPS: dict[str, Step] = {}
#: What closes a decision that was shown.
HEARD = ("feedback", "expired")
#: So many answers are read together at most, with decisions of so many bytes; fewer than some are read one by one.
TOGETHER, MOST, FEWEST = 256, 1 << 20, 4


def step(*types: str) -> Callable[[Step], Step]:
    """Enter what events of these types do."""

    def enter(function: Step) -> Step:
        STEPS.update(dict.fromkeys(types, function))
        return function

    return enter


@step(*HEARD)
def _heard(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """A reaction, or the silence that stands for one; a lesson, if the decision was made by other settings."""
    if isinstance(told, Lesson):
        told.give(learner, None)
        return learner
    if decision is None:
        raise InvalidRecord("it answers a decision that is not in the log", "give all of the log")
    learner.learn(decision, told)
    return learner


@step("taught")
def _taught(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """Examples whose answers are known, or what came of the decision that was shown in the place of the learner's."""
    if isinstance(told, Lesson):
        told.give(learner, decision)
        return learner
    for context, answer in told:
        learner.teach(context, answer)
    return learner


@step("imported")
def _imported(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """A learner from elsewhere, in the place of the one that was there; what keys share is none of theirs."""
    if told is None:
        return learner
    return Learner.from_bytes(told.tobytes(), "an imported learner")


@step("amended")
def _amended(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """Other settings, more labels: what has been learnt stays. Settings that it does not have are another's."""
    accepted = {*inspect.signature(type(inside(learner))).parameters, *(["text"] if takes_records(learner) else [])}
    if settings := {name: value for name, value in told["settings"].items() if name in accepted}:
        learner = amended(learner, **settings)
    if told["labels"] is not None:
        add_classes(learner, *range(*told["labels"]))
    return learner


@step("promoted")
def _promoted(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """The learner of another model, or, of a key that has learnt nothing there, a fresh one with its settings."""
    if told["state"] is not None:
        return Learner.from_bytes(told["state"].tobytes(), "a promoted learner")
    fresh = begun(told["settings"], key, guarded=told["guarded"])
    return _amended(fresh, None, told["amended"], key)


@step(ERASED, *REWINDS)
def _nothing(learner: Learner, decision: Decision | None, told: Any, key: str | None) -> Learner:
    """What is erased is gone; what takes back is heeded by leaving out (`Undone`)."""
    return learner


def take(
    learner: Learner, type: str, seq: int, decision: Decision | None, told: Any, key: str | None = None
) -> Learner:
    """The learner after an event that changes weights: itself, or another one in its place.

    Parameters
    ----------
    learner
        The learner before it.
    type, seq
        The event.
    decision
        The decision that it is about, if any.
    told
        What the learner is told.
    key
        Whose learner it is, of a keyed model.
    """
    if (known := STEPS.get(type)) is None:
        raise InvalidRecord(
            f"event {seq} is of the type {type!r}, which changes weights, and this smidgen does not know how",
            "upgrade smidgen",
        )
    return known(learner, decision, told, key)


def follow(
    learner: Learner,
    changes: Iterable[tuple[Event, Event | None]],
    undone: Undone,
    key: str | None = None,
    start: Begun | None = None,
) -> tuple[Learner, int]:
    """Take events of the log, but for those that were taken back.

    Parameters
    ----------
    learner, changes, undone
        Who learns, from what, and what counts no more.
    key
        Whose learner it is, of a keyed model.
    start
        Where a fresh learner of a key begins, and with what.

    Returns
    -------
    The learner, and the number of the last event, 0 if there was none.
    """
    seq = size = 0
    together: list[tuple[Event, Event]] = []
    for event, made in changes:
        if start is not None and event.seq >= start.seq:  # the settings of that time are in force
            begin(learner, start.start)
            start = None
        seq = event.seq
        counts = event.made not in undone if event.made is not None else event.type == "amended"
        if not counts or event.type == ERASED:
            continue
        if made is not None and event.type in HEARD and start is None:
            together.append((event, made))
            size += len(made.body or b"")
            if len(together) < TOGETHER and size < MOST:
                continue
        learner = _all_heard(learner, together, key)
        together, size = [], 0
        if made is None or event.type not in HEARD or start is not None:
            learner = _taken(learner, event, made, key)
    learner = _all_heard(learner, together, key)
    if start is not None:
        begin(learner, start.start)
    return learner, seq


def _taken(learner: Learner, event: Event, made: Event | None, key: str | None) -> Learner:
    """The learner after an event."""
    decision, told = told_to(learner, read(learner, event, made))
    return take(learner, event.type, event.seq, decision, told, key)


def _all_heard(learner: Learner, answers: Sequence[tuple[Event, Event]], key: str | None) -> Learner:
    """The learner after answers, each with its decision: read together, and learnt in their order."""
    try:
        read = bodies.read_answers(learner, answers) if len(answers) >= FEWEST else []
    except InvalidRecord:  # the verbs learn up to the one that is at fault
        read = []
    pairs = [told_to(learner, Change("feedback", made, told, body.places)) for made, body, told in read]
    if not pairs or any(isinstance(told, Lesson) for _, told in pairs):
        for event, made in answers:
            learner = _taken(learner, event, made, key)
        return learner
    learner.learn_many(*zip(*pairs, strict=True))
    return learner


class Undone:
    """The versions whose events count no more, because later ones took them back.

    Parameters
    ----------
    rewinds
        The events that take back, in order: their types, the versions that they made, and the versions that they name:
        of ``rolled_back`` the one to go back to, of ``retracted`` the one that is undone. One that was itself taken
        back does nothing.

    Examples
    --------
    >>> from smidgen.service.models.fold import Undone
    >>> undone = Undone([("retracted", 6, 2), ("rolled_back", 9, 4), ("retracted", 10, 3)])
    >>> [version for version in range(1, 11) if version in undone]
    [3, 5, 6, 7, 8, 9]
    >>> undone.spoils(2), undone.spoils(4), undone.spoils(10)
    (False, True, False)
    """

    def __init__(self, rewinds: Sequence[tuple[str, int, int]] = ()) -> None:
        self._ranges: list[tuple[int, int, int]] = []  # first and last version undone, and the version that did it
        for type, by, version in reversed(rewinds):
            if by not in self:
                self._ranges.append((version + 1, by, by) if type == "rolled_back" else (version, version, by))

    def __contains__(self, version: int) -> bool:
        return bool(self._ranges) and any(first <= version <= last for first, last, _ in self._ranges)

    def begins_anew(self, version: int) -> bool:
        """Whether a key that began at this version begins anew, since a rollback took back what it began with."""
        return any(first <= version < by for first, last, by in self._ranges if last == by)

    def spoils(self, version: int) -> bool:
        """Whether a state of this version holds something that was taken back later."""
        return any(first <= version < by for first, _, by in self._ranges)


def rewinds(reading: Reading, slot: int) -> list[tuple[str, int, int]]:
    """The events of a slot that take back, as `Undone` takes them."""
    return [(event.type, event.made or 0, _version(event)) for event in reading.rewinds(slot)]


def undone(reading: Reading, slot: int) -> Undone:
    """What was taken back in the log of a slot."""
    return Undone(rewinds(reading, slot))


def _version(event: Event) -> int:
    version = bodies.read_fields(event.body, event.seq).get("version")
    if not isinstance(version, int):
        raise InvalidRecord(f"event {event.seq} takes back no version", "restore the database from a backup")
    return version
