"""What takes a look at the lists of a rank model, kept until its log has grown: perturbation and examination."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from smidgen.learners import Feedback
from smidgen.service.insight.examined import Examined, examined
from smidgen.service.insight.lists import Lists
from smidgen.service.insight.perturbing import perturbing
from smidgen.service.insight.quality import all_committed
from smidgen.service.messages import PerturbationReply
from smidgen.service.models.served import Served
from smidgen.service.store.protocol import Reading

#: A model is not looked at again before so many times the time has passed that it took.
REST = 5.0


class Look(NamedTuple):
    """What the lists of a model say.

    Attributes
    ----------
    perturbation
        How much is perturbed, and what that costs.
    examination
        How far people look, or why nobody knows.
    """

    perturbation: PerturbationReply | None
    examination: Examined


class _Looked(NamedTuple):
    seq: int
    at: float
    took: float
    look: Look


class Looking:
    """The looks at all models that somebody has asked for; one at a time is taken of each."""

    def __init__(self) -> None:
        self._known: dict[int, _Looked] = {}
        self._locks: dict[int, threading.Lock] = {}

    def at(self, reading: Reading, model: Served) -> Look:
        """The last look, or a new one if the log has grown and the last is old enough for what it cost."""
        lock, known = self._locks.setdefault(model.slot, threading.Lock()), self._known.get(model.slot)
        if not lock.acquire(blocking=known is None) and known is not None:
            return known.look
        try:
            return self._taken(reading, model)
        finally:
            lock.release()

    def _taken(self, reading: Reading, model: Served) -> Look:
        known, began = self._known.get(model.slot), time.monotonic()
        seq = all_committed(reading, model).seq
        if known is not None and (seq == known.seq or began - known.at < REST * known.took):
            return known.look
        look = taken(reading, model)
        ended = time.monotonic()
        self._known[model.slot] = _Looked(seq, ended, ended - began, look)
        return look


def taken(reading: Reading, model: Served) -> Look:
    """Look once."""
    lists, blueprint = [Lists(reading, part) for part in model.parts], model.blueprint
    shown, clicked = [each for one in lists for each in one.shown()], [each for one in lists for each in one.clicked()]
    found = examined(shown, clicked, blueprint.settings)
    clicks = blueprint.feedback == Feedback.CLICKS
    return Look(perturbing(shown, clicked, found.curve, clicks=clicks), found)
