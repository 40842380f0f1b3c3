"""dsjson, the logs of Vowpal Wabbit, as a log of ours: each line is a decision and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from smidgen.decision import Decision
from smidgen.errors import InvalidRecord
from smidgen.learners import Feedback, Loop
from smidgen.service.messages import ModelBody
from smidgen.service.models.building import Blueprint
from smidgen.service.models.dsjson import example
from smidgen.service.models.registry import resolved
from smidgen.service.models.rewinds import Undone
from smidgen.service.replay.texts import NdjsonLog
from smidgen.service.store.formats import LOG as FORMAT
from smidgen.service.store.lines import Line
from smidgen.service.store.recording import Recording

#: What is to be said of the log's own learner.
OTHERS = (
    "the log was written by another system: its own policy is in the figure of what happened, not among the learners"
)


class _Head(msgspec.Struct):
    """What tells whether a line has a label, and which reward."""

    cost: Any = msgspec.field(default=None, name="_label_cost")
    skip: Any = msgspec.field(default=None, name="_skipLearn")

    @property
    def labelled(self) -> bool:
        """Whether something came of it."""
        return isinstance(self.cost, int | float) and not isinstance(self.cost, bool) and self.skip is not True


_heads = msgspec.json.Decoder(_Head)


class DsjsonRecording(Recording):
    """A dsjson log as the log of a choose model by reward that takes records.

    A line becomes a decision, with the probabilities of the log, and its reward right after it; rewards are the
    negatives of costs, and their range is that of the log, 0 and 1 included. Lines without a label are passed over.

    Parameters
    ----------
    name
        What it is called.
    paths
        The files, in order.
    """

    ours = False

    def __init__(self, name: str, paths: Sequence[Path]) -> None:
        self.name = name
        self._files = [NdjsonLog(path) for path in paths]
        self._labelled, low, high = 0, 0.0, 1.0
        for _, head in self._heads():
            self._labelled += 1
            low, high = min(low, -head.cost), max(high, -head.cost)
        if not np.isfinite([low, high]).all():
            raise InvalidRecord(f"{name} has costs that are not finite", "mend the log")
        body = ModelBody(loop=Loop.CHOOSE.value, feedback=Feedback.REWARD.value, reward_range=(low, high))
        self._blueprint = Blueprint(body)
        self._reader = self._blueprint.learner(None)
        self.passed_over = sum(file.count() for file in self._files) - self._labelled

    def lines(self) -> Iterator[Line]:
        """Settings; then, of each line with a label, the decision and its reward."""
        body = self._blueprint.body
        yield Line(seq=1, type="created", format=FORMAT, model=body, resolved=resolved(self._blueprint))
        version = 0
        for text, _ in self._heads():
            version += 1
            place = f"line {version} with a label of {self.name}"
            given = example(text, place)
            if given is None:  # _heads has seen to that
                continue
            reward = given.answer["reward"]
            made, ids = self._made(text, given, place)
            id = f"line {version}"
            decision = Line(seq=2 * version, type="decision", decision=id, number=version, ids=list(ids))
            decision.__dict__["its decision"] = made
            yield decision
            heard = Line(seq=2 * version + 1, type="feedback", decision=id, status="learnt", model_version=version)
            heard.feedback = {"reward": reward}
            heard.__dict__["its feedback"] = self._blueprint.loop.rewarded(reward).learn
            yield heard

    def decision(self, id: str) -> Line | None:
        """None: every answer follows its decision."""
        return None

    def undone(self, slot: int | None = None) -> Undone:
        """Nothing is taken back."""
        return Undone()

    def count(self) -> int:
        """Two events of each line with a label."""
        return 1 + 2 * self._labelled

    def _heads(self) -> Iterator[tuple[bytes, _Head]]:
        for file in self._files:
            for place, text in file.lines():
                try:
                    head = _heads.decode(text)
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise InvalidRecord(f"{file.path}, byte {place}: {error}", "give one event per line") from error
                if head.labelled:
                    yield text, head

    def _made(self, text: bytes, given: Any, place: str) -> tuple[Decision, Sequence[Any]]:
        """The decision of a line, as our learner would have recorded it."""
        context, ids = self._blueprint.loop.context(given)
        told = msgspec.json.decode(text)
        made = self._reader.decide(context)
        shares = _shares(told, len(ids))
        shown = int(told["_label_Action"]) - 1
        p = told.get("_label_probability", None if shares is None else float(shares[shown]))
        if p is not None and not (isinstance(p, int | float) and 0.0 < p <= 1.0):
            raise InvalidRecord(f"{place}: _label_probability is {p!r}", "give a number above 0, at most 1")
        return (
            msgspec.structs.replace(
                made,
                action=shown,
                greedy=shown if shares is None else int(shares.argmax()),
                explored=False,
                propensity=None if p is None else float(p),
                propensities=shares,
            ),
            ids,
        )


def _shares(told: dict[str, Any], count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """The probabilities of all candidates, in their order, if the line tells them."""
    order, chances = told.get("a"), told.get("p")
    if not isinstance(order, list) or not isinstance(chances, list) or sorted(order) != list(range(1, count + 1)):
        return None
    if len(chances) != count or not all(isinstance(p, int | float) and 0.0 <= p <= 1.0 for p in chances):
        return None
    found = np.zeros(count)
    found[np.array(order) - 1] = chances
    return found
