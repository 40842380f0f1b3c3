"""What the commands of all models work with."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from smidgen.service.models.learner_cache import LearnerCache
from smidgen.service.models.recent import Recent
from smidgen.service.models.registry import Models
from smidgen.service.models.undo import Undo
from smidgen.service.store.log import EventLog
from smidgen.service.store.protocol import Store


class Whole(NamedTuple):
    """One of each.

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
    recent: Recent
    undo: Undo
    clock: Callable[[], float]


class Commands:
    """A kind of commands, of all models.

    Parameters
    ----------
    whole
        What they work with.
    """

    def __init__(self, whole: Whole) -> None:
        self._models = whole.models
        self._store = whole.store
        self._log = whole.log
        self._learners = whole.learners
        self._recent = whole.recent
        self._undo = whole.undo
        self._clock = whole.clock
