"""What the service does, one command at a time. A batch of commands is one transaction: all of it lasts, or none."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from smidgen.service.insight.quality import at_a_glance
from smidgen.service.messages import BatchBody, DecisionBody, FeedbackBody, FeedbackReply, ModelBody, ModelReply, Story
from smidgen.service.models.answers import Answers
from smidgen.service.models.decisions import Decisions, Reply
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Registry
from smidgen.service.models.served import LearnerCache, Served
from smidgen.service.refusals import StorageFailed
from smidgen.service.store.crash_points import reach
from smidgen.service.store.database import open_database
from smidgen.service.store.log import Log
from smidgen.service.store.snapshots import Snapshots

_log = logging.getLogger("smidgen.service")


class Engine:
    """Models, decisions and feedback over one database.

    Every public verb may be called within `batch`, which commits once for all of them. A refused command changes
    nothing. If the commit fails, nothing of the batch has happened: memory is read anew from disk.

    Parameters
    ----------
    folder
        The data folder.
    clock
        Seconds since 1970.
    snapshot_every
        Events of a model between two snapshots.
    keyed_in_memory
        How many keyed learners stay in memory.
    synchronous
        SQLite's setting; anything but FULL can lose what was acknowledged.
    """

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        snapshot_every: int = 20_000,
        keyed_in_memory: int = 2_000,
        synchronous: str = "FULL",
    ) -> None:
        self.folder = folder
        self.clock = clock
        self._every = snapshot_every
        self.connection = open_database(folder, synchronous=synchronous)
        self.events = Log(self.connection)
        self.snapshots = Snapshots(folder)
        self.learners = LearnerCache(self.events, self.snapshots, keyed_in_memory)
        self._models = Registry(self.events, self.snapshots)
        self._recent = Recent()
        self._decisions = Decisions(self._models, self.events, self.learners, self._recent, clock)
        self._answers = Answers(self._models, self.events, self.learners, self._recent, clock)
        self.failed_snapshots = 0
        self._models.load()

    @property
    def models(self) -> dict[str, Served]:
        """The models by name."""
        return self._models.by_name

    @property
    def written(self) -> int:
        """How many events were written since the start."""
        return self._models.written

    # The transaction

    def begin(self) -> None:
        """Open a batch."""
        reach("before-begin")
        self.connection.execute("BEGIN IMMEDIATE")
        reach("after-begin")

    def commit(self) -> None:
        """Make the batch last: returns when it is on the disk."""
        reach("before-commit")
        self.connection.execute("COMMIT")
        reach("after-commit")

    def abandon(self) -> None:
        """Undo the batch, on disk and in memory."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        self.learners.forget()
        self._recent.clear()
        self._models.load()

    def run(self, command: Callable[[], Any]) -> Any:
        """One command as a batch of its own."""
        try:
            self.begin()
            answer = command()
            self.commit()
        except sqlite3.Error as error:
            self.abandon()
            raise StorageFailed(f"the disk refused: {error}", "free some space, then try again") from error
        except BaseException:
            self.abandon()
            raise
        return answer

    def maintain(self, every: int | None = None) -> None:
        """Take the snapshots that are due; between batches, so that no file runs ahead of the log.

        One that fails (the disk is full, say) costs nothing but a longer recovery; it is tried again when the next is
        due.
        """
        for model in self.models.values():
            if model.fresh >= (self._every if every is None else every):
                try:
                    self.snapshot(model)
                except Exception as error:
                    self.failed_snapshots += 1
                    _log.warning("no snapshot of model %s: %s", model.name, error)
                model.fresh = 0

    def snapshot(self, model: Served) -> None:
        """Write the model's learner, or its keyed learners, aside."""
        if model.keyed:
            self._write_keyed(model)
        elif (mark := self.events.mark(model.id, model.seq)) is not None:
            self.snapshots.take(model.id, model.seq, mark, self.learners.get(model, None).learner.to_bytes())

    def _write_keyed(self, model: Served) -> None:
        self.begin()
        try:
            written = self.learners.write_keyed(model)
            self.commit()
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
        for held in written:
            held.changed = False

    def close(self) -> None:
        """Take snapshots of what has changed, and close the file."""
        self.maintain(every=1)
        self.connection.close()

    # The commands

    def create(self, name: str, body: ModelBody) -> tuple[bool, ModelReply]:
        """Make a model; whether it is new, and the model."""
        return self._models.create(name, body, self.clock()), self.describe(name)

    def archive(self, name: str) -> ModelReply:
        """No more decisions; the log stays, and outstanding feedback is taken until its window ends."""
        self._models.archive(name, self.clock())
        return self.describe(name)

    def model(self, name: str) -> Served:
        """The model of this name."""
        return self._models.get(name)

    def describe(self, name: str) -> ModelReply:
        """A model at a glance."""
        return at_a_glance(self.connection, self.model(name))

    def decide(self, name: str, body: DecisionBody) -> Reply:
        """One decision."""
        return self._decisions.all(name, [body])[0]

    def decide_all(self, name: str, bodies: list[DecisionBody]) -> list[Reply]:
        """All of the decisions, or a refusal that names the first bad one."""
        return self._decisions.all(name, bodies)

    def decide_batch(self, name: str, body: BatchBody) -> list[Reply]:
        """Many decisions: a list of requests, or one matrix of which each row is a request."""
        return self._decisions.batch(name, body)

    def feedback(self, name: str, body: FeedbackBody, allowed: str | None = None) -> FeedbackReply:
        """Learn from the reaction to a decision: once, in time, if it is possible."""
        return self._answers.take(name, body, allowed)

    def story(self, name: str, allowed: str | None = None) -> Story:
        """A decision from beginning to end."""
        return self._answers.story(name, allowed)
