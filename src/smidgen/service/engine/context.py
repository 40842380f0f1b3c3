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
    models
        The models in memory, by name and shard.
    store
        The store that commands write to.
    log
        Reads events back.
    learners
        The learners in memory.
    open_decisions
        The decisions in memory that wait for feedback.
    undo
        The changes to revert if a command fails.
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
    """Base of handlers, each of which carries out one kind of command for all models.

    Parameters
    ----------
    context
        The dependencies of command handlers.
    """

    def __init__(self, context: EngineContext) -> None:
        self._models = context.models
        self._store = context.store
        self._log = context.log
        self._learners = context.learners
        self._open_decisions = context.open_decisions
        self._undo = context.undo
        self._clock = context.clock
