"""All learners on the way along one log: each event is read once, and told to each of them."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.features.memory import Carried
from smidgen.service.insight.record_rows import RowsOfRecords
from smidgen.service.insight.shared_rows import ALONE, SharedRows
from smidgen.service.insight.specs import other_body
from smidgen.service.loops.evaluator import Companion, Evaluator, Steps
from smidgen.service.loops.lesson import Lesson
from smidgen.service.models.building import Blueprint
from smidgen.service.models.fold import STEPS
from smidgen.service.models.keyed_rows import begin
from smidgen.service.models.rewinds import Kept, Undone
from smidgen.service.store.events import ERASED, REWINDS
from smidgen.service.store.lines import Line, as_bytes
from smidgen.service.store.recording import Recording

#: The log's own learner.
OWN = "as logged"
#: So many of the latest decisions are kept, so that they need not be looked up again.
RECENT = 4096
#: So many events are told together at most.
TOGETHER = 512


@dataclass(frozen=True)
class Looked:
    """Which of a log's keys are looked at: those that hash to one part of several."""

    part: int = 0
    of: int = 1

    def __contains__(self, key: str | None) -> bool:
        return self.of == 1 or crc32((key or "").encode()) % self.of == self.part


class Bench:
    """The learners that are compared, and what the log has told them so far.

    Parameters
    ----------
    own
        The log's own settings.
    others
        Other learners, as people write them.
    recording
        The log, for decisions long ago, and for what was taken back.
    own_too
        Whether the log's own learner is among those compared.
    looked
        Whose decisions are looked at.

    Attributes
    ----------
    own
        The log's own settings.
    evaluators
        By what was asked for; the log's own first.
    companion
        What they share.
    decisions, answered
        How many there were.
    measures
        The loop's own figure of each answered decision.
    tape
        Where these figures go if they are to be counted elsewhere; None keeps them here.
    back, elsewhere
        How many answers were taken back, and how often the log's learner was replaced.
    """

    def __init__(
        self,
        own: Blueprint,
        others: Sequence[str],
        recording: Recording,
        *,
        own_too: bool = True,
        looked: Looked | None = None,
    ) -> None:
        self.own = own
        self._recording = recording
        self._looked = Looked() if looked is None else looked
        self._whole = self._looked.of == 1
        self._undone: dict[int | None, tuple[Undone, Kept]] = {}
        self.tape: Callable[[str, tuple[Any, ...]], None] | None = None
        self._recent: OrderedDict[str, Line] = OrderedDict()
        self.evaluators, self._about = _evaluators(own.bare(), others)
        if not own_too:
            self.evaluators.pop(OWN, None)
        evaluator = own.loop.evaluator
        self.companion = Companion() if evaluator is None else evaluator.companion_of(own)
        for each in self.evaluators.values():
            each.companion, each.moves = self.companion, own.features is not None
        self._tables: dict[int | None, RowsOfRecords | SharedRows] = {}
        self.decisions = self.answered = self.back = self.elsewhere = self._labels = 0
        self.measures = array("d")
        self._steps = Steps()
        self._patient = evaluator is not None and evaluator.patient and own.features is None

    def take(self, event: Line) -> None:
        """Take the next event; evaluators may hear of it later, with others (`settle`)."""
        type = event.type
        if type == "decision":
            self._decided(event)
            return
        heard = type in ("feedback", "expired")
        if not heard:
            self.settle()
        if type == "amended":
            self._amended(event)
        elif event.model_version is None:
            return
        elif event.model_version in self._gone(event.slot)[0]:
            self.back += heard
            self._taken_back(event)
        elif heard:
            self._answered(event)
        elif type == "taught":
            self._taught(event)
        elif type in ("imported", "promoted") or (type == ERASED and event.places is not None):
            self.elsewhere += type != ERASED
            if type in STEPS and (rows := self._rows(event.slot)) is not None:
                rows.take(event, None)

    def _gone(self, slot: int | None) -> tuple[Undone, Kept]:
        """What was taken back of a slot, and what stays of it."""
        if slot not in self._undone:
            undone = self._recording.undone(slot)
            self._undone[slot] = undone, Kept(undone)
        return self._undone[slot]

    def _taken_back(self, event: Line) -> None:
        """Let names keep their columns that an event told and that was taken back."""
        kept, rows = self._gone(event.slot)[1], self._rows(event.slot)
        if kept.has(event.type, event.model_version or 0) and rows is not None:
            line, made = self._made(event)
            rows.keep(event, made, _names(event, line))

    def _made(self, event: Line) -> tuple[Line | None, Decision | None]:
        """The decision that an event is about, if any."""
        if event.decision is None or event.type in REWINDS:
            return None, None
        line = self._recent.get(event.decision) or self._recording.decision(event.decision)
        return line, None if line is None else line.__dict__.get("as it was made") or line.made()

    def _rows(self, slot: int | None) -> RowsOfRecords | SharedRows | None:
        """The rows of a slot's records, if the log has records."""
        if self.own.features is None:
            return None
        if slot not in self._tables:
            self._tables[slot] = SharedRows(self.own) if self.own.shared.names else RowsOfRecords(self.own)
        return self._tables[slot]

    def settle(self) -> None:
        """Let the evaluators hear of all events that were taken."""
        if not self._steps:
            return
        steps, self._steps = self._steps, Steps()
        self.companion.follow(steps)
        for evaluator in self.evaluators.values():
            evaluator.follow(steps)

    def _tell(self, event: Line, made: Decision | None) -> None:
        """Let the evaluators hear of a decision, or of an answer to one, at once if somebody counts elsewhere."""
        self._steps.append((event, made))
        if not self._patient or self.tape is not None or len(self._steps) >= TOGETHER:
            self.settle()

    def notes(self) -> list[str]:
        """What is to be said of the log."""
        found = [*self._about, *([ALONE] if self.own.shared.start else [])]
        if self.back:
            found.append(f"{self.back} answers were taken back later (retracted, or rolled back) and are left out")
        if self.elsewhere:
            found.append(
                "the log's learner was once replaced by one from elsewhere; others know nothing of what it knew"
            )
        return found

    @property
    def _hears_all(self) -> bool:
        """Whether decisions of other keys must be read too: for what all keys share."""
        return self.companion.listens or (self.own.features is not None and self.own.shared.names)

    def _decided(self, event: Line) -> None:
        if event.beside is not None:  # nobody saw it
            return
        self.decisions += 1
        looked = self._whole or event.key in self._looked
        if not looked:
            for evaluator in self.evaluators.values():
                evaluator.passed(event.decision or "", answered=False)
            if not self._hears_all:
                return
        made = event.made()
        event.__dict__["its decision"] = made
        event.__dict__["as it was made"] = made
        if (rows := self._rows(event.slot)) is not None:
            event.__dict__["its decision"] = rows.of(event.key, made)
        self._recent[event.decision or ""] = event
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)
        if not looked:
            self.settle()
            self.companion.decided(event)
            return
        if event.shared is not None and (start := event.shared.get("start")) is not None and OWN in self.evaluators:
            self.settle()
            begin(self.evaluators[OWN].learner(event.key), as_bytes(start))
        self._tell(event, None)

    def _answered(self, event: Line) -> None:
        looked = self._whole or event.key in self._looked
        if not looked:
            for evaluator in self.evaluators.values():
                evaluator.passed(event.decision or "", answered=True)
            if not self._hears_all:
                self.answered += 1
                return
        decision = self._recent.pop(event.decision or "", None)
        if decision is None:
            decision = self._recording.decision(event.decision or "")
        if decision is None:
            raise InvalidRecord(f"event {event.seq} answers a decision that is not in the log", "export all of it")
        made: Decision = decision.__dict__.get("as it was made") or decision.made()
        said = event.told()
        told = event.__dict__["its feedback"] = _plain(said)
        self.answered += 1
        measure = self._measure(event, made, told, decision) if looked else None
        if measure is not None and self.tape is not None:
            self.tape("measure", (measure,))
        elif measure is not None:
            self.measures.append(measure)
        rows = self._rows(event.slot)
        shown = made if rows is None else rows.of(event.key, made)
        if looked:
            self._tell(event, shown)
        else:
            self.settle()
            self.companion.answered(event, shown)
        if rows is not None:
            event.__dict__["its feedback"] = said
            rows.take(event, made, _names(event, decision))

    def _measure(self, event: Line, made: Decision, told: Any, decision: Line) -> float | None:
        if event.type == "expired":
            return float(event.feedback.get("default_reward", told))
        return self.own.loop.logged(made, told, event.feedback, decision.reply)

    def _taught(self, event: Line) -> None:
        told, (line, made) = event.told(), self._made(event)
        rows = self._rows(event.slot)
        shown = made if made is None or rows is None else rows.of(event.key, made)
        for evaluator in self.evaluators.values() if event.key in self._looked else ():
            if isinstance(told, Lesson):
                evaluator.given(event.key, told, shown)
            else:
                read = [each if rows is None else rows.context(event.key, each) for each, _ in told]
                evaluator.taught(event.key, list(zip(read, (answer for _, answer in told), strict=True)))
        if rows is not None:
            rows.take(event, made, _names(event, line))

    def _amended(self, event: Line) -> None:
        told = event.told()
        if isinstance(told, dict) and told.get("labels") is not None:
            names = event.more.get("changes", {}).get("add_labels", [])
            numbers = list(range(*told["labels"]))
            if numbers and numbers[0] >= self._labels:  # each slot tells of them
                self._labels = numbers[-1] + 1
                for evaluator in self.evaluators.values():
                    evaluator.labelled(numbers, names[-len(numbers) :])
        if (rows := self._rows(event.slot)) is not None:
            rows.take(event, None)


def _names(event: Line, made: Line | None) -> Carried:
    """The names that an event tells again, or the decision that it is about."""
    return event.names if made is None else (made.shared or {}).get("names", ())


def _plain(told: Any) -> Any:
    """What a learner was told; of a lesson about what others have shown, what came of it."""
    if not isinstance(told, Lesson):
        return told
    return told.answer[1] if isinstance(told.answer, tuple | list) and len(told.answer) == 2 else told.answer


def _evaluators(own: Blueprint, others: Sequence[str]) -> tuple[dict[str, Evaluator], list[str]]:
    """An evaluator for each learner, where the loop has any, and what is to be said of the log's own learner."""
    blueprints = {spec: Blueprint(other_body(own.body, spec)) for spec in others}  # refuses what makes no sense
    for blueprint in blueprints.values():
        blueprint.guarded = own.guarded
    if (evaluator := own.loop.evaluator) is None:
        return {}, []
    found: dict[str, Evaluator] = {}
    notes = evaluator.about(own)
    if (why := evaluator.why_not(own.card, own.kind)) is None:
        found[OWN] = evaluator(own)
    else:
        notes.append(f"the log's own learner is not among those compared: {why}")
    return found | {spec: evaluator(blueprint) for spec, blueprint in blueprints.items()}, notes
