"""The Engine: transactions and maintenance.

The owner of a shard (see `leases`) learns the silence of windows, publishes states, folds what is old. Every worker
decides and learns.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from smidgen.service.engine.context import EngineContext
from smidgen.service.engine.decide import DecideHandler
from smidgen.service.engine.decide_batch import BatchDecideHandler
from smidgen.service.engine.description import summarize_model
from smidgen.service.engine.feedback import PATIENCE_S, DecisionCloser, ExpiryHandler, FeedbackHandler, FollowerTrainer
from smidgen.service.engine.forgetting import LogsWithoutKey
from smidgen.service.engine.forgetting_units import LogsWithoutUnit
from smidgen.service.engine.learner_cache import LearnerCache, OpenDecisions
from smidgen.service.engine.leases import ShardLeases
from smidgen.service.engine.lifecycle import AmendHandler, ForgetHandler, ImportedState, ImportHandler, PromoteHandler
from smidgen.service.engine.log_reader import EventLog, Reply
from smidgen.service.engine.model import ServedModel
from smidgen.service.engine.registry import Models, ShardAccess
from smidgen.service.engine.retention import STAGED, TIDIED, Plan, RetentionHandler, checkpoint_states, plan_checkpoint
from smidgen.service.engine.rollback import RefoldedLearner, RollbackHandler
from smidgen.service.engine.snapshot_writer import SnapshotWriter
from smidgen.service.engine.stories import story_of
from smidgen.service.engine.teach import TeachHandler
from smidgen.service.engine.undo import Progress, UndoStack
from smidgen.service.errors import Busy, Outdated, StorageFailed, Taken
from smidgen.service.log.checkpoint import CheckpointState
from smidgen.service.schemas import (
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
from smidgen.service.storage.address import Database, open_store
from smidgen.service.storage.crash_points import crash_point
from smidgen.service.storage.protocol import Store
from smidgen.service.storage.records import DecisionRow, TokenRow

# A batch of commands is one transaction: all of it lasts, or none; a command that fails is undone alone.

T = TypeVar("T")
#: How often a command is retried because other workers write to the same shards.
TRIES = 50


class Transactions:
    """Runs commands over one store, and keeps what is in memory of it true to it.

    A refused command changes nothing: it is undone by its savepoint in the store, and step by step in memory. If the
    commit fails, nothing of the batch has happened.

    Parameters
    ----------
    store
        Where everything is kept.
    clock
        Seconds since 1970.
    keyed_in_memory
        How many keyed learners stay in memory.
    """

    def __init__(self, store: Store, clock: Callable[[], float], keyed_in_memory: int) -> None:
        self.store = store
        self.clock = clock
        self._undo = UndoStack()
        self.events = EventLog(self.store)
        self.learners = LearnerCache(self.store, self._undo, keyed_in_memory)
        self._models = Models(self.store, self._undo)
        self._models.on_undone = self._forget_model
        self._open_decisions = OpenDecisions()
        self._context = EngineContext(
            self._models, self.store, self.events, self.learners, self._open_decisions, self._undo, clock
        )
        self._shard_access: ShardAccess | None = None
        if self.store.shared:
            self._shard_access = ShardAccess(self.store, self._models, self.events, self.learners, self._open_decisions)
            self._models.shard_access, self.learners.holds = self._shard_access, self._shard_access.holds

    def _forget_model(self, model: ServedModel) -> None:
        """Keep nothing in memory of a model whose making is undone."""
        self.learners.evict_shard(model.shard)
        self.events.evict(model)

    @property
    def models(self) -> dict[str, ServedModel]:
        """The models by name: of each its first shard, which knows the others."""
        return self._models.by_name

    @property
    def shards(self) -> dict[int, ServedModel]:
        """All shards of all models."""
        return self._models.by_shard

    def begin(self, wanted: set[int] | None = None) -> None:
        """Open a batch, with the shards that commands could not have in the last one."""
        self.store.begin()
        if wanted is not None and self._shard_access is not None:
            self._shard_access.begin(wanted)

    @property
    def wanted(self) -> set[int]:
        """The shards that the latest command has asked for, where others write too."""
        return self._shard_access.wanted if self._shard_access is not None else set()

    def refresh(self, number: int | None = None) -> bool:
        """Take over what others changed of models and tokens; whether that was anything.

        With the number of the catalog, if the caller knows it.
        """
        return self._shard_access is not None and self._shard_access.refresh(number)

    @property
    def tokens(self) -> Sequence[TokenRow]:
        """The tokens as of the last look, where others write too; any thread may ask."""
        return self._shard_access.tokens if self._shard_access is not None else ()

    @property
    def catalogue(self) -> int:
        """The number of the catalog when it was last read; 0 without other writers."""
        return self._shard_access.number if self._shard_access is not None else 0

    def prefetch(self, wanted: Sequence[tuple[str | None, Sequence[str]]]) -> None:
        """Within a batch: commands will be about these models and decisions; where others write too, take them."""
        if self._shard_access is not None:
            self._shard_access.prefetch(wanted)

    def acquire(self, model: ServedModel) -> ServedModel:
        """Within a batch: bring a model up to date with what others wrote."""
        self._models.acquire(model)
        return model

    def locked_model(self, name: str) -> ServedModel:
        """Within a batch: the model of this name, as it is, in all its shards."""
        return self._models.get(name)

    def locked_shard(self, name: str, key: str | None) -> ServedModel:
        """Within a batch: the shard of a model where a key is at home, as it is."""
        return self._models.get(name, [key]).shard_for(key)

    def try_begin(self) -> bool:
        """Open a batch, if nothing is to be waited for: no other process that writes, no store that is elsewhere."""
        return self.store.try_begin()

    @contextmanager
    def signed_by(self, token: str | None) -> Iterator[None]:
        """Within a command: the events that operators cause and that are written in the block name this token."""
        self.store.author = token
        try:
            yield
        finally:
            self.store.author = None

    def run_in_savepoint(self, command: Callable[[], T]) -> T:
        """Run a command of the open batch; if it fails, it alone is undone."""
        mark, entrance = self._undo.savepoint(), self._shard_access
        self.store.savepoint()
        place = entrance.savepoint() if entrance is not None else None
        self.learners.begin_command()
        try:
            answer = command()
            self.learners.unpin()
        except BaseException:
            self._undo.rollback(mark)
            self.store.rollback_to_savepoint()
            if entrance is not None and place is not None:
                entrance.rollback_to_savepoint(place)
            raise
        finally:
            self.learners.end_command()
        self.store.release()
        return answer

    def commit(self) -> None:
        """Make the batch last: returns when it does."""
        self.store.commit()
        self._undo.clear()
        if self._shard_access is not None:
            self._shard_access.end(committed=True)

    def rollback(self) -> None:
        """Undo the batch, in the store and in memory."""
        try:
            self.store.rollback()
        finally:
            if self._shard_access is not None:
                self._shard_access.end(committed=False)
        self._undo.rollback()

    def run(self, command: Callable[[], T]) -> T:
        """Run a command in its own batch, or in the open one."""
        if self.store.in_batch:
            return command()
        wanted: set[int] | None = None
        for _ in range(TRIES):
            try:
                self.begin(wanted)
                answer = self.run_in_savepoint(command)
                self.commit()
            except (Taken, Outdated):  # another worker is at it
                wanted = self.wanted | (wanted or set())
                self.rollback()
            except BaseException:
                self.rollback()
                raise
            else:
                return answer
        raise Busy("other workers are writing to the same models", "try again in a moment")


_log = logging.getLogger("smidgen.service")


# Maintenance: snapshots, expiry of windows, removal of erased data from the files.

#: Number of silent decisions that are learnt in one batch.
SWEPT = 256


class Maintenance(Transactions):
    """Maintains the shards of a store: all of them, or, where there are other workers, those that this one owns.

    Parameters
    ----------
    store, clock, keyed_in_memory
        See `Transactions`.
    snapshot_every
        Events of a shard between two snapshots.
    worker
        The name under which this one owns shards, of a store that others write to as well.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], keyed_in_memory: int, snapshot_every: int, worker: str | None
    ) -> None:
        super().__init__(store, clock, keyed_in_memory)
        self._closer = DecisionCloser(self._context, FollowerTrainer(self._context))
        self._expiry = ExpiryHandler(self._context, self._closer)
        self._skipped: set[str] = set()  # decisions that could not expire: they are tried again after the next start
        self.leases: ShardLeases | None = None  #: what this worker owns, where there are others
        if self.store.shared:
            self.leases = ShardLeases(self.store, lambda: list(self.shards), worker)
            self.store.trust(self.owns)
        self.vacuum_pending = False  #: whether something erased may still be in a file
        self.fragmented = False  #: whether parts of it may be in unused parts of a file that is too large for a moment
        self.purge_pending = False  #: whether something under a base is still to be erased
        self.snapshots = SnapshotWriter(
            self.store,
            self.learners,
            lambda: list(self.shards.values()),
            self.run,
            self.acquire,
            lambda shard: self.leases.epoch(shard) if self.leases is not None else None,
            snapshot_every,
        )
        try:
            if self._shard_access is not None:
                self._shard_access.refresh()
            else:
                self._models.load()
                self.purge_pending = any(self._half_erased(shard) for shard in self.shards)
                self._vacuum()  # the last process may have ended before it came to that
        except BaseException:
            self.store.close()
            raise

    def _half_erased(self, shard: int) -> bool:
        checkpoint = self.store.checkpoint(shard)
        return checkpoint is not None and checkpoint.erased < checkpoint.seq

    def take_over(self, shards: Sequence[int]) -> None:
        """Maintain shards that this worker owns from now on; called between batches."""
        self.vacuum_pending = True  # for all we know, its owner before has left something behind
        self.purge_pending = self.purge_pending or any(self._half_erased(shard) for shard in shards)

    def is_due(self) -> bool:
        """Check whether there is something to maintain."""
        return self.purge_pending or self.vacuum_pending or self.snapshots.is_due()

    def maintain(self, every: int | None = None) -> None:
        """Erase what is still to be erased, and write the snapshots that are due; between batches."""
        if self.purge_pending and not self.store.in_batch:
            self._purge()
        if self.vacuum_pending and not self.store.in_batch:
            self._vacuum()
        self.snapshots.write_due(every)

    def _vacuum(self) -> None:
        """Remove erased data from the files: old snapshots, and pages that the database has freed."""
        self.vacuum_pending = True
        try:
            for model in list(self.shards.values()):
                if model.keyed and (last := self.store.last_forgetting(model.shard)):
                    self.store.drop_states(model.shard, last)
            crash_point("states-dropped")
            self.vacuum_pending = not self.store.vacuum()
            self.fragmented = self.store.is_fragmented
        except StorageFailed as error:
            _log.warning("what was erased may still be in a file: %s", error)

    def owns(self, shard: int) -> bool:
        """Check whether this worker does what only one must do for a shard."""
        return self.leases is None or self.leases.epoch(shard) is not None

    def _purge(self) -> None:
        """Erase some of what lies under a base; what is erased at the end leaves the files too."""
        try:
            self.purge_pending = self.run(lambda: self.store.purge(TIDIED))
            self.vacuum_pending = self.vacuum_pending or not self.purge_pending
        except StorageFailed as error:
            _log.warning("what lies under a base is not erased yet: %s", error)

    def compact(self) -> None:
        """Between batches: rewrite a large file whose free pages may hold erased data."""
        try:
            self.store.compact()
            self.fragmented = self.store.is_fragmented
        except StorageFailed as error:
            self.fragmented = False  # it is tried again at the next start
            _log.warning("parts of what was erased may still be in the file: %s", error)

    def close(self) -> None:
        """Take snapshots of what has changed, and close the store."""
        self.maintain(every=1)
        self.compact()
        if self.leases is not None:
            self.leases.stop()
        self.store.close()

    def sweep(self, limit: int = SWEPT, patience: float = PATIENCE_S) -> int:
        """Within a batch: learn the silence of decisions whose windows are over, in the order of their ends.

        Returns how many there were. What the owner of a shard has not come to for longer than ``patience`` is learnt by
        anybody.
        """
        rows = self._due_here(patience, limit)
        self.store.prefetch([row.id for row in rows[:1]], [row.id for row in rows[1:]])
        for row in rows:
            try:
                self.run_in_savepoint(partial(self._expiry.handle, row))
            except (StorageFailed, OSError):
                raise
            except Taken:  # another worker writes there: next time
                continue
            except Exception as error:  # a learner that cannot be read, say; nobody else waits for it
                self._skipped.add(row.id)
                _log.warning("the expired decision %s was not processed: %s", row.id, error)
        return len(rows)

    def has_expired(self, patience: float = PATIENCE_S) -> bool:
        """Check whether a window has closed whose silence is to be learnt."""
        return bool(self._due_here(patience))

    def _due_here(self, patience: float, limit: int = SWEPT) -> list[DecisionRow]:
        """The decisions whose silence is to be learnt by this worker: of its own shards, or left over by others."""
        now = self.clock()
        rows = self.store.due_decisions(now, limit + len(self._skipped))
        known = [row for row in rows if row.id not in self._skipped and row.shard in self.shards][:limit]
        return [row for row in known if self.owns(row.shard) or row.expires_at + patience < now]

    def sweep_all(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """Expire all closed windows, in several batches, on all shards, until stopped."""
        total, before = 0, list[DecisionRow]()
        while not stopped() and (rows := self._due_here(patience=0.0)) and rows != before:
            before = rows
            total += self.run(lambda: self.sweep(patience=0.0))
        return total


# What the service does, one command at a time. A batch of commands is one transaction: all of it lasts, or none.


class Engine(Maintenance):
    """Models, decisions and feedback over one store.

    Every public verb may be called within a batch (`begin`, `attempt`, `commit`), which commits once for all of them;
    outside of one it is a batch of its own.

    Parameters
    ----------
    place
        The data folder, a database, the address of either (``postgresql://…``), or a store.
    clock
        Seconds since 1970.
    snapshot_every
        Events of a model between two snapshots.
    keyed_in_memory
        How many keyed learners stay in memory.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    worker
        The name under which this one owns shards, of a store that others write to as well.
    """

    def __init__(
        self,
        place: str | Path | Database | Store,
        *,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = 20_000,
        keyed_in_memory: int = 2_000,
        synchronous: str = "FULL",
        worker: str | None = None,
    ) -> None:
        if isinstance(place, str | Path | Database):
            place = open_store(place, synchronous=synchronous)
        super().__init__(place, clock, keyed_in_memory, snapshot_every, worker)
        whole = self._context
        self._decide = DecideHandler(whole)
        self._decide_batch = BatchDecideHandler(whole, self._decide)
        self._feedback = FeedbackHandler(whole, self._closer)
        self._rollback = RollbackHandler(whole)
        self._forget = ForgetHandler(whole)
        self._amend = AmendHandler(whole)
        self._imports = ImportHandler(whole)
        self._promote = PromoteHandler(whole)
        self._teach = TeachHandler(whole)
        self._retention = RetentionHandler(whole)

    def recover(self, stopped: Callable[[], bool]) -> None:
        """Bring the models into memory when the service starts, so that no request waits for the replay of a log.

        Learners of keys are recovered when they are first asked for; what they share is recovered now. A model that
        cannot be recovered is logged, and refuses on its own.
        """
        for model in [each for each in self.shards.values() if each.archived_at is None]:
            if stopped():
                return
            try:
                if not model.keyed:
                    self.learners.get(model, None)
                elif model.blueprint.grouped:
                    self.run(partial(self._recover_shared, model))
            except Exception as error:
                _log.warning("model %s could not be recovered: %s", model.name, error)

    def _recover_shared(self, model: ServedModel) -> None:
        self.learners.shared_state(self.acquire(model))

    def _run_and_describe(self, name: str, command: Callable[[], None]) -> ModelReply:
        """Run a command; the model of this name as it is then."""

        def run_then_describe() -> ModelReply:
            command()
            return self.describe(name)

        return self.run(run_then_describe)

    def create(self, name: str, body: ModelBody) -> tuple[bool, ModelReply]:
        """Make a model; whether it is new, and the model."""
        return self.run(lambda: (self._models.create(name, body, self.clock()), self.describe(name)))

    def resolve_settings(self, body: ModelBody) -> ModelBody:
        """The settings of a model that is to be made, with what they leave to a champion."""
        return self._models.resolve_settings(body)

    def amend(self, name: str, body: AmendBody) -> ModelReply:
        """Change settings of a model that lives; the model as it is then."""
        return self._run_and_describe(name, lambda: self._amend.handle(name, body))

    def copy(self, name: str, body: CopyBody) -> ModelReply:
        """Make a copy of a model under another name."""
        return self._run_and_describe(body.to, lambda: self._imports.copy(name, body.to, learnt=body.learnt))

    def import_model(self, name: str, imported: ImportedState, source: str) -> ModelReply:
        """Make a model of learners that were brought, or fill an empty one."""
        return self._run_and_describe(name, lambda: self._imports.load_into(name, imported, source))

    def promote(self, name: str) -> PromotedReply:
        """Let the champion of a challenger, or of a shadow, decide with its settings and state from now on."""
        return self.run(lambda: self._promote.handle(name))

    def archive(self, name: str) -> ModelReply:
        """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""
        return self._run_and_describe(name, lambda: self._models.archive(name, self.clock()))

    def revive(self, name: str) -> ModelReply:
        """Let an archived model decide again."""
        return self._run_and_describe(name, lambda: self._models.revive(name, self.clock()))

    def rename(self, name: str, to: str) -> ModelReply:
        """Give an archived model another name, so that its own is free."""
        return self._run_and_describe(to, lambda: self._models.rename(name, to, self.clock()))

    def model(self, name: str) -> ServedModel:
        """The model of this name, as it is in memory; any thread may ask."""
        return self._models.lookup(name)

    def describe(self, name: str) -> ModelReply:
        """A model at a glance."""
        return summarize_model(self.store, self.locked_model(name), self.clock())

    def run_requested(self, request: str, command: Callable[[str | None], T], only: str | None) -> T:
        """Run a command whose decisions keep the caller's id of the request."""
        self._decide.request = request
        try:
            return command(only)
        finally:
            self._decide.request = None

    def decide(self, name: str, body: DecisionBody) -> Reply:
        """Make a decision."""
        if self.store.in_batch:
            return self._decide.handle(name, body)
        return self.run(lambda: self._decide.handle(name, body))

    def decide_all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        return self.run(lambda: self._decide_batch.handle(name, bodies))

    def decide_batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        return self.run(lambda: self._decide_batch.handle_body(name, body))

    def decide_in_steps(self, name: str, body: BatchBody) -> Callable[[], list[Reply] | None]:
        """Make a command for a batch that is called again until it answers, so that other commands run in between.

        Where other workers write too, it answers at once.
        """
        if self.store.shared:
            return partial(self.decide_batch, name, body)
        return self._decide_batch.handle_in_steps(name, body)

    def feedback(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision: once, in time, if it is possible."""
        if self.store.in_batch:
            return self._handle_feedback(name, body, allowed)
        return self.run(lambda: self._handle_feedback(name, body, allowed))

    def _handle_feedback(self, name: str, body: FeedbackBody, allowed: str | None) -> FeedbackReply:
        opened = self._open_decisions.get(name)
        if opened is None or opened.expires_at < self.clock() or not self.store.trusts(opened.model.shard):
            self._expiry.expire_before(name)  # its window may be over and not handled yet
        return self._feedback.handle(name, body, allowed)

    def is_hot_for_decide(self, name: str, key: str | None) -> str | None:
        """The name of the model, if all that its decision needs is in memory."""
        model = self.models.get(name)
        return name if model is not None and self.learners.is_hot(model.shard_for(key), key) else None

    def is_hot_for_feedback(self, id: str) -> str | None:
        """The name of the model that made a decision, if all that feedback on it needs is in memory."""
        opened = self._open_decisions.get(id)
        return opened.model.name if opened is not None and self.learners.is_hot(opened.model, opened.key) else None

    def mark_shown(self, name: str, allowed: str | None = None) -> ShownReply:
        """Let a decision count that was asked for ahead of time."""
        return self.run(lambda: self._feedback.mark_shown(name, allowed))

    def retract(self, name: str, allowed: str | None = None, ready: RefoldedLearner | None = None) -> UndoneReply:
        """Undo the learning from a decision; ``ready`` is the state rebuilt in the background."""
        return self.run(lambda: self._rollback.retract(name, allowed, ready))

    def roll_back(
        self, name: str, version: int | None = None, ready: RefoldedLearner | None = None, *, then: float | None = None
    ) -> UndoneReply:
        """Restore the weights of a version or a time; ``ready`` is the state rebuilt in the background."""
        return self.run(lambda: self._rollback.roll_back(name, version, ready, then=then))

    def forget(
        self,
        name: str,
        key: str,
        *,
        drop_base: bool = False,
        allowed: str | None = None,
        ready: LogsWithoutKey | LogsWithoutUnit | None = None,
    ) -> ForgottenReply:
        """Erase all data of a key, permanently once committed; ``ready`` is the state rebuilt in the background.

        Copies of the model forget the key too; a caller who may see only one model does not receive their names.
        """
        take = self._forget.handle
        answer = self.run(lambda: take(name, key, drop_base=drop_base, allowed=allowed, ready=ready))
        self.vacuum_pending, self.purge_pending = True, self.purge_pending or drop_base
        return answer

    def stage(self, model: ServedModel, plan: Plan, found: Sequence[CheckpointState], *, first: bool) -> None:
        """Write states of a shard's next checkpoint to the staging area."""
        self.run(lambda: self._retention.stage(model, plan, found, first=first))

    def apply_checkpoint(self, model: ServedModel, plan: Plan) -> RetainedReply:
        """Put a base in force whose states are staged; what lies under it is erased with the next commits."""

        def command() -> RetainedReply:
            answer = self._retention.handle(model, plan)
            if self._shard_access is not None:  # who has not caught up cannot any more
                self.learners.evict_shard(model.shard)
            return answer

        answer = self.run(command)
        self.purge_pending = True
        return answer

    def retention_state(self, model: ServedModel) -> RetainedReply:
        """Beginning of the log of a shard."""
        return self.run(lambda: self._retention.unchanged_reply(model))

    def retain(self, name: str, older_than_s: float, progress: Progress | None = None) -> RetainedReply:
        """Fold events of this age into the base state and erase them, from beginning to end."""
        model = self.run(lambda: self.locked_model(name))
        progress = progress if progress is not None else Progress("retain")
        return self._retention.combined_reply([self._retain(part, older_than_s, progress) for part in model.parts])

    def _retain(self, model: ServedModel, older_than_s: float, progress: Progress) -> RetainedReply:
        now = self.clock()
        if (plan := plan_checkpoint(self.store, model, now - older_than_s, now)) is None:
            return self.retention_state(model)
        found = checkpoint_states(self.store, model, plan, progress)
        for first in itertools.count():
            chunk = list(itertools.islice(found, STAGED))
            if first and not chunk:
                break
            self.stage(model, plan, chunk, first=not first)
        answer = self.apply_checkpoint(model, plan)
        while self.run(lambda: self.store.purge(TIDIED)):
            pass
        self.purge_pending, self.vacuum_pending = False, True
        return answer

    def teach(self, name: str, body: ExamplesBody) -> TaughtReply:
        """Learn examples whose answers are known: all of them, once."""
        return self.run(lambda: self._teach.handle(name, body))

    def story(self, name: str, allowed: str | None = None) -> Story:
        """A decision from beginning to end."""
        return story_of(self.events, self.shards, name, allowed, self.clock(), self.learners.peek)
