"""What the service does, one command at a time. A batch of commands is one transaction: all of it lasts, or none."""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

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
from smidgen.service.models.answers import Answers
from smidgen.service.models.bases import Plan, planned, states
from smidgen.service.models.bringing import Bringing, Brought
from smidgen.service.models.decisions import Decisions
from smidgen.service.models.entrance import Entrance
from smidgen.service.models.forgetting import Forgetting
from smidgen.service.models.hashed_names import PLACE
from smidgen.service.models.lessons import Lessons
from smidgen.service.models.owning import Owning
from smidgen.service.models.passing_on import PassingOn
from smidgen.service.models.progress import Progress
from smidgen.service.models.promoting import Promoting
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.retaining import STAGED, TIDIED, Retention
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.models.showings import Showings
from smidgen.service.models.silences import Silences
from smidgen.service.models.stories import tell
from smidgen.service.models.undo import Undo
from smidgen.service.models.undoing import Folded, Undoing
from smidgen.service.refusals import Busy, StorageFailed, Taken
from smidgen.service.store.bases import BaseState
from smidgen.service.store.log import EventLog, Reply
from smidgen.service.store.places import Database, open_store
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import DecisionRow, TokenRow

T = TypeVar("T")
_log = logging.getLogger("smidgen.service")
#: How many silent decisions are learnt in one batch.
SWEPT = 256
#: How often a command begins anew because other workers write to the same slots.
TRIES = 50


class Engine:
    """Models, decisions and feedback over one store.

    Every public verb may be called within a batch (`begin`, `attempt`, `commit`), which commits once for all of them;
    outside of one it is a batch of its own. A refused command changes nothing: it is undone by its savepoint in the
    store, and step by step in memory. If the commit fails, nothing of the batch has happened.

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
        self.store: Store = place
        self.clock = clock
        self._every = snapshot_every
        self._undo = Undo()
        self.events = EventLog(self.store)
        self.learners = LearnerCache(self.store, self._undo, keyed_in_memory)
        self._models = Registry(self.store, self._undo)
        self._recent = Recent()
        self._decisions = Decisions(
            self._models, self.store, self.events, self.learners, self._recent, self._undo, clock
        )
        passing_on = PassingOn(self._models, self.store, self.events, self.learners, self._recent)
        whole = (self._models, self.store, self.events, self.learners, self._recent)
        self._answers = Answers(*whole, passing_on, clock)
        self._silences = Silences(*whole, passing_on, clock)
        self._showings = Showings(self._models, self.store, self.events, clock)
        self._undoing = Undoing(self._models, self.store, self.events, self.learners, self._recent, clock)
        self._forgetting = Forgetting(self._models, self.store, self.events, self.learners, self._recent, clock)
        self._amending = Amending(self._models, self.store, self.learners, self._recent, clock)
        self._bringing = Bringing(self._models, self.store, self.learners, clock)
        self._promoting = Promoting(self._models, self.store, self.learners, self._recent, clock)
        self._lessons = Lessons(self._models, self.store, self.learners, clock)
        self._retaining = Retention(self._models, self.store, self._recent, clock)
        self._refused: set[str] = set()
        self._entrance: Entrance | None = None
        self.owning: Owning | None = None  #: what this worker owns, where there are others
        if self.store.shared:
            self._entrance = Entrance(self.store, self._models, self.events, self.learners, self._recent)
            self._models.entrance, self.learners.holds = self._entrance, self._entrance.holds
            self.owning = Owning(self.store, lambda: list(self.slots), worker)
        self.unclean = (
            not self.store.shared
        )  #: whether something erased may still be in a file; so it is after a crash, for all we know
        self.untidy = False  #: whether something under a base is still to be erased
        self.failed_snapshots = 0
        try:
            if self._entrance is not None:
                self._entrance.look()
            else:
                self._models.load()
                self.untidy = any(self._half_erased(slot) for slot in self.slots)
        except BaseException:
            self.store.close()
            raise

    def _half_erased(self, slot: int) -> bool:
        base = self.store.base(slot)
        return base is not None and base.erased < base.seq

    def owned(self, slots: Sequence[int]) -> None:
        """Look after slots that this worker owns from now on; between batches."""
        self.unclean = True  # for all we know, its owner before has left something behind
        self.untidy = self.untidy or any(self._half_erased(slot) for slot in slots)

    @property
    def models(self) -> dict[str, Served]:
        """The models by name."""
        return self._models.by_name

    @property
    def slots(self) -> dict[int, Served]:
        """The models by slot."""
        return self._models.by_slot

    # The batch

    def begin(self, wanted: set[int] | None = None) -> None:
        """Open a batch, with the slots that commands could not have in the last one."""
        self.store.begin()
        if wanted is not None and self._entrance is not None:
            self._entrance.begin(wanted)

    @property
    def wanted(self) -> set[int]:
        """The slots that the latest command has asked for, where others write too."""
        return self._entrance.wanted if self._entrance is not None else set()

    def look(self, number: int | None = None) -> bool:
        """Take over what others changed of models and tokens; whether that was anything.

        With the number of the catalogue, if somebody knows that it has come to that.
        """
        return self._entrance is not None and self._entrance.look(number)

    @property
    def tokens(self) -> Sequence[TokenRow]:
        """The tokens as of the last look, where others write too; any thread may ask."""
        return self._entrance.tokens if self._entrance is not None else ()

    @property
    def catalogue(self) -> int:
        """The number of the catalogue as it was last looked at; 0 where nobody else writes."""
        return self._entrance.number if self._entrance is not None else 0

    def enter(self, model: Served) -> Served:
        """Within a batch: see to it that a model is as it is, whatever others wrote."""
        self._models.hold(model)
        return model

    def entered(self, name: str) -> Served:
        """Within a batch: the model of this name, as it is."""
        return self._models.get(name)

    def begin_at_once(self) -> bool:
        """Open a batch, if nothing is to be waited for: no other process that writes, no store that is elsewhere."""
        return self.store.begin_at_once()

    def attempt(self, command: Callable[[], T]) -> T:
        """Run a command of the open batch; if it fails, it alone is undone."""
        mark, entrance = self._undo.mark(), self._entrance
        self.store.savepoint()
        place = entrance.mark() if entrance is not None else None
        try:
            answer = command()
        except BaseException:
            self._undo.back(mark)
            self.store.undo()
            if entrance is not None and place is not None:
                entrance.back(place)
            raise
        self.store.release()
        return answer

    def commit(self) -> None:
        """Make the batch last: returns when it does."""
        self.store.commit()
        self._undo.clear()
        if self._entrance is not None:
            self._entrance.end(committed=True)

    def abandon(self) -> None:
        """Undo the batch, in the store and in memory."""
        try:
            self.store.rollback()
        finally:
            if self._entrance is not None:
                self._entrance.end(committed=False)
        self._undo.back()

    def run(self, command: Callable[[], T]) -> T:
        """One command as a batch of its own, or as a part of the one that is open."""
        if self.store.in_batch:
            return command()
        wanted: set[int] | None = None
        for _ in range(TRIES):
            try:
                self.begin(wanted)
                answer = self.attempt(command)
                self.commit()
            except Taken:  # another worker is at it
                wanted = self.wanted | (wanted or set())
                self.abandon()
            except BaseException:
                self.abandon()
                raise
            else:
                return answer
        raise Busy("other workers are writing to the same models", "try again in a moment")

    def due(self) -> bool:
        """Whether there is something to maintain."""
        if self.untidy or self.unclean:
            return True
        return any(m.seq - m.saved >= self._every and self.owns(m.slot) for m in list(self.models.values()))

    def maintain(self, every: int | None = None) -> None:
        """Take the snapshots that are due; between batches, so that no state runs ahead of the log.

        One that fails (the disk is full, say) costs nothing but a longer recovery; it is tried again when the next is
        due.
        """
        if self.untidy and not self.store.in_batch:
            self._tidy()
        if self.unclean and not self.store.in_batch:
            try:
                for model in list(self.models.values()):
                    if model.blueprint.grouped and (last := self.store.forgotten(model.slot)):
                        self.store.drop_states(model.slot, last)
                self.unclean = not self.store.cleanse()
            except StorageFailed as error:
                _log.warning("what was erased may still be in a file: %s", error)
        for model in list(self.models.values()):
            if model.seq - model.saved >= (self._every if every is None else every) and self.owns(model.slot):
                try:
                    self.snapshot(model)
                except Exception as error:
                    self.failed_snapshots += 1
                    _log.warning("no snapshot of model %s: %s", model.name, error)
                model.saved = model.seq

    def owns(self, slot: int) -> bool:
        """Whether this worker does what only one must do for a slot."""
        return self.owning is None or self.owning.epoch(slot) is not None

    def _tidy(self) -> None:
        """Erase some of what lies under a base; what is erased at the end leaves the files too."""
        try:
            self.untidy = self.run(lambda: self.store.tidy(TIDIED))
            self.unclean = self.unclean or not self.untidy
        except StorageFailed as error:
            _log.warning("what lies under a base is not erased yet: %s", error)

    def snapshot(self, model: Served) -> None:
        """Write the model's learner, or its keyed learners, aside, and its names."""
        if self._entrance is not None:
            self.run(lambda: self._snapshot(self.enter(model)))
            return
        if model.hashed is not None and model.hashed.changed:
            named = model.hashed
            self.run(lambda: self.store.publish(model.slot, PLACE, model.seq, named.to_bytes()))
            named.changed = False
        self._whole(model)
        if model.keyed:
            for held in self.run(lambda: self.learners.write_keyed(model)):
                held.changed = False

    def _snapshot(self, model: Served) -> None:
        """The same within a batch that holds the slot: as its owner."""
        epoch = self.owning.epoch(model.slot) if self.owning is not None else None
        if epoch is None:
            return
        if model.hashed is not None and model.hashed.changed:
            self.store.publish(model.slot, PLACE, model.seq, model.hashed.to_bytes(), epoch)
            model.hashed.changed = False
        self._whole(model, epoch)
        if model.keyed:
            for held in self.learners.write_keyed(model, epoch):
                held.changed = False

    def _whole(self, model: Served, epoch: int | None = None) -> None:
        """Publish what a model without keys has learnt, or what the keys share."""
        if not model.keyed:
            content = self.learners.get(model, None).learner.to_bytes()
            self.store.publish(model.slot, None, model.seq, content, epoch)
        elif (group := self.learners.group(model)) is not None:
            self.store.publish(model.slot, None, model.seq, group.to_bytes(), epoch)

    def close(self) -> None:
        """Take snapshots of what has changed, and close the store."""
        self.maintain(every=1)
        if self.owning is not None:
            self.owning.stop()
        self.store.close()

    # The commands

    def create(self, name: str, body: ModelBody) -> tuple[bool, ModelReply]:
        """Make a model; whether it is new, and the model."""
        return self.run(lambda: (self._models.create(name, body, self.clock()), self.describe(name)))

    def settled(self, body: ModelBody) -> ModelBody:
        """The settings of a model that is to be made, with what they leave to a champion."""
        return self._models.settled(body)

    def amend(self, name: str, body: AmendBody) -> ModelReply:
        """Change settings of a model that lives; the model as it is then."""

        def command() -> ModelReply:
            self._amending.take(name, body)
            return self.describe(name)

        return self.run(command)

    def copy(self, name: str, body: CopyBody) -> ModelReply:
        """Make a copy of a model under another name."""

        def command() -> ModelReply:
            self._bringing.copy(name, body.to, learnt=body.learnt)
            return self.describe(body.to)

        return self.run(command)

    def fill(self, name: str, brought: Brought, source: str) -> ModelReply:
        """Make a model of learners that were brought, or fill an empty one."""

        def command() -> ModelReply:
            self._bringing.fill(name, brought, source)
            return self.describe(name)

        return self.run(command)

    def promote(self, name: str) -> PromotedReply:
        """Let the champion of a challenger, or of a shadow, decide with its settings and state from now on."""
        return self.run(lambda: self._promoting.take(name))

    def archive(self, name: str) -> ModelReply:
        """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""

        def command() -> ModelReply:
            self._models.archive(name, self.clock())
            return self.describe(name)

        return self.run(command)

    def revive(self, name: str) -> ModelReply:
        """Let an archived model decide again."""

        def command() -> ModelReply:
            self._models.revive(name, self.clock())
            return self.describe(name)

        return self.run(command)

    def rename(self, name: str, to: str) -> ModelReply:
        """Give an archived model another name, so that its own is free."""

        def command() -> ModelReply:
            self._models.rename(name, to, self.clock())
            return self.describe(to)

        return self.run(command)

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

    def feedback(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision: once, in time, if it is possible."""
        return self.run(lambda: self._answered(name, body, allowed))

    def _answered(self, name: str, body: FeedbackBody, allowed: str | None) -> FeedbackReply:
        if self._entrance is not None:
            self._silences.before(name)  # its owner may not have come to it yet
        return self._answers.take(name, body, allowed)

    def decides_at_hand(self, name: str, key: str | None) -> str | None:
        """The name of the model, if all that its decision needs is in memory."""
        model = self.models.get(name)
        return name if model is not None and self.learners.at_hand(model, key) else None

    def learns_at_hand(self, id: str) -> str | None:
        """The name of the model that made a decision, if all that feedback on it needs is in memory."""
        made = self._recent.get(id)
        return made.model.name if made is not None and self.learners.at_hand(made.model, made.key) else None

    def shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count that was asked for ahead of time."""
        return self.run(lambda: self._showings.take(name, allowed))

    def sweep(self, limit: int = SWEPT) -> int:
        """Within a batch: learn the silence of decisions whose windows are over, in the order of their ends.

        Returns how many there were. One that its learner refuses is left as it is, and told in the server's log.
        """
        rows = [row for row in self._silences.due(limit) if self._mine(row)]
        for row in rows:
            try:
                self.attempt(partial(self._silences.take, row))
            except (StorageFailed, OSError):
                raise
            except Taken:  # another worker writes there: next time
                continue
            except Exception as error:  # a guest's learner may fail in ways of its own; nobody else waits for it
                self._refused.add(row.id)
                _log.warning("the silence after decision %s was not learnt: %s", row.id, error)
        return len(rows)

    def overdue(self) -> bool:
        """Whether a window has closed whose silence is to be learnt."""
        return any(self._mine(row) for row in self._silences.due(SWEPT))

    def _mine(self, row: DecisionRow) -> bool:
        """Whether the silence after a decision is to be learnt, and by this worker."""
        return row.id not in self._refused and row.slot in self.slots and self.owns(row.slot)

    def sweep_all(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """The same to the end, some in a batch, unless it is stopped."""
        total = 0
        while not stopped():
            self.begin()
            try:
                swept = self.sweep()
                self.commit()
            except BaseException:
                self.abandon()
                raise
            total += swept
            if swept < SWEPT:
                break
        return total

    def retract(self, name: str, allowed: str | None = None, ready: Folded | None = None) -> UndoneReply:
        """Undo what was learnt of a decision; ``ready`` is what was folded aside."""
        return self.run(lambda: self._undoing.retract(name, allowed, ready))

    def roll_back(self, name: str, version: int, ready: Folded | None = None) -> UndoneReply:
        """Go back to the weights of a version; ``ready`` is what was folded aside."""
        return self.run(lambda: self._undoing.roll_back(name, version, ready))

    def forget(self, name: str, key: str, *, drop_base: bool = False) -> ForgottenReply:
        """Erase all that was said of a key, for good, once the batch is committed."""
        answer = self.run(lambda: self._forgetting.take(name, key, drop_base=drop_base))
        self.unclean, self.untidy = True, self.untidy or drop_base
        return answer

    def stage(self, name: str, found: Sequence[BaseState], *, first: bool) -> None:
        """Write states of a base that is to come aside."""
        self.run(lambda: self._retaining.stage(name, found, first=first))

    def rebase(self, name: str, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged; what lies under it is erased with the next commits."""

        def command() -> RetainedReply:
            answer = self._retaining.take(name, plan)
            if self._entrance is not None:  # who has not caught up cannot any more
                self.learners.leave_all(self.entered(name).slot)
            return answer

        answer = self.run(command)
        self.untidy = True
        return answer

    def retained(self, name: str) -> RetainedReply:
        """Where the log of a model begins."""
        return self.run(lambda: self._retaining.nothing(name))

    def retain(self, name: str, older_than_s: float, progress: Progress | None = None) -> RetainedReply:
        """Fold events of this age into the base state and erase them, from beginning to end."""
        model = self.run(lambda: self.entered(name))
        progress = progress if progress is not None else Progress("retain")
        now = self.clock()
        if (plan := planned(self.store, model, now - older_than_s, now)) is None:
            return self.retained(name)
        found = states(self.store, model, plan, progress)
        for first in itertools.count():
            chunk = list(itertools.islice(found, STAGED))
            if first and not chunk:
                break
            self.stage(name, chunk, first=not first)
        answer = self.rebase(name, plan)
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
