"""Dependencies of the command handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smidgen.service.engine.learner_cache import LearnerCache, OpenDecisions
from smidgen.service.engine.log_reader import EventLog
from smidgen.service.engine.registry import Models
from smidgen.service.engine.undo import UndoStack
from smidgen.service.storage.protocol import Store


class EngineContext(NamedTuple):
    """Dependencies shared by all command handlers.

    Attributes
    ----------
    models, store, log, learners
        Whose commands they are, where they are written, how events are read back, who learns.
    recent
        The decisions that wait for feedback in memory.
    undo
        What is to be put back if a command fails.
    clock
        Seconds since 1970.
    """

    models: Models
    store: Store
    log: EventLog
    learners: LearnerCache
    open_decisions: OpenDecisions
    undo: UndoStack
    clock: Callable[[], float]


class CommandHandler:
    """A kind of commands, of all models.

    Parameters
    ----------
    whole
        What they work with.
    """

    def __init__(self, whole: EngineContext) -> None:
        self._models = whole.models
        self._store = whole.store
        self._log = whole.log
        self._learners = whole.learners
        self._open_decisions = whole.open_decisions
        self._undo = whole.undo
        self._clock = whole.clock
