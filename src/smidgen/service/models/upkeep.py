"""What a store needs beside commands: snapshots, silence that is learnt, what was erased and must leave the files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial

from smidgen.service.models.batch import Batches
from smidgen.service.models.hashed_names import PLACE
from smidgen.service.models.owning import Owning
from smidgen.service.models.passing_on import PassingOn
from smidgen.service.models.retaining import TIDIED
from smidgen.service.models.served import Served
from smidgen.service.models.silences import PATIENCE_S, Silences
from smidgen.service.refusals import StorageFailed, Taken
from smidgen.service.store.protocol import Store
from smidgen.service.store.rows import DecisionRow

_log = logging.getLogger("smidgen.service")
#: How many silent decisions are learnt in one batch.
SWEPT = 256


class Upkeep(Batches):
    """Looks after the slots of a store: all of them, or, where there are other workers, those that this one owns.

    Parameters
    ----------
    store, clock, keyed_in_memory
        See `Batches`.
    snapshot_every
        Events of a slot between two snapshots.
    worker
        The name under which this one owns slots, of a store that others write to as well.
    """

    def __init__(
        self, store: Store, clock: Callable[[], float], keyed_in_memory: int, snapshot_every: int, worker: str | None
    ) -> None:
        super().__init__(store, clock, keyed_in_memory)
        self._every = snapshot_every
        self._passing_on = PassingOn(self._all)
        self._silences = Silences(self._all, self._passing_on)
        self._passed: set[str] = set()  # decisions whose silence could not be looked after: not before the next start
        self.owning: Owning | None = None  #: what this worker owns, where there are others
        if self.store.shared:
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

    def due(self) -> bool:
        """Whether there is something to maintain."""
        if self.untidy or self.unclean:
            return True
        return any(m.seq - m.saved >= self._every and self.owns(m.slot) for m in list(self.slots.values()))

    def maintain(self, every: int | None = None) -> None:
        """Take the snapshots that are due; between batches, so that no state runs ahead of the log.

        One that fails (the disk is full, say) costs nothing but a longer recovery; it is tried again when the next is
        due.
        """
        if self.untidy and not self.store.in_batch:
            self._tidy()
        if self.unclean and not self.store.in_batch:
            try:
                for model in list(self.slots.values()):
                    if model.blueprint.grouped and (last := self.store.forgotten(model.slot)):
                        self.store.drop_states(model.slot, last)
                self.unclean = not self.store.cleanse()
            except StorageFailed as error:
                _log.warning("what was erased may still be in a file: %s", error)
        for model in list(self.slots.values()):
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

    def sweep(self, limit: int = SWEPT, patience: float = PATIENCE_S) -> int:
        """Within a batch: learn the silence of decisions whose windows are over, in the order of their ends.

        Returns how many there were. What the owner of a slot has not come to for longer than ``patience`` is learnt by
        anybody.
        """
        rows = self._left(patience, limit)
        self.store.expect([row.id for row in rows[:1]], [row.id for row in rows[1:]])
        for row in rows:
            try:
                self.attempt(partial(self._silences.take, row))
            except (StorageFailed, OSError):
                raise
            except Taken:  # another worker writes there: next time
                continue
            except Exception as error:  # a learner that cannot be read, say; nobody else waits for it
                self._passed.add(row.id)
                _log.warning("the silence after decision %s was not looked after: %s", row.id, error)
        return len(rows)

    def overdue(self, patience: float = PATIENCE_S) -> bool:
        """Whether a window has closed whose silence is to be learnt."""
        return bool(self._left(patience))

    def _left(self, patience: float, limit: int = SWEPT) -> list[DecisionRow]:
        """The decisions whose silence is to be learnt by this worker: of its own slots, or left over by others."""
        rows, now = self._silences.due(limit + len(self._passed)), self.clock()
        known = [row for row in rows if row.id not in self._passed and row.slot in self.slots][:limit]
        return [row for row in known if self.owns(row.slot) or row.expires_at + patience < now]

    def sweep_all(self, stopped: Callable[[], bool] = lambda: False) -> int:
        """The same to the end, some in a batch, whoever owns the slots, unless it is stopped."""
        total, before = 0, list[DecisionRow]()
        while not stopped() and (rows := self._left(patience=0.0)) and rows != before:
            before = rows
            self.begin()
            try:
                total += self.sweep(patience=0.0)
                self.commit()
            except BaseException:
                self.abandon()
                raise
        return total
