"""A point out; the loss there (or, for the full-information relatives, the gradient) back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.errors import InvalidArgument, InvalidFeatures
from smidgen.knobs import MOST_COLUMNS, MOST_WITH_CONTEXT, Knobs
from smidgen.learners import Feedback, Learner
from smidgen.learners.pipeline import unwrap
from smidgen.service.errors import Impossible, json_text, record_error
from smidgen.service.loops.base import (
    Answer,
    Example,
    FeedbackForm,
    FeedbackKind,
    FormField,
    Loop,
    ParsedFeedback,
    UiTexts,
)
from smidgen.service.loops.evaluator import TrainingSignal
from smidgen.service.loops.features import check_range
from smidgen.service.schemas import BestReply, DecisionBody, FeedbackBody, Numbers, Record


class Request(DecisionBody, kw_only=True):
    """Request for a point to try.

    Attributes
    ----------
    context
        A record of what the best point may depend on, for models with up to five knobs that are numbers.
    """

    context: Record | None = None


class Reply(Struct):
    """The point to try; of knobs, each number's share of its way, and all values in their own units.

    Attributes
    ----------
    point
        The point to try; of knobs, each number from 0 to 1.
    knobs
        The setting to try by knob, in the knobs' units.
    """

    point: list[float]
    knobs: dict[str, float | int | str] | UnsetType = UNSET


class TuneFeedback(FeedbackBody, kw_only=True):
    """The loss at the point, or the gradient there.

    Attributes
    ----------
    loss
        The loss at the point that was tried.
    gradient
        The gradient at the point, for learners that need it.
    """

    loss: float | UnsetType = UNSET
    gradient: Numbers | UnsetType = UNSET


class Tune(Loop):
    """A point out; the loss there, or the gradient, back."""

    name = "tune"
    request = Request
    reply = Reply
    feedback = TuneFeedback
    kinds: ClassVar[Mapping[str, str]] = {"loss": Feedback.LOSS, "gradient": Feedback.GRADIENT}
    measure = "mean loss"
    share = False
    silence = None
    facts = ("space", "loss_bound")
    takes_records = True
    most_columns = MOST_COLUMNS
    asks = "context"
    knows_best = True
    words = UiTexts(
        does="Tune: propose values of knobs; learns from the loss",
        out="Values of knobs",
        about_out="Numbers within limits, one per knob: a timeout, a threshold, a price.",
        back={
            Feedback.LOSS: FeedbackKind(
                title="A loss", note="The cost observed with these values; smaller is better.", example={"loss": 0.3}
            ),
            Feedback.GRADIENT: FeedbackKind(title="A gradient", note="The gradient of the loss, one number per knob."),
        },
        curve="Loss",
        about_curve="Mean loss in windows of learned feedback, with 95 % intervals.",
        weights="Best guess so far",
        about_weights="The point around which the learner explores.",
        asks="context",
        knobs=True,
        tells_exploring=False,
    )
    example = Example(
        title="Tune",
        name="pool",
        model={"knobs": {"threads": {"integer": [1, 64]}, "timeout": {"log": [0.01, 10]}, "ratio": [0, 1]}},
        request={},
        feedback=(("the loss at the point", {"loss": 0.3}),),
    )
    caveats = (
        "the loss is known only at the points that were tried; the log has no losses for the points that "
        "another learner "
        "would have tried",
    )

    @property
    def knobs(self) -> Knobs | None:
        """The knobs, if the space has names and units of its own."""
        space = self.settings.get("space")
        return space if isinstance(space, Knobs) else None

    def context(self, body: Any) -> tuple[Any, Sequence[str]]:
        """The context: a record, a row of numbers by name, or none."""
        return self._context(body.context), ()

    def _context(self, given: dict[str, Any] | None) -> Any:
        if self.vectors.records:
            return given or {}
        if given is None:
            return None
        if self.vectors.dim:
            return self.vectors.row(given)
        space = self.settings.get("space")
        if (dim := getattr(space, "dim", 0)) > MOST_WITH_CONTEXT:
            why = f"this model has {dim} knobs that are numbers"
            raise Impossible(f"context is given and {why}", f"give a context with at most {MOST_WITH_CONTEXT} of them")
        raise Impossible(
            "context is given and this model was made without one",
            'create it with "knobs" and without "learner": the recommended one takes a context',
        )

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """The point to try, and the values of the knobs."""
        return self.describe_point(decision.action)

    def describe_point(self, action: Any) -> Answer:
        """A point for the reply: its numbers, and the values of its knobs."""
        if (knobs := self.knobs) is None:
            return {"point": [float(x) for x in action]}
        return {"point": np.clip(knobs.shares(action), 0.0, 1.0).tolist(), "knobs": dict(action)}

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """The loss as a number, or the gradient as a vector."""
        numbers = check_range(np.asarray(value, dtype=np.float64))
        return ParsedFeedback(value, value) if self.kinds[field] == Feedback.LOSS else ParsedFeedback(numbers)

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """The point that was tried and the loss there; a gradient at another's point says nothing."""
        if self.kinds[field] != Feedback.LOSS or Feedback.LOSS not in learner.card.kinds:
            return None
        point = shown.action if isinstance(shown.action, dict) else np.asarray(shown.action, dtype=np.float64)
        if getattr(learner, "dim", 0):  # the point goes with the context of its own decision
            return TrainingSignal((point, float(value)))
        return TrainingSignal(float(value), context=point)

    def agrees(self, mine: Decision, other: Any) -> bool | None:
        """Points are never quite the same."""
        return None

    def parse_example(self, learner: Learner, body: Any, answer: Any) -> tuple[Any, Any]:
        """A point and the loss there, in a context or without; of learners by gradient, the gradient at the point."""
        if Feedback.LOSS not in learner.card.kinds:
            return None, self._numbers(answer, "the answer")
        forms = [{"point", "loss"}, *([{"knobs", "loss"}] if self.knobs is not None else [])]
        if not isinstance(answer, dict) or answer.keys() not in forms:
            named = ', or {"knobs": {name: value, …}, "loss": number}' if self.knobs is not None else ""
            raise Impossible(f"answer is {json_text(answer)}", f'send {{"point": […], "loss": number}}{named}')
        if isinstance(answer["loss"], bool) or not isinstance(answer["loss"], int | float):
            raise Impossible(f"answer.loss is {json_text(answer['loss'])}", "send a number")
        point, loss = self._example_point(answer), float(answer["loss"])
        context = self._context(body.context)
        return (point, loss) if context is None else (context, (point, loss))

    def _example_point(self, answer: Mapping[str, Any]) -> Any:
        """The point of an example in the learner's own terms."""
        if (knobs := self.knobs) is None:
            return self._numbers(answer["point"], "the point")
        if "knobs" in answer:
            try:
                knobs.shares(answer["knobs"])
            except InvalidArgument as error:
                raise Impossible(f"knobs: {error.problem}", error.hint) from error
            return answer["knobs"]
        if knobs.categories:
            raise Impossible("the point lacks the names of categories", 'give {"knobs": {name: value, …}, "loss": …}')
        shares = self._numbers(answer["point"], "the point")
        if shares.shape != (knobs.dim,) or not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise Impossible(
                f"answer.point is {json_text(answer['point'])}",
                f"send {knobs.dim} numbers from 0 to 1, or an object of knobs",
            )
        return knobs.point(shares)

    def _numbers(self, given: Any, what: str) -> Any:
        if not isinstance(given, list) or not all(type(x) in (int, float) for x in given):
            raise Impossible(f"{what} is {json_text(given)}", "send an array of numbers")
        return check_range(np.asarray(given, dtype=np.float64))

    def best(self, learner: Learner, context: Any = None) -> BestReply | None:
        """The best point so far, the loss expected there with an interval, and how many losses were clipped."""
        given = () if context is None else (self._context(context),)
        if (say := getattr(learner if given else unwrap(learner), "best", None)) is None:
            return None
        try:
            found = say(*given)
        except InvalidFeatures as error:
            raise record_error(error, "context") from error
        point = self.describe_point(found.point)
        loss, low, high = (_finite(value) for value in (found.loss, found.low, found.high))
        clipped = int(getattr(learner, "clipped", 0))
        return BestReply(point=point["point"], knobs=point.get("knobs"), loss=loss, low=low, high=high, clipped=clipped)

    def request_text(self, ids: Sequence[str]) -> str:
        """A point."""
        return "a point to try"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """The first coordinates, or knobs."""
        if "knobs" in reply:
            values = [_valued(name, value) for name, value in list(reply["knobs"].items())[:4]]
            return ", ".join(values) + (", …" if len(reply["knobs"]) > 4 else "")
        point = reply["point"]
        return "(" + ", ".join(f"{x:.3g}" for x in point[:4]) + (", …)" if len(point) > 4 else ")")

    def feedback_text(self, field: str, value: Any) -> str:
        """The loss; a gradient has many numbers."""
        return f"loss {value:.4g}" if self.kinds[field] == Feedback.LOSS else f"a gradient of {len(value)} numbers"

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """A loss or a gradient to type in."""
        named = [_valued(name, value) for name, value in reply.get("knobs", {}).items()]
        proposed = ", ".join(named) if named else f"({', '.join(f'{x:.3g}' for x in reply['point'])})"
        text = f"It proposes {proposed}."
        if Feedback.LOSS in learner.card.kinds:
            return FeedbackForm(text=text, entry=FormField(label="The loss at the point", field="loss"))
        return FeedbackForm(text=text, entry=FormField(label="The gradient at the point", field="gradient", many=True))

    def weight_name(self, index: int) -> str:
        """A knob, or a coordinate."""
        return list(self.knobs.numbers)[index] if self.knobs is not None else f"x{index + 1}"

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """The loss."""
        return float(signal) if isinstance(signal, (int, float)) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _valued(name: str, value: float | str) -> str:
    return f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
