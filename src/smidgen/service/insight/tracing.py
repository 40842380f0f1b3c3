"""What each feedback did: the latest of a log, learnt anew by a twin that begins with nothing.

The twin has the settings of the served learner and reads the same records; its weights are seen before and after each
step. It belongs to whoever asked, so nobody waits for it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from smidgen.decision import Decision, FloatArray
from smidgen.errors import NoWeights, SmidgenError
from smidgen.learners import Feedback, Learner
from smidgen.learners.records.around import inside, on_rows
from smidgen.service.models.keyed_rows import Change, told_to
from smidgen.service.models.served import Served
from smidgen.service.store import bodies
from smidgen.service.store.events import Event
from smidgen.service.store.protocol import Reading
from smidgen.service.store.rows import Outcome

#: The events from whose bodies a learner learns about a decision: an answer, or that there was none.
LEARNT = ("feedback", "expired")
#: Of a keyed model, so many keys have a twin: those with the most feedback.
TWINS = 16
#: A twin may hold so many bytes, by its card, and so many weights are compared; of larger ones no steps are told.
TWIN_BYTES, WEIGHTS = 32 << 20, 200_000
#: After so many seconds no more steps are taken.
PATIENCE_S = 0.5


class Step(NamedTuple):
    """A feedback that was learnt.

    Attributes
    ----------
    version, key
        The version that it made, and whose learner learnt it.
    kind, value
        The kind of feedback (a word of the cards), and what the app sent.
    told
        What the learner was told.
    decision
        What it was the answer to, on rows of features.
    measure
        The loop's figure.
    moved, weight
        How far the twin's weights moved, and how long they are then; None where nobody knows.
    scaled
        Whether the features were scaled down before the step, or those of the first ones after it.
    """

    version: int
    key: str | None
    kind: str
    value: Any
    told: Any
    decision: Decision
    measure: float | None
    moved: float | None
    weight: float | None
    scaled: bool


class Tracing:
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

    def __init__(self, reading: Reading, model: Served, recall: Callable[[Event], Decision]) -> None:
        self._reading = reading
        self._model = model
        self._recall = recall
        self._twins: dict[str | None, _Twin] = {}

    def steps(self, answers: Sequence[Outcome], versions: int, most: int) -> list[Step]:
        """One for each of these answers, oldest first: the latest ones whose bodies take no more bytes than ``most``.

        If they are all that the model has learnt (``versions``), names of records find the columns that they have.
        """
        pairs, end = self._pairs(answers, most), time.monotonic() + PATIENCE_S
        traced, whole = self._traced([row for row, _, _ in pairs]), len(pairs) == versions
        found: list[Step] = []
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
            if row.feedback_seq is None or not self._model.present(row.seq):
                continue
            feedback = self._reading.event(self._model.slot, row.feedback_seq)
            made = self._reading.event(self._model.slot, row.seq)
            if feedback is None or made is None or feedback.type not in LEARNT or made.type != "decision":
                continue
            size += len(feedback.body or b"") + len(made.body or b"")
            if size > most and found:
                break
            found.append((row, feedback, made))
        return found[::-1]

    def _traced(self, answers: Sequence[Outcome]) -> set[str | None]:
        """Whose steps are taken."""
        settings = self._model.blueprint.settings
        try:
            fits = self._model.blueprint.card.size(settings) <= TWIN_BYTES
        except (AttributeError, LookupError, TypeError, ValueError):  # a guest's card, for settings of another form
            fits = False
        return {key for key, _ in Counter(row.key for row in answers).most_common(TWINS)} if fits else set()

    def _twin(self, key: str | None, *, whole: bool) -> _Twin:
        if (twin := self._twins.get(key)) is None:
            twin = self._twins[key] = _Twin(self._model.blueprint.learner(key), whole=whole)
        return twin

    def _step(self, twin: _Twin, row: Outcome, feedback: Event, made: Event, traced: bool) -> Step:
        sent = bodies.read_feedback(feedback.body, feedback.seq)
        told = bodies.read_value(sent.learn, feedback.seq)
        decision = self._recall(made)
        field, value = next(iter(sent.feedback.items()), ("", None))
        known = self._model.blueprint.loop.kinds
        kind = str(known.get(field, field) if feedback.type == "feedback" else Feedback.REWARD)  # silence is a reward
        blueprint = self._model.blueprint
        if blueprint.shared.names:
            found, told = told_to(twin.learner, Change(feedback.type, decision, told, sent.places))
            decision = rows = found or decision
        else:
            rows = on_rows(twin.learner, decision)
        moved, weight, scaled = twin.learn(decision, rows, told) if traced else (None, None, False)
        return Step(row.version or 0, row.key, kind, value, told, rows, row.measure, moved, weight, scaled)


class _Twin:
    """A learner that begins with nothing, and how its weights move."""

    def __init__(self, learner: Learner, *, whole: bool) -> None:
        self.learner = learner
        self._target = learner if whole else inside(learner)
        self._before = self._weights()

    def learn(self, decision: Decision, rows: Decision, told: Any) -> tuple[float | None, float | None, bool]:
        """Take the step: how far the weights moved, how long they are, and whether features were scaled down."""
        scaled = self._target.guarded
        self._target.learn(decision if self._target is self.learner else rows, told)
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
