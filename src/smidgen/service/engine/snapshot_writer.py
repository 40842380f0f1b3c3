"""Write snapshots of learners, so that a restart need not replay whole logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from smidgen.service.engine.learner_cache import CachedLearner, LearnerCache
from smidgen.service.engine.model import PLACE, HashedNames, ServedModel
from smidgen.service.storage.protocol import Store

#: Number of models that are examined after a batch, in turn: looking at thousands would take longer than the batch.
LOOKED = 64

#: Number of models whose rows are written in one batch, and whose files are written at once.
TOGETHER = 64
#: Bytes of states from which no more are written at once.
PART = 8 << 20
_log = logging.getLogger("smidgen.service")


class SnapshotWriter:
    """Writes snapshots of the models that have enough new events.

    One that fails (the disk is full, say) costs nothing but a longer recovery; it is tried again when the next is due.

    Parameters
    ----------
    store, learners
        Where snapshots are kept, and the learners in memory.
    models
        Returns all shards of all models.
    run
        Runs a command in a batch of its own.
    acquire
        Within a batch: brings a model up to date and keeps other workers from writing to it.
    epoch
        The epoch of the lease of a shard; None if another worker owns it. Not called for a store with one writer.
    every
        Events of a shard between two snapshots.

    Attributes
    ----------
    failed
        Number of snapshots that could not be written.
    """

    def __init__(
        self,
        store: Store,
        learners: LearnerCache,
        models: Callable[[], list[ServedModel]],
        run: Callable[[Callable[[], Any]], Any],
        acquire: Callable[[ServedModel], ServedModel],
        epoch: Callable[[int], int | None],
        every: int,
    ) -> None:
        self._store = store
        self._learners = learners
        self._models = models
        self._run = run
        self._acquire = acquire
        self._epoch = epoch
        self._every = every
        self._unchecked: list[ServedModel] = []
        self.failed = 0

    def is_due(self) -> bool:
        """Check some of the models, in turn, for one whose snapshot is due."""
        if not self._unchecked:
            self._unchecked = self._models()
        some = self._unchecked[-LOOKED:]
        del self._unchecked[-LOOKED:]
        return any(self._has_news(model, self._every) for model in some)

    def _has_news(self, model: ServedModel, every: int) -> bool:
        return model.seq - model.saved >= every and self._owns(model.shard)

    def _owns(self, shard: int) -> bool:
        return not self._store.shared or self._epoch(shard) is not None

    def write_due(self, every: int | None = None) -> None:
        """Write the snapshots that are due; between batches, so that no state runs ahead of the log."""
        due = [model for model in self._models() if self._has_news(model, self._every if every is None else every)]
        for first in range(0, len(due), TOGETHER):
            some = due[first : first + TOGETHER]
            try:
                self.write(*some)
            except Exception as error:
                self._write_each(some, error)
            for model in some:
                model.saved = model.seq

    def _write_each(self, models: Sequence[ServedModel], error: Exception) -> None:
        """Write one by one what failed together: one model does not keep the others from their snapshots."""
        for model in models:
            try:
                if len(models) == 1:
                    raise error
                self.write(model)
            except Exception as problem:
                self.failed += 1
                _log.warning("no snapshot of model %s: %s", model.name, problem)

    def write(self, *models: ServedModel) -> None:
        """Write snapshots of models: rows of the database in one batch, then the learners, one file after the other."""
        if self._store.shared:
            self._run(partial(self._write_owned, models))
            return
        if any(model.keyed or _changed_names(model) for model in models):
            for written in self._run(partial(self._write_rows, models)):
                written.changed = False
        contents = ((model, content) for model in models if (content := self._shared_content(model)) is not None)
        for part in _parts(contents):
            with ThreadPoolExecutor(len(part)) as pool:  # the disk syncs many files in the time of one
                list(pool.map(lambda each: self._store.publish(each[0].shard, None, each[0].seq, each[1]), part))

    def _write_rows(
        self, models: Sequence[ServedModel], epochs: Sequence[int | None] | None = None
    ) -> list[HashedNames | CachedLearner]:
        """Write what is a row of the database: names of columns, and learners of keys."""
        written: list[HashedNames | CachedLearner] = []
        for model, epoch in zip(models, epochs or [None] * len(models), strict=True):
            if (names := _changed_names(model)) is not None:
                self._store.publish(model.shard, PLACE, model.seq, names.to_bytes(), epoch)
                written.append(names)
            if model.keyed:
                written += self._learners.write_keyed(model, epoch)
        return written

    def _write_owned(self, models: Sequence[ServedModel]) -> None:
        """Write snapshots within a batch that holds the shards, as their owner."""
        owned = [(self._acquire(model), epoch) for model in models if (epoch := self._epoch(model.shard)) is not None]
        for written in self._write_rows([model for model, _ in owned], [epoch for _, epoch in owned]):
            written.changed = False
        for model, epoch in owned:
            if (content := self._shared_content(model)) is not None:
                self._store.publish(model.shard, None, model.seq, content, epoch)

    def _shared_content(self, model: ServedModel) -> bytes | None:
        """Encode what a model without keys has learned, or what the keys share; None if they share nothing."""
        if not model.keyed:
            return self._learners.get(model, None).learner.to_bytes()
        group = self._learners.shared_state(model)
        return group.to_bytes() if group is not None else None


def _parts(contents: Iterable[tuple[ServedModel, bytes]]) -> Iterator[list[tuple[ServedModel, bytes]]]:
    """Divide states into parts that may be in memory together."""
    part, size = list[tuple[ServedModel, bytes]](), 0
    for model, content in contents:
        part.append((model, content))
        size += len(content)
        if size >= PART:
            yield part
            part, size = [], 0
    if part:
        yield part


def _changed_names(model: ServedModel) -> HashedNames | None:
    return model.hashed if model.hashed is not None and model.hashed.changed else None
