"""What the service does, one command at a time. A batch of commands is one transaction: all of it lasts, or none."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from smidgen.service.insight.quality import at_a_glance
from smidgen.service.messages import (
    AmendBody,
    BatchBody,
    CopyBody,
    DecisionBody,
    ExamplesBody,
    FeedbackBody,
    FeedbackReply,
    ForgottenReply,
    ModelBody,
    ModelReply,
    PromotedReply,
    RetainedReply,
    ShownReply,
    Story,
    TaughtReply,
    UndoneReply,
)
from smidgen.service.models.amending import Amending
from smidgen.service.models.answers import Answering
from smidgen.service.models.bases import Plan, planned, states
from smidgen.service.models.bringing import Bringing, Brought
from smidgen.service.models.decisions import Decisions
from smidgen.service.models.forgetting import Forgetting
from smidgen.service.models.lessons import Lessons
from smidgen.service.models.progress import Progress
from smidgen.service.models.promoting import Promoting
from smidgen.service.models.retaining import STAGED, TIDIED, Retention
from smidgen.service.models.served import Served
from smidgen.service.models.stories import tell
from smidgen.service.models.undoing import Folded, Undoing
from smidgen.service.models.upkeep import Upkeep
from smidgen.service.store.bases import BaseState
from smidgen.service.store.log import Reply
from smidgen.service.store.places import Database, open_store
from smidgen.service.store.protocol import Store


class Engine(Upkeep):
    """Models, decisions and feedback over one store.

    Every public verb may be called within a batch (`begin`, `attempt`, `commit`), which commits once for all of them;
    outside of one it is a batch of its own.

    Parameters
    ----------
    place
        The data folder, a database, or a store.
    clock
        Seconds since 1970.
    snapshot_every
        Events of a model between two snapshots.
    keyed_in_memory
        How many keyed learners stay in memory.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    worker
        The name under which this one owns slots, of a store that others write to as well.
    """

    def __init__(
        self,
        place: Path | Database | Store,
        *,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = 20_000,
        keyed_in_memory: int = 2_000,
        synchronous: str = "FULL",
        worker: str | None = None,
    ) -> None:
        if isinstance(place, Path | Database):
            place = open_store(place, synchronous=synchronous)
        super().__init__(place, clock, keyed_in_memory, snapshot_every, worker)
        whole = self._all
        self._decisions = Decisions(whole)
        self._answers = Answering(whole, self._passing_on)
        self._undoing = Undoing(whole)
        self._forgetting = Forgetting(whole)
        self._amending = Amending(whole)
        self._bringing = Bringing(whole)
        self._promoting = Promoting(whole)
        self._lessons = Lessons(whole)
        self._retaining = Retention(whole)

    def _then(self, name: str, command: Callable[[], None]) -> ModelReply:
        """Run a command; the model of this name as it is then."""

        def told() -> ModelReply:
            command()
            return self.describe(name)

        return self.run(told)

    def create(self, name: str, body: ModelBody) -> tuple[bool, ModelReply]:
        """Make a model; whether it is new, and the model."""
        return self.run(lambda: (self._models.create(name, body, self.clock()), self.describe(name)))

    def settled(self, body: ModelBody) -> ModelBody:
        """The settings of a model that is to be made, with what they leave to a champion."""
        return self._models.settled(body)

    def amend(self, name: str, body: AmendBody) -> ModelReply:
        """Change settings of a model that lives; the model as it is then."""
        return self._then(name, lambda: self._amending.take(name, body))

    def copy(self, name: str, body: CopyBody) -> ModelReply:
        """Make a copy of a model under another name."""
        return self._then(body.to, lambda: self._bringing.copy(name, body.to, learnt=body.learnt))

    def fill(self, name: str, brought: Brought, source: str) -> ModelReply:
        """Make a model of learners that were brought, or fill an empty one."""
        return self._then(name, lambda: self._bringing.fill(name, brought, source))

    def promote(self, name: str) -> PromotedReply:
        """Let the champion of a challenger, or of a shadow, decide with its settings and state from now on."""
        return self.run(lambda: self._promoting.take(name))

    def archive(self, name: str) -> ModelReply:
        """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""
        return self._then(name, lambda: self._models.archive(name, self.clock()))

    def revive(self, name: str) -> ModelReply:
        """Let an archived model decide again."""
        return self._then(name, lambda: self._models.revive(name, self.clock()))

    def rename(self, name: str, to: str) -> ModelReply:
        """Give an archived model another name, so that its own is free."""
        return self._then(to, lambda: self._models.rename(name, to, self.clock()))

    def model(self, name: str) -> Served:
        """The model of this name, as it is in memory; any thread may ask."""
        return self._models.known(name)

    def describe(self, name: str) -> ModelReply:
        """A model at a glance."""
        return at_a_glance(self.store, self.entered(name), self.clock())

    def decide(self, name: str, body: DecisionBody) -> Reply:
        """One decision."""
        return self.decide_all(name, [body])[0]

    def decide_all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        return self.run(lambda: self._decisions.all(name, bodies))

    def decide_batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        return self.run(lambda: self._decisions.batch(name, body))

    def decide_in_steps(self, name: str, body: BatchBody) -> Callable[[], list[Reply] | None]:
        """The same as a command that is given again until it answers, so that others have their turns in between.

        Where other workers write too, it answers at once.
        """
        return partial(self.decide_batch, name, body) if self.store.shared else self._decisions.in_steps(name, body)

    def feedback(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision: once, in time, if it is possible."""
        if self.store.in_batch:
            return self._answered(name, body, allowed)
        return self.run(lambda: self._answered(name, body, allowed))

    def _answered(self, name: str, body: FeedbackBody, allowed: str | None) -> FeedbackReply:
        made = self._recent.get(name) if self._entrance is None else None
        if made is None or made.expires_at < self.clock():
            self._silences.before(name)  # who looks after windows may not have come to it yet
        return self._answers.take(name, body, allowed)

    def decides_at_hand(self, name: str, key: str | None) -> str | None:
        """The name of the model, if all that its decision needs is in memory."""
        model = self.models.get(name)
        return name if model is not None and self.learners.at_hand(model.of(key), key) else None

    def learns_at_hand(self, id: str) -> str | None:
        """The name of the model that made a decision, if all that feedback on it needs is in memory."""
        made = self._recent.get(id)
        return made.model.name if made is not None and self.learners.at_hand(made.model, made.key) else None

    def shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count that was asked for ahead of time."""
        return self.run(lambda: self._answers.shown(name, allowed))

    def retract(self, name: str, allowed: str | None = None, ready: Folded | None = None) -> UndoneReply:
        """Undo what was learnt of a decision; ``ready`` is what was folded aside."""
        return self.run(lambda: self._undoing.retract(name, allowed, ready))

    def roll_back(
        self, name: str, version: int | None = None, ready: Folded | None = None, *, then: float | None = None
    ) -> UndoneReply:
        """Go back to the weights of a version, or of a moment; ``ready`` is what was folded aside."""
        return self.run(lambda: self._undoing.roll_back(name, version, ready, then=then))

    def forget(self, name: str, key: str, *, drop_base: bool = False) -> ForgottenReply:
        """Erase all that was said of a key, for good, once the batch is committed."""
        answer = self.run(lambda: self._forgetting.take(name, key, drop_base=drop_base))
        self.unclean, self.untidy = True, self.untidy or drop_base
        return answer

    def stage(self, model: Served, found: Sequence[BaseState], *, first: bool) -> None:
        """Write states of a base of a slot that is to come aside."""
        self.run(lambda: self._retaining.stage(model, found, first=first))

    def rebase(self, model: Served, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged; what lies under it is erased with the next commits."""

        def command() -> RetainedReply:
            answer = self._retaining.take(model, plan)
            if self._entrance is not None:  # who has not caught up cannot any more
                self.learners.leave_all(model.slot)
            return answer

        answer = self.run(command)
        self.untidy = True
        return answer

    def retained(self, model: Served) -> RetainedReply:
        """Where the log of a slot begins."""
        return self.run(lambda: self._retaining.nothing(model))

    def retain(self, name: str, older_than_s: float, progress: Progress | None = None) -> RetainedReply:
        """Fold events of this age into the base state and erase them, from beginning to end."""
        model = self.run(lambda: self.entered(name))
        progress = progress if progress is not None else Progress("retain")
        return self._retaining.together([self._retain(part, older_than_s, progress) for part in model.parts])

    def _retain(self, model: Served, older_than_s: float, progress: Progress) -> RetainedReply:
        now = self.clock()
        if (plan := planned(self.store, model, now - older_than_s, now)) is None:
            return self.retained(model)
        found = states(self.store, model, plan, progress)
        for first in itertools.count():
            chunk = list(itertools.islice(found, STAGED))
            if first and not chunk:
                break
            self.stage(model, chunk, first=not first)
        answer = self.rebase(model, plan)
        while self.run(lambda: self.store.tidy(TIDIED)):
            pass
        self.untidy, self.unclean = False, True
        return answer

    def teach(self, name: str, body: ExamplesBody) -> TaughtReply:
        """Learn examples whose answers are known: all of them, once."""
        return self.run(lambda: self._lessons.take(name, body))

    def story(self, name: str, allowed: str | None = None) -> Story:
        """A decision from beginning to end."""
        return tell(self.events, self.slots, name, allowed, self.clock())
