"""A point out; the loss there (or, for the full-information relatives, the gradient) back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.learners import Feedback, Learner
from smidgen.service.loops.lesson import Lesson
from smidgen.service.loops.loop import Answer, Loop, Reaction
from smidgen.service.loops.vectors import sane
from smidgen.service.loops.words import Entry, Example, Offered, Words
from smidgen.service.messages import FeedbackBody, Numbers
from smidgen.service.refusals import Impossible


class Reply(Struct):
    """The point to try."""

    point: list[float]


class Told(FeedbackBody, kw_only=True):
    """The loss at the point, or the gradient there."""

    loss: float | UnsetType = UNSET
    gradient: Numbers | UnsetType = UNSET


class Tune(Loop):
    """A point out; the loss there, or the gradient, back."""

    name = "tune"
    reply = Reply
    feedback = Told
    kinds: ClassVar[Mapping[str, str]] = {"loss": Feedback.LOSS, "gradient": Feedback.GRADIENT}
    measure = "mean loss"
    share = False
    silence = None
    facts = ("space", "loss_bound")
    words = Words(
        does="Tune: propose numbers; learns from the loss",
        curve="Loss",
        about_curve="Mean loss in windows of learnt feedback, with 95 % intervals.",
        weights="Best guess so far",
        about_weights="The base point around which it tries.",
        asks="nothing",
        tells_exploring=False,
    )
    example = Example(title="Tune", name="prices", model={}, request={}, feedback=(("the loss there", {"loss": 0.3}),))
    caveats = (
        "the loss is known only at the points that were tried, and another learner would have tried others: of it, "
        "this log can say nothing",
    )

    def context(self, body: Any) -> tuple[Any, Sequence[str]]:
        """No context."""
        return None, ()

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The point to try."""
        return {"point": [float(x) for x in decision.action]}

    def reaction(self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any) -> Reaction:
        """The loss as a number, or the gradient as a vector."""
        numbers = sane(np.asarray(value, dtype=np.float64))
        return Reaction(value, value) if self.kinds[field] == Feedback.LOSS else Reaction(numbers)

    def heard(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> Lesson | None:
        """The point that was tried and the loss there; a gradient at another's point says nothing."""
        if self.kinds[field] != Feedback.LOSS or Feedback.LOSS not in learner.card.kinds:
            return None
        return Lesson(float(value), context=np.asarray(shown.action, dtype=np.float64))

    def agrees(self, mine: Decision, other: Any) -> bool | None:
        """Points are never quite the same."""
        return None

    def lesson(self, learner: Learner, body: Any, answer: Any) -> tuple[Any, Any]:
        """A point and the loss there; of learners by gradient, the gradient at the present point."""
        if Feedback.LOSS not in learner.card.kinds:
            return None, self._numbers(answer, "the answer")
        if not isinstance(answer, dict) or answer.keys() != {"point", "loss"}:
            raise Impossible(f"the answer is {answer!r}", 'give {"point": […], "loss": number}')
        if isinstance(answer["loss"], bool) or not isinstance(answer["loss"], int | float):
            raise Impossible(f"the loss is {answer['loss']!r}", "give a number")
        return self._numbers(answer["point"], "the point"), float(answer["loss"])

    def _numbers(self, given: Any, what: str) -> Any:
        if not isinstance(given, list) or not all(type(x) in (int, float) for x in given):
            raise Impossible(f"{what} is {given!r}", "give a list of numbers")
        return sane(np.asarray(given, dtype=np.float64))

    def asked(self, ids: Sequence[str]) -> str:
        """A point."""
        return "a point to try"

    def brief(self, reply: Mapping[str, Any]) -> str:
        """The first coordinates."""
        point = reply["point"]
        return "(" + ", ".join(f"{x:.3g}" for x in point[:4]) + (", …)" if len(point) > 4 else ")")

    def reacted(self, field: str, value: Any) -> str:
        """The loss; a gradient has many numbers."""
        return f"loss {value:.4g}" if self.kinds[field] == Feedback.LOSS else f"a gradient of {len(value)} numbers"

    def offered(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> Offered:
        """A loss or a gradient to type in."""
        text = f"It proposes ({', '.join(f'{x:.3g}' for x in reply['point'])})."
        if Feedback.LOSS in learner.card.kinds:
            return Offered(text=text, entry=Entry(label="The loss there", field="loss"))
        return Offered(text=text, entry=Entry(label="The gradient there", field="gradient", many=True))

    def weight_name(self, index: int) -> str:
        """A coordinate."""
        return f"x{index + 1}"

    def logged(self, made: Decision, told: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]) -> float | None:
        """The loss."""
        return float(told) if isinstance(told, (int, float)) else None
