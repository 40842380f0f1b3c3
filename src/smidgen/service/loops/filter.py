"""Features in, forward or drop out; the relevance back, if it was forwarded."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np
from msgspec import UNSET, Struct, UnsetType

from smidgen.decision import Decision
from smidgen.errors import NoWeights
from smidgen.learners import Feedback, Learner, learners
from smidgen.service.errors import Impossible, json_text
from smidgen.service.loops.base import (
    Answer,
    AppChoice,
    Example,
    FeedbackForm,
    FeedbackKind,
    Figure,
    Loop,
    Option,
    ParsedFeedback,
    UiTexts,
)
from smidgen.service.loops.estimates import Estimate, self_normalised, share
from smidgen.service.loops.evaluator import Blueprint, Evaluator, OpenDecisionBuffer, TrainingSignal
from smidgen.service.schemas import DecisionBody, FeedbackBody, Numbers, Record

if TYPE_CHECKING:
    from smidgen.service.log.codec import EventLine


#: Number of items without feedback that are kept whole; for earlier ones the filter decides again.
OPEN_ITEMS = 50_000


class Request(DecisionBody, kw_only=True):
    """The features of the item; some learners need none.

    Attributes
    ----------
    features
        The record (an object) to decide about, or numbers in the order of the model's `features`.
    """

    features: Numbers | Record | None = None


class Reply(Struct):
    """The answer: forward or drop, the estimate, and the threshold.

    Attributes
    ----------
    forward
        Whether to forward the item.
    margin
        The estimate.
    threshold
        What the margin must reach; null while nothing was forwarded.
    """

    forward: bool
    margin: float | None
    threshold: float | None


class FilterFeedback(FeedbackBody, kw_only=True):
    """Feedback to a forwarded item: relevant or not.

    Attributes
    ----------
    relevant
        Whether the forwarded item was relevant.
    """

    relevant: bool | UnsetType = UNSET


class FilterEvaluator(Evaluator):
    """Items that another filter would have forwarded, and their known relevance.

    It decides on every item of the log, exploration included. The relevance is known only of what was really forwarded
    and answered; it learns from that, also where it would have dropped the item.
    """

    measure = "precision on what is known"

    def __init__(self, blueprint: Blueprint) -> None:
        super().__init__(blueprint)
        self._mine: OpenDecisionBuffer[Decision] = self.remember(OPEN_ITEMS)
        self._items = self._forwards = self._hits = self._known = self._relevant = 0
        self._drawn = (array("d"), array("d"))
        self._random = True

    def on_decision(self, event: EventLine) -> None:
        """Decide on the same item."""
        made = event.record_bytes()
        mine = self.learner(event.key).decide(made.context)
        self.observe("item", bool(mine.action), made.propensity is not None)
        waits = made.action or _learns_from_dropped(learners.get(made.kind))
        self._mine.put(event.decision or "", mine if waits else None)

    def on_feedback(self, event: EventLine, made: Decision) -> None:
        """Take note of the relevance, and learn it."""
        learner, relevant = self.learner(event.key), bool(event.learner_input())
        mine = self._mine.take(event.decision or "") or learner.decide(made.context)
        self.observe("relevance", relevant, bool(mine.action), made.propensity)
        learner.learn(msgspec.structs.replace(mine, action=True), relevant)

    def _saw_item(self, forward: bool, drawn: bool) -> None:
        """An item: whether this filter would forward it, and whether the log's drew."""
        self._items += 1
        self._forwards += forward
        self._random &= drawn

    def _saw_relevance(self, relevant: bool, forward: bool, p: float | None) -> None:
        """The relevance of an item, whether this filter would have forwarded it, and how likely the log's did."""
        self._relevant += relevant
        if forward:
            self._known += 1
            self._hits += relevant
            self.curve.append(self._hits / self._known)
            if p is not None:
                self._drawn[0].append(float(relevant))
                self._drawn[1].append(p)

    def figures(self) -> list[Estimate]:
        """Rates, precision where the relevance is known, and bounds for the rest."""
        unknown = self._forwards - self._known
        found = [
            share("would forward", self._forwards, self._items),
            share("precision on what is known", self._hits, self._known),
            share("forwards, of what is known to be relevant", self._hits, self._relevant),
        ]
        if self._forwards:
            low, high = self._hits / self._forwards, (self._hits + unknown) / self._forwards
            bounds = Estimate(measure="precision, sure bounds", value=None, low=low, high=high, of=self._forwards)
            found.insert(2, bounds)
        if self._random and self._drawn[0]:
            rewards, p = (np.array(each) for each in self._drawn)
            found.insert(2, self_normalised("precision (self-normalised)", np.ones(len(p)), rewards, p))
        if unknown:
            self.notes.append(
                f"of {self._forwards} items that it would forward, {unknown} were dropped or got no feedback: "
                f"the log does not "
                "contain their relevance"
            )
        return found


class Filter(Loop):
    """Features in, forward or drop out; the relevance back, if it was forwarded."""

    name = "filter"
    request = Request
    reply = Reply
    feedback = FilterFeedback
    kinds: ClassVar[Mapping[str, str]] = {"relevant": Feedback.RELEVANCE}
    measure = "precision"
    takes_matrix = True
    takes_records = True
    words = UiTexts(
        does="Filter: forward or drop an item; learns from the relevance of forwarded items",
        out="Forward or drop",
        about_out="Forward an item to a person or drop it: alerts, tickets, candidates for review.",
        back={
            Feedback.RELEVANCE: FeedbackKind(
                title="Relevance",
                note="Whether a forwarded item was relevant. Dropped items get no feedback.",
                example={"relevant": True},
            )
        },
        curve="Precision",
        about_curve=(
            "Share of forwarded items that were relevant, in windows of learned feedback, with 95 % intervals."
        ),
        waiting="open or dropped",
        asks="features",
    )
    figure = Figure(
        title="Forwarded and explored",
        note="Shares of all decisions: forwarded (line), and forwarded to explore (dotted).",
        of="made",
        lines=("forwarded", "explored"),
    )
    example = Example(
        title="Filter",
        name="alerts",
        model={"params": {"dim": 3}},
        request={"features": [0.2, 0.9, 0.1]},
        feedback=(("relevant or not", {"relevant": False}),),
        batches=(
            ("Two at once", {"decisions": [{"features": [0.2, 0.9, 0.1]}, {"features": [0.8, 0.1, 0.3]}]}),
            ("The same, compact", {"features": {"shape": [2, 3], "f32": "zcxMPmZmZj/NzMw9zcxMP83MzD2amZk+"}}),
        ),
    )
    evaluator = FilterEvaluator
    caveats = ("the log does not contain the relevance of dropped items",)

    def context(self, body: Request) -> tuple[Any, Sequence[str]]:
        """The item; some learners need none."""
        return self.vectors.row(body.features), ()

    def answer(self, decision: Decision, ids: Sequence[str]) -> Answer:
        """Forward or drop, with the margin and the threshold that it had to reach."""
        return {"forward": bool(decision.action), "margin": decision.margin, "threshold": decision.threshold}

    def is_forwarded(self, answer: Answer) -> bool | None:
        """True if forwarded: nobody sees a dropped item."""
        return bool(answer["forward"])

    def parse_field(
        self, learner: Learner, decision: Decision, ids: Sequence[str], field: str, value: Any
    ) -> ParsedFeedback:
        """The relevance; a dropped item has none, unless the learner sees everything."""
        if not decision.action and not _learns_from_dropped(type(learner)):
            raise Impossible(
                "the item was dropped, so its relevance is not known", "send feedback for forwarded items only"
            )
        return ParsedFeedback(value, float(value) if decision.action else None)

    def signal_for_follower(
        self, learner: Learner, mine: Decision, shown: Decision, ids: Sequence[str], field: str, value: Any
    ) -> TrainingSignal | None:
        """The relevance, whether it would have forwarded the item or not."""
        return TrainingSignal(bool(value))

    def read_app_choice(self, learner: Learner, mine: Decision, ids: Sequence[str], value: Any) -> AppChoice:
        """Forward or drop."""
        if not isinstance(value, bool):
            raise Impossible(f"chosen is {json_text(value)}", "send true (forward) or false (drop)")
        return AppChoice(value, bool(self.agrees(mine, value)), [TrainingSignal(value)])

    def parse_example(self, learner: Learner, body: Request, answer: Any) -> tuple[Any, Any]:
        """The item, and whether it is relevant."""
        if not isinstance(answer, bool):
            raise Impossible(f"answer is {json_text(answer)}", "send true (relevant) or false")
        return self.context(body)[0], answer

    def request_text(self, ids: Sequence[str]) -> str:
        """Forward or drop."""
        return "whether to forward an item"

    def short_text(self, reply: Mapping[str, Any]) -> str:
        """Forward or drop."""
        return "forward" if reply["forward"] else "drop"

    def reply_text(self, reply: Mapping[str, Any]) -> str:
        """Forward or drop, and why."""
        reach = "no threshold yet" if reply["threshold"] is None else f"the threshold {reply['threshold']:.3g}"
        margin = "" if reply["margin"] is None else f": margin {reply['margin']:.3g} against {reach}"
        return f"it {'forwarded' if reply['forward'] else 'dropped'} the item{margin}"

    def feedback_text(self, field: str, value: Any) -> str:
        """Relevant or not."""
        return "relevant" if value else "not relevant"

    def feedback_form(self, learner: type[Learner], reply: Mapping[str, Any], ids: Sequence[str]) -> FeedbackForm:
        """Relevant or not, if anybody can know."""
        reach = "none yet" if reply["threshold"] is None else f"{reply['threshold']:.3g}"
        margin = "" if reply["margin"] is None else f" (margin {reply['margin']:.3g}, threshold {reach})"
        text = f"It would {self.short_text(reply)} this{margin}."
        if not reply["forward"] and not _learns_from_dropped(learner):
            note = "Dropped items are not shown, so they get no feedback. Try other numbers."
            return FeedbackForm(text=text, note=note)
        good = Option(text="Relevant", feedback={"relevant": True}, main=True)
        return FeedbackForm(text=text, options=[good, Option(text="Not relevant", feedback={"relevant": False})])

    def no_weights_reason(self, learner: Learner, error: NoWeights) -> str:
        """A filter without features knows one share."""
        if (estimate := getattr(learner, "estimate", None)) is None:
            return super().no_weights_reason(learner, error)
        return f"It uses no features. Of the forwarded items, {estimate + 0.5:.1%} were relevant."

    def measure_of(
        self, made: Decision, signal: Any, feedback: Mapping[str, Any], reply: Mapping[str, Any]
    ) -> float | None:
        """1 if the forwarded item was relevant, else 0."""
        return float(bool(signal)) if made.action else None


def _learns_from_dropped(learner: type[Learner] | None) -> bool:
    """True if the learner accepts labels of dropped items too."""
    return bool(getattr(learner, "sees_everything", False))
